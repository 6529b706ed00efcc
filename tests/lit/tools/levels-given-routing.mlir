// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=33x20 in.index=33x2:index=3 w.up=3x12x20 w.bias=3x12 w.down=3x20x12
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// No router: which experts a token goes to is an input, so nothing weighs the rows. Each expert has a bias.
!routing = !graph.routing<experts = 3, topk = 2>

func.func @main(%x: tensor<?x20xf32> {graph.input = "in.x"},
                %index: tensor<?x2xi32> {graph.input = "in.index"},
                %up: tensor<3x12x20xf32> {graph.param = "w.up"},
                %bias: tensor<3x12xf32> {graph.param = "w.bias"},
                %down: tensor<3x20x12xf32> {graph.param = "w.down"})
    -> (tensor<?x20xf32> {graph.result = "out.y"}, tensor<3xi64> {graph.result = "out.counts"}) {
  %r, %counts = graph.route %index : tensor<?x2xi32> -> !routing, tensor<3xi64>

  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u0 = graph.select %up {index = 0} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %h0 = graph.matmul %x0, %u0 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %b0 = graph.select %bias {index = 0} : tensor<3x12xf32> -> tensor<12xf32>
  %c0 = graph.add %h0, %b0 : (!graph.ragged<?x12xf32>, tensor<12xf32>) -> !graph.ragged<?x12xf32>
  %a0 = graph.tanh %c0 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d0 = graph.select %down {index = 0} : tensor<3x20x12xf32> -> tensor<20x12xf32>
  %y0 = graph.matmul %a0, %d0 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>

  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u1 = graph.select %up {index = 1} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %h1 = graph.matmul %x1, %u1 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %b1 = graph.select %bias {index = 1} : tensor<3x12xf32> -> tensor<12xf32>
  %c1 = graph.add %h1, %b1 : (!graph.ragged<?x12xf32>, tensor<12xf32>) -> !graph.ragged<?x12xf32>
  %a1 = graph.tanh %c1 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d1 = graph.select %down {index = 1} : tensor<3x20x12xf32> -> tensor<20x12xf32>
  %y1 = graph.matmul %a1, %d1 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>

  %x2 = graph.dispatch %x, %r {expert = 2} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u2 = graph.select %up {index = 2} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %h2 = graph.matmul %x2, %u2 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %b2 = graph.select %bias {index = 2} : tensor<3x12xf32> -> tensor<12xf32>
  %c2 = graph.add %h2, %b2 : (!graph.ragged<?x12xf32>, tensor<12xf32>) -> !graph.ragged<?x12xf32>
  %a2 = graph.tanh %c2 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d2 = graph.select %down {index = 2} : tensor<3x20x12xf32> -> tensor<20x12xf32>
  %y2 = graph.matmul %a2, %d2 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>

  %routed = graph.combine %r, %y0, %y1, %y2 : (!routing, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>) -> tensor<?x20xf32>
  return %routed, %counts : tensor<?x20xf32>, tensor<3xi64>
}
