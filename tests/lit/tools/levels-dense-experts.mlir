// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=13x20 w.gate=3x28x20 w.up=3x28x20 w.third=3x28x20 w.bias=3x28 w.down=3x20x28
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// No router: every expert sees every row. Three products share the input, each with another activation; a bias of each expert;
// a residual; no size is a multiple of 8.
func.func @main(%x: tensor<?x20xf32> {graph.input = "in.x"}, %gate: tensor<3x28x20xf32> {graph.param = "w.gate"},
                %up: tensor<3x28x20xf32> {graph.param = "w.up"}, %third: tensor<3x28x20xf32> {graph.param = "w.third"},
                %bias: tensor<3x28xf32> {graph.param = "w.bias"}, %down: tensor<3x20x28xf32> {graph.param = "w.down"})
    -> (tensor<?x20xf32> {graph.result = "out.y"}, tensor<3x?x28xf32> {graph.result = "out.hidden"}) {
  %g0 = graph.select %gate {index = 0} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %u0 = graph.select %up {index = 0} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %t0 = graph.select %third {index = 0} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %b0 = graph.select %bias {index = 0} : tensor<3x28xf32> -> tensor<28xf32>
  %d0 = graph.select %down {index = 0} : tensor<3x20x28xf32> -> tensor<20x28xf32>
  %a0 = graph.matmul %x, %g0 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %c0 = graph.matmul %x, %u0 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %e0 = graph.matmul %x, %t0 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %f0 = graph.add %a0, %b0 : (tensor<?x28xf32>, tensor<28xf32>) -> tensor<?x28xf32>
  %i0 = graph.gelu %f0 approximate tanh : tensor<?x28xf32> -> tensor<?x28xf32>
  %j0 = graph.sigmoid %c0 : tensor<?x28xf32> -> tensor<?x28xf32>
  %k0 = graph.relu %e0 : tensor<?x28xf32> -> tensor<?x28xf32>
  %h0 = graph.fma %i0, %j0, %k0 : (tensor<?x28xf32>, tensor<?x28xf32>, tensor<?x28xf32>) -> tensor<?x28xf32>
  %y0 = graph.matmul %h0, %d0 : (tensor<?x28xf32>, tensor<20x28xf32>) -> tensor<?x20xf32>

  %g1 = graph.select %gate {index = 1} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %u1 = graph.select %up {index = 1} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %t1 = graph.select %third {index = 1} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %b1 = graph.select %bias {index = 1} : tensor<3x28xf32> -> tensor<28xf32>
  %d1 = graph.select %down {index = 1} : tensor<3x20x28xf32> -> tensor<20x28xf32>
  %a1 = graph.matmul %x, %g1 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %c1 = graph.matmul %x, %u1 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %e1 = graph.matmul %x, %t1 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %f1 = graph.add %a1, %b1 : (tensor<?x28xf32>, tensor<28xf32>) -> tensor<?x28xf32>
  %i1 = graph.gelu %f1 approximate tanh : tensor<?x28xf32> -> tensor<?x28xf32>
  %j1 = graph.sigmoid %c1 : tensor<?x28xf32> -> tensor<?x28xf32>
  %k1 = graph.relu %e1 : tensor<?x28xf32> -> tensor<?x28xf32>
  %h1 = graph.fma %i1, %j1, %k1 : (tensor<?x28xf32>, tensor<?x28xf32>, tensor<?x28xf32>) -> tensor<?x28xf32>
  %y1 = graph.matmul %h1, %d1 : (tensor<?x28xf32>, tensor<20x28xf32>) -> tensor<?x20xf32>

  %g2 = graph.select %gate {index = 2} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %u2 = graph.select %up {index = 2} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %t2 = graph.select %third {index = 2} : tensor<3x28x20xf32> -> tensor<28x20xf32>
  %b2 = graph.select %bias {index = 2} : tensor<3x28xf32> -> tensor<28xf32>
  %d2 = graph.select %down {index = 2} : tensor<3x20x28xf32> -> tensor<20x28xf32>
  %a2 = graph.matmul %x, %g2 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %c2 = graph.matmul %x, %u2 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %e2 = graph.matmul %x, %t2 : (tensor<?x20xf32>, tensor<28x20xf32>) -> tensor<?x28xf32>
  %f2 = graph.add %a2, %b2 : (tensor<?x28xf32>, tensor<28xf32>) -> tensor<?x28xf32>
  %i2 = graph.gelu %f2 approximate tanh : tensor<?x28xf32> -> tensor<?x28xf32>
  %j2 = graph.sigmoid %c2 : tensor<?x28xf32> -> tensor<?x28xf32>
  %k2 = graph.relu %e2 : tensor<?x28xf32> -> tensor<?x28xf32>
  %h2 = graph.fma %i2, %j2, %k2 : (tensor<?x28xf32>, tensor<?x28xf32>, tensor<?x28xf32>) -> tensor<?x28xf32>
  %y2 = graph.matmul %h2, %d2 : (tensor<?x28xf32>, tensor<20x28xf32>) -> tensor<?x20xf32>

  %s01 = graph.add %y0, %y1 : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x20xf32>
  %s = graph.add %s01, %y2 : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x20xf32>
  %y = graph.add %s, %x : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x20xf32>
  %h = graph.stack %h0, %h1, %h2 : (tensor<?x28xf32>, tensor<?x28xf32>, tensor<?x28xf32>) -> tensor<3x?x28xf32>
  return %y, %h : tensor<?x20xf32>, tensor<3x?x28xf32>
}
