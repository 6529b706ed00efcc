// DEFINE: %{type} = f64
// RUN: %{tensors} %t.in in.x=9x3x14 in.index=9x3:index=11 w.table=11x14 w.conv=6x14x2 w.more=4x3x14
// RUN: %{levels-agree}
// RUN: %{close-to-f64}
// REDEFINE: %{type} = f32
// RUN: %{levels-agree}
// REDEFINE: %{type} = bf16
// RUN: %{levels-agree}
// REDEFINE: %{type} = f16
// RUN: %{levels-agree}

// Views, copies and joins of dynamic sizes; a convolution whose weight is not a parameter alone; constants of both kinds.
func.func @main(%x: tensor<?x3x14xf32> {graph.input = "in.x"}, %index: tensor<?x3xi32> {graph.input = "in.index"},
                %table: tensor<11x14xf32> {graph.param = "w.table"}, %conv: tensor<6x14x2xf32> {graph.param = "w.conv"},
                %more: tensor<4x3x14xf32> {graph.param = "w.more"})
    -> (tensor<?x3x14xf32> {graph.result = "out.long"}, tensor<14x?xf32> {graph.result = "out.turned"}, tensor<?x3x6xf32> {graph.result = "out.conv"},
        tensor<2x?x3xf32> {graph.result = "out.stack"}, tensor<?x3x14xf32> {graph.result = "in.x.again"}, tensor<?x42xf32> {graph.result = "out.flat"}) {
  %e = graph.embedding %index, %table : (tensor<?x3xi32>, tensor<11x14xf32>) -> tensor<?x3x14xf32>
  %s = graph.sub %x, %e : (tensor<?x3x14xf32>, tensor<?x3x14xf32>) -> tensor<?x3x14xf32>
  %tail = graph.slice %s {dim = 0, begin = -5} : tensor<?x3x14xf32> -> tensor<5x3x14xf32>
  %long = graph.concat %more, %tail, %s {dim = 0} : (tensor<4x3x14xf32>, tensor<5x3x14xf32>, tensor<?x3x14xf32>) -> tensor<?x3x14xf32>
  %middle = graph.select %s {dim = 1, index = 1} : tensor<?x3x14xf32> -> tensor<?x14xf32>
  %turned = graph.transpose %middle {permutation = array<i64: 1, 0>} : tensor<?x14xf32> -> tensor<14x?xf32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %w = graph.mul %conv, %half : (tensor<6x14x2xf32>, tensor<f32>) -> tensor<6x14x2xf32>
  %c = graph.causal_conv1d %x, %w {dilation = 2} : (tensor<?x3x14xf32>, tensor<6x14x2xf32>) -> tensor<?x3x6xf32>
  %left = graph.slice %s {dim = 2, end = 3} : tensor<?x3x14xf32> -> tensor<?x3x3xf32>
  %first = graph.select %left {dim = 2, index = 0} : tensor<?x3x3xf32> -> tensor<?x3xf32>
  %column = graph.constant dense<[0.5, 2.0, -1.0]> : tensor<3xf32>
  %scaled = graph.mul %first, %column : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %stack = graph.stack %scaled, %first : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<2x?x3xf32>
  %flat = graph.reshape %s : tensor<?x3x14xf32> -> tensor<?x42xf32>
  return %long, %turned, %c, %stack, %x, %flat
      : tensor<?x3x14xf32>, tensor<14x?xf32>, tensor<?x3x6xf32>, tensor<2x?x3xf32>, tensor<?x3x14xf32>, tensor<?x42xf32>
}
