// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=5x20 w.router=1x20 w.up=1x12x20 w.down=1x20x12
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// One expert: routing with nothing to choose, and branches that are not worth folding.
!routing = !graph.routing<experts = 1, topk = 1>

func.func @main(%x: tensor<?x20xf32> {graph.input = "in.x"},
                %router: tensor<1x20xf32> {graph.param = "w.router"},
                %up: tensor<1x12x20xf32> {graph.param = "w.up"},
                %down: tensor<1x20x12xf32> {graph.param = "w.down"})
    -> (tensor<?x20xf32> {graph.result = "out.y"}, tensor<1xi64> {graph.result = "out.counts"}) {
  %logits = graph.matmul %x, %router : (tensor<?x20xf32>, tensor<1x20xf32>) -> tensor<?x1xf32>
  %p = graph.softmax %logits : tensor<?x1xf32> -> tensor<?x1xf32>
  %weights, %index = graph.top_k %p {k = 1} : tensor<?x1xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  %r, %counts = graph.route %index : tensor<?x1xi32> -> !routing, tensor<1xi64>

  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u0 = graph.select %up {index = 0} : tensor<1x12x20xf32> -> tensor<12x20xf32>
  %h0 = graph.matmul %x0, %u0 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a0 = graph.tanh %h0 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d0 = graph.select %down {index = 0} : tensor<1x20x12xf32> -> tensor<20x12xf32>
  %y0 = graph.matmul %a0, %d0 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w0 = graph.dispatch_slot %weights, %r {expert = 0} : (tensor<?x1xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z0 = graph.mul %y0, %w0 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %routed = graph.combine %r, %z0 : (!routing, !graph.ragged<?x20xf32>) -> tensor<?x20xf32>
  return %routed, %counts : tensor<?x20xf32>, tensor<1xi64>
}
