// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=2x70x80 w.scale=80 w.bias=80 w.one=80
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// Norms and reductions over rows and samples longer than a leaf of the trees (64), one sample's last leaf short.
func.func @main(%x: tensor<2x?x80xf32> {graph.input = "in.x"}, %scale: tensor<80xf32> {graph.param = "w.scale"},
                %bias: tensor<80xf32> {graph.param = "w.bias"}, %one: tensor<80xf32> {graph.param = "w.one"})
    -> (tensor<2x?x80xf32> {graph.result = "out.group"}, tensor<2x?x80xf32> {graph.result = "out.groups"},
        tensor<2x?x80xf32> {graph.result = "out.layer"}, tensor<2x?x80xf32> {graph.result = "out.rms"},
        tensor<2x?x80xf32> {graph.result = "out.p"}, tensor<2x?xf32> {graph.result = "out.sum"},
        tensor<?x80xf32> {graph.result = "out.samples"}) {
  %group = graph.group_norm %x, %scale, %bias : (tensor<2x?x80xf32>, tensor<80xf32>, tensor<80xf32>) -> tensor<2x?x80xf32>
  %groups = graph.group_norm %x, %scale, %bias {groups = 4, epsilon = 0.125} : (tensor<2x?x80xf32>, tensor<80xf32>, tensor<80xf32>) -> tensor<2x?x80xf32>
  %layer = graph.layer_norm %group, %one, %bias : (tensor<2x?x80xf32>, tensor<80xf32>, tensor<80xf32>) -> tensor<2x?x80xf32>
  %rms = graph.rms_norm %x, %one : (tensor<2x?x80xf32>, tensor<80xf32>) -> tensor<2x?x80xf32>
  %p = graph.softmax %rms : tensor<2x?x80xf32> -> tensor<2x?x80xf32>
  %sum = graph.reduce_sum %x {dim = 2} : tensor<2x?x80xf32> -> tensor<2x?xf32>
  %samples = graph.reduce_sum %x order ascending {dim = 0} : tensor<2x?x80xf32> -> tensor<?x80xf32>
  return %group, %groups, %layer, %rms, %p, %sum, %samples
      : tensor<2x?x80xf32>, tensor<2x?x80xf32>, tensor<2x?x80xf32>, tensor<2x?x80xf32>, tensor<2x?x80xf32>, tensor<2x?xf32>, tensor<?x80xf32>
}
