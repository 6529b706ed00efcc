// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=1x20 w.router=3x20 w.up=3x12x20 w.down=3x20x12
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// Every expert gets every token (K = E), and there is one token.
!routing = !graph.routing<experts = 3, topk = 3>

func.func @main(%x: tensor<?x20xf32> {graph.input = "in.x"},
                %router: tensor<3x20xf32> {graph.param = "w.router"},
                %up: tensor<3x12x20xf32> {graph.param = "w.up"},
                %down: tensor<3x20x12xf32> {graph.param = "w.down"})
    -> (tensor<?x20xf32> {graph.result = "out.y"}, tensor<3xi64> {graph.result = "out.counts"}) {
  %logits = graph.matmul %x, %router : (tensor<?x20xf32>, tensor<3x20xf32>) -> tensor<?x3xf32>
  %p = graph.softmax %logits : tensor<?x3xf32> -> tensor<?x3xf32>
  %weights, %index = graph.top_k %p {k = 3} : tensor<?x3xf32> -> tensor<?x3xf32>, tensor<?x3xi32>
  %r, %counts = graph.route %index : tensor<?x3xi32> -> !routing, tensor<3xi64>

  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u0 = graph.select %up {index = 0} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %h0 = graph.matmul %x0, %u0 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a0 = graph.tanh %h0 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d0 = graph.select %down {index = 0} : tensor<3x20x12xf32> -> tensor<20x12xf32>
  %y0 = graph.matmul %a0, %d0 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w0 = graph.dispatch_slot %weights, %r {expert = 0} : (tensor<?x3xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z0 = graph.mul %y0, %w0 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u1 = graph.select %up {index = 1} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %h1 = graph.matmul %x1, %u1 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a1 = graph.tanh %h1 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d1 = graph.select %down {index = 1} : tensor<3x20x12xf32> -> tensor<20x12xf32>
  %y1 = graph.matmul %a1, %d1 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w1 = graph.dispatch_slot %weights, %r {expert = 1} : (tensor<?x3xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z1 = graph.mul %y1, %w1 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %x2 = graph.dispatch %x, %r {expert = 2} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u2 = graph.select %up {index = 2} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %h2 = graph.matmul %x2, %u2 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a2 = graph.tanh %h2 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d2 = graph.select %down {index = 2} : tensor<3x20x12xf32> -> tensor<20x12xf32>
  %y2 = graph.matmul %a2, %d2 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w2 = graph.dispatch_slot %weights, %r {expert = 2} : (tensor<?x3xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z2 = graph.mul %y2, %w2 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %routed = graph.combine %r, %z0, %z1, %z2 : (!routing, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>) -> tensor<?x20xf32>
  return %routed, %counts : tensor<?x20xf32>, tensor<3xi64>
}
