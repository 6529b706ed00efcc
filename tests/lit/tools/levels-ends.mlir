// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=11x20 w.up=3x12x20
// RUN: %{levels-agree}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// Branches that fold but end in nothing that does: a sum in another order (of bf16, one that rounds at each step), one
// expert's value read elsewhere, experts stacked backwards.
func.func @main(%x: tensor<?x20xf32> {graph.input = "in.x"}, %up: tensor<3x12x20xf32> {graph.param = "w.up"})
    -> (tensor<?x12xf32> {graph.result = "out.ascending"}, tensor<?x12xf32> {graph.result = "out.descending"},
        tensor<3x?x12xf32> {graph.result = "out.backwards"}, tensor<?x12xf32> {graph.result = "out.second"}) {
  %u0 = graph.select %up {index = 0} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %y0 = graph.matmul %x, %u0 : (tensor<?x20xf32>, tensor<12x20xf32>) -> tensor<?x12xf32>
  %u1 = graph.select %up {index = 1} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %y1 = graph.matmul %x, %u1 : (tensor<?x20xf32>, tensor<12x20xf32>) -> tensor<?x12xf32>
  %u2 = graph.select %up {index = 2} : tensor<3x12x20xf32> -> tensor<12x20xf32>
  %y2 = graph.matmul %x, %u2 : (tensor<?x20xf32>, tensor<12x20xf32>) -> tensor<?x12xf32>
  %a = graph.add %y0, %y1 : (tensor<?x12xf32>, tensor<?x12xf32>) -> tensor<?x12xf32>
  %ascending = graph.add %a, %y2 : (tensor<?x12xf32>, tensor<?x12xf32>) -> tensor<?x12xf32>
  %d = graph.add %y2, %y1 : (tensor<?x12xf32>, tensor<?x12xf32>) -> tensor<?x12xf32>
  %descending = graph.add %d, %y0 : (tensor<?x12xf32>, tensor<?x12xf32>) -> tensor<?x12xf32>
  %backwards = graph.stack %y2, %y1, %y0 : (tensor<?x12xf32>, tensor<?x12xf32>, tensor<?x12xf32>) -> tensor<3x?x12xf32>
  return %ascending, %descending, %backwards, %y1 : tensor<?x12xf32>, tensor<?x12xf32>, tensor<3x?x12xf32>, tensor<?x12xf32>
}
