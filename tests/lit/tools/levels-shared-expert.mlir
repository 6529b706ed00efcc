// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=45x20 w.router=4x20 w.up=4x12x20 w.down=4x20x12 w.shared=20x20 w.scale=20
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// A routed layer as deployed ones have it: a norm before the router, an expert that sees every token, a residual around all.
!routing = !graph.routing<experts = 4, topk = 2>

func.func @main(%x: tensor<?x20xf32> {graph.input = "in.x"},
                %router: tensor<4x20xf32> {graph.param = "w.router"},
                %up: tensor<4x12x20xf32> {graph.param = "w.up"},
                %down: tensor<4x20x12xf32> {graph.param = "w.down"},
                %shared: tensor<20x20xf32> {graph.param = "w.shared"},
                %scale: tensor<20xf32> {graph.param = "w.scale"})
    -> (tensor<?x20xf32> {graph.result = "out.y"}, tensor<4xi64> {graph.result = "out.counts"}) {
  %normed = graph.rms_norm %x, %scale : (tensor<?x20xf32>, tensor<20xf32>) -> tensor<?x20xf32>
  %logits = graph.matmul %normed, %router : (tensor<?x20xf32>, tensor<4x20xf32>) -> tensor<?x4xf32>
  %p = graph.softmax %logits : tensor<?x4xf32> -> tensor<?x4xf32>
  %weights, %index = graph.top_k %p {k = 2} : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %r, %counts = graph.route %index : tensor<?x2xi32> -> !routing, tensor<4xi64>

  %x0 = graph.dispatch %normed, %r {expert = 0} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u0 = graph.select %up {index = 0} : tensor<4x12x20xf32> -> tensor<12x20xf32>
  %h0 = graph.matmul %x0, %u0 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a0 = graph.tanh %h0 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d0 = graph.select %down {index = 0} : tensor<4x20x12xf32> -> tensor<20x12xf32>
  %y0 = graph.matmul %a0, %d0 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w0 = graph.dispatch_slot %weights, %r {expert = 0} : (tensor<?x2xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z0 = graph.mul %y0, %w0 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %x1 = graph.dispatch %normed, %r {expert = 1} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u1 = graph.select %up {index = 1} : tensor<4x12x20xf32> -> tensor<12x20xf32>
  %h1 = graph.matmul %x1, %u1 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a1 = graph.tanh %h1 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d1 = graph.select %down {index = 1} : tensor<4x20x12xf32> -> tensor<20x12xf32>
  %y1 = graph.matmul %a1, %d1 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w1 = graph.dispatch_slot %weights, %r {expert = 1} : (tensor<?x2xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z1 = graph.mul %y1, %w1 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %x2 = graph.dispatch %normed, %r {expert = 2} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u2 = graph.select %up {index = 2} : tensor<4x12x20xf32> -> tensor<12x20xf32>
  %h2 = graph.matmul %x2, %u2 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a2 = graph.tanh %h2 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d2 = graph.select %down {index = 2} : tensor<4x20x12xf32> -> tensor<20x12xf32>
  %y2 = graph.matmul %a2, %d2 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w2 = graph.dispatch_slot %weights, %r {expert = 2} : (tensor<?x2xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z2 = graph.mul %y2, %w2 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %x3 = graph.dispatch %normed, %r {expert = 3} : (tensor<?x20xf32>, !routing) -> !graph.ragged<?x20xf32>
  %u3 = graph.select %up {index = 3} : tensor<4x12x20xf32> -> tensor<12x20xf32>
  %h3 = graph.matmul %x3, %u3 : (!graph.ragged<?x20xf32>, tensor<12x20xf32>) -> !graph.ragged<?x12xf32>
  %a3 = graph.tanh %h3 : !graph.ragged<?x12xf32> -> !graph.ragged<?x12xf32>
  %d3 = graph.select %down {index = 3} : tensor<4x20x12xf32> -> tensor<20x12xf32>
  %y3 = graph.matmul %a3, %d3 : (!graph.ragged<?x12xf32>, tensor<20x12xf32>) -> !graph.ragged<?x20xf32>
  %w3 = graph.dispatch_slot %weights, %r {expert = 3} : (tensor<?x2xf32>, !routing) -> !graph.ragged<?x1xf32>
  %z3 = graph.mul %y3, %w3 : (!graph.ragged<?x20xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x20xf32>

  %routed = graph.combine %r, %z0, %z1, %z2, %z3 : (!routing, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>, !graph.ragged<?x20xf32>) -> tensor<?x20xf32>
  %own = graph.matmul %normed, %shared : (tensor<?x20xf32>, tensor<20x20xf32>) -> tensor<?x20xf32>
  %both = graph.add %routed, %own : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x20xf32>
  %y = graph.add %both, %x : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x20xf32>
  return %y, %counts : tensor<?x20xf32>, tensor<4xi64>
}
