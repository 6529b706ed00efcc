// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=2x9x20 w.expert=2x12x20 w.row=12 in.column=9x1
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}

// Values that are cut, joined or broadcast right after they are made: fused launches must keep to the places that are left.
func.func @main(%x: tensor<2x?x20xf32> {graph.input = "in.x"}, %w: tensor<2x12x20xf32> {graph.param = "w.expert"},
                %row: tensor<12xf32> {graph.param = "w.row"}, %column: tensor<9x1xf32> {graph.input = "in.column"})
    -> (tensor<2x?x12xf32> {graph.result = "out.cut"}, tensor<18x12xf32> {graph.result = "out.joined"}, tensor<2x9x12xf32> {graph.result = "out.stacked"},
        tensor<2x12x?xf32> {graph.result = "out.turned"}) {
  %y = graph.expert_matmul %x, %w : (tensor<2x?x20xf32>, tensor<2x12x20xf32>) -> tensor<2x?x12xf32>
  %cut = graph.slice %y {dim = 1, end = -3} : tensor<2x?x12xf32> -> tensor<2x?x12xf32>

  %outer = graph.mul %row, %column : (tensor<12xf32>, tensor<9x1xf32>) -> tensor<9x12xf32>
  %sum = graph.add %row, %column : (tensor<12xf32>, tensor<9x1xf32>) -> tensor<9x12xf32>
  %exp = graph.exp %outer : tensor<9x12xf32> -> tensor<9x12xf32>
  %joined = graph.concat %sum, %exp {dim = 0} : (tensor<9x12xf32>, tensor<9x12xf32>) -> tensor<18x12xf32>
  %difference = graph.sub %row, %column : (tensor<12xf32>, tensor<9x1xf32>) -> tensor<9x12xf32>
  %quotient = graph.div %row, %column : (tensor<12xf32>, tensor<9x1xf32>) -> tensor<9x12xf32>
  %stacked = graph.stack %difference, %quotient : (tensor<9x12xf32>, tensor<9x12xf32>) -> tensor<2x9x12xf32>

  %v = graph.neg %w : tensor<2x12x20xf32> -> tensor<2x12x20xf32>
  %z = graph.expert_matmul %x, %v : (tensor<2x?x20xf32>, tensor<2x12x20xf32>) -> tensor<2x?x12xf32>
  %turned = graph.transpose %z {permutation = array<i64: 0, 2, 1>} : tensor<2x?x12xf32> -> tensor<2x12x?xf32>
  return %cut, %joined, %stacked, %turned : tensor<2x?x12xf32>, tensor<18x12xf32>, tensor<2x9x12xf32>, tensor<2x12x?xf32>
}
