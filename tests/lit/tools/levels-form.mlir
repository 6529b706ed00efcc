// The two forms of folding give the bits of the separate branches: all experts in one launch, and one product as wide as all.
// RUN: %{tensors} %t.in in.x=11x20 w.up=3x12x20 w.conv=3x6x20x3
// RUN: epifold-opt %s --epifold-fold-experts=form=single-product --canonicalize -o %t.single.mlir
// RUN: FileCheck %s --input-file %t.single.mlir
// RUN: epifold-opt %s --epifold-fold-experts=form=experts -o %t.experts.mlir
// RUN: epifold-run %s --inputs %t.in --cast --device=reference --level=graph --outputs %t.out
// RUN: epifold-run %t.single.mlir --inputs %t.in --cast --device=reference --level=graph --expect %t.out
// RUN: epifold-run %t.single.mlir --inputs %t.in --cast --device=reference --level=kernel --expect %t.out
// RUN: epifold-run %t.experts.mlir --inputs %t.in --cast --device=reference --level=graph --expect %t.out

// CHECK: graph.matmul {{.*}} -> tensor<?x36xbf16>
// CHECK: graph.causal_conv1d {{.*}} -> tensor<?x18xf32>
func.func @main(%x: tensor<?x20xbf16> {graph.input = "in.x"}, %up: tensor<3x12x20xbf16> {graph.param = "w.up"},
                %conv: tensor<3x6x20x3xbf16> {graph.param = "w.conv"})
    -> (tensor<3x?x12xbf16> {graph.result = "out.product"}, tensor<3x?x6xf32> {graph.result = "out.conv"}) {
  %u0 = graph.select %up {index = 0} : tensor<3x12x20xbf16> -> tensor<12x20xbf16>
  %y0 = graph.matmul %x, %u0 : (tensor<?x20xbf16>, tensor<12x20xbf16>) -> tensor<?x12xbf16>
  %u1 = graph.select %up {index = 1} : tensor<3x12x20xbf16> -> tensor<12x20xbf16>
  %y1 = graph.matmul %x, %u1 : (tensor<?x20xbf16>, tensor<12x20xbf16>) -> tensor<?x12xbf16>
  %u2 = graph.select %up {index = 2} : tensor<3x12x20xbf16> -> tensor<12x20xbf16>
  %y2 = graph.matmul %x, %u2 : (tensor<?x20xbf16>, tensor<12x20xbf16>) -> tensor<?x12xbf16>
  %y = graph.stack %y0, %y1, %y2 : (tensor<?x12xbf16>, tensor<?x12xbf16>, tensor<?x12xbf16>) -> tensor<3x?x12xbf16>
  %w0 = graph.select %conv {index = 0} : tensor<3x6x20x3xbf16> -> tensor<6x20x3xbf16>
  %z0 = graph.causal_conv1d %x, %w0 {dilation = 2} : (tensor<?x20xbf16>, tensor<6x20x3xbf16>) -> tensor<?x6xf32>
  %w1 = graph.select %conv {index = 1} : tensor<3x6x20x3xbf16> -> tensor<6x20x3xbf16>
  %z1 = graph.causal_conv1d %x, %w1 {dilation = 2} : (tensor<?x20xbf16>, tensor<6x20x3xbf16>) -> tensor<?x6xf32>
  %w2 = graph.select %conv {index = 2} : tensor<3x6x20x3xbf16> -> tensor<6x20x3xbf16>
  %z2 = graph.causal_conv1d %x, %w2 {dilation = 2} : (tensor<?x20xbf16>, tensor<6x20x3xbf16>) -> tensor<?x6xf32>
  %z = graph.stack %z0, %z1, %z2 : (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<3x?x6xf32>
  return %y, %z : tensor<3x?x12xbf16>, tensor<3x?x6xf32>
}
