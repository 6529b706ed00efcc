// RUN: epifold-opt %s --epifold-convert-graph-to-kernel | FileCheck %s

// Ops that reduce rows or samples: the few launches that a tree needs.

// CHECK-LABEL: func.func @embedding(
// CHECK: kernel.gather_rows src(%{{.*}} : tensor<16x8xf32>) index(%{{.*}} : tensor<10xi64>) outs(%{{.*}} : tensor<10x8xf32>) {report}
func.func @embedding(%i: tensor<2x5xi64>, %t: tensor<16x8xf32>) -> tensor<2x5x8xf32> {
  %0 = graph.embedding %i, %t : (tensor<2x5xi64>, tensor<16x8xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK: kernel.softmax ins(%{{.*}} : tensor<10x8xbf16>) outs(%{{.*}} : tensor<10x8xbf16>)
func.func @softmax(%x: tensor<2x5x8xbf16>) -> tensor<2x5x8xbf16> {
  %0 = graph.softmax %x : tensor<2x5x8xbf16> -> tensor<2x5x8xbf16>
  return %0 : tensor<2x5x8xbf16>
}

// The tree gives f32; rounding is a launch of its own.
// CHECK-LABEL: func.func @sumOfRows(
// CHECK: kernel.row_reduce ins(%{{.*}} : tensor<10x8xbf16>) outs(%{{.*}} : tensor<10xf32>) -> tensor<10xf32>
// CHECK: kernel.map ins(%{{.*}} : tensor<10xf32>) outs(%{{.*}} : tensor<10xbf16>)
// CHECK: arith.truncf
func.func @sumOfRows(%x: tensor<2x5x8xbf16>) -> tensor<2x5xbf16> {
  %0 = graph.reduce_sum %x {dim = 2} : tensor<2x5x8xbf16> -> tensor<2x5xbf16>
  return %0 : tensor<2x5xbf16>
}

// CHECK-LABEL: func.func @ascendingSum(
// CHECK: kernel.ordered_sum ins(%{{.*}} : tensor<2x5x8xbf16>) outs(%{{.*}} : tensor<2x8xbf16>)
// CHECK-NOT: arith.truncf
func.func @ascendingSum(%x: tensor<2x5x4x2xbf16>) -> tensor<2x4x2xbf16> {
  %0 = graph.reduce_sum %x order ascending {dim = 1} : tensor<2x5x4x2xbf16> -> tensor<2x4x2xbf16>
  return %0 : tensor<2x4x2xbf16>
}

// Statistics of 64×64 leaves, merged; then one map over [sample, time, group, channel].
// CHECK-LABEL: func.func @groupNorm(
// CHECK: kernel.leaf_stats ins(%{{.*}} : tensor<2x100x128xbf16>) outs(%{{.*}} : tensor<2x4x2x1x3xf32>) {groups = 4 : i64}
// CHECK: kernel.merge_stats ins(%{{.*}}) outs(%{{.*}} : tensor<2x4x2xf32>) {epsilon = 1.250000e-01 : f64}
// CHECK: kernel.map {{.*}} outs(%{{.*}} : tensor<2x100x4x32xbf16>)
// CHECK: arith.subf
// CHECK-NEXT: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: arith.truncf
func.func @groupNorm(%x: tensor<2x100x128xbf16>, %g: tensor<128xbf16>, %b: tensor<128xbf16>) -> tensor<2x100x128xbf16> {
  %0 = graph.group_norm %x, %g, %b {groups = 4, epsilon = 0.125} : (tensor<2x100x128xbf16>, tensor<128xbf16>, tensor<128xbf16>) -> tensor<2x100x128xbf16>
  return %0 : tensor<2x100x128xbf16>
}

// CHECK-LABEL: func.func @layerNorm(
// CHECK: kernel.row_stats ins(%{{.*}} : tensor<10x8xf64>) outs(%{{.*}} : tensor<10x2xf64>) {epsilon = 1.250000e-01 : f64}
// CHECK: kernel.map {{.*}} outs(%{{.*}} : tensor<10x8xf64>)
func.func @layerNorm(%x: tensor<2x5x8xf64>, %g: tensor<8xf64>, %b: tensor<8xf64>) -> tensor<2x5x8xf64> {
  %0 = graph.layer_norm %x, %g, %b {epsilon = 0.125} : (tensor<2x5x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x5x8xf64>
  return %0 : tensor<2x5x8xf64>
}

// One root and one division a row.
// CHECK-LABEL: func.func @rmsNorm(
// CHECK: kernel.row_reduce ins(%{{.*}}) outs(%{{.*}} : tensor<10xf32>) {mean, square}
// CHECK: kernel.map ins(%{{.*}} : tensor<10xf32>) outs(%{{.*}} : tensor<10xf32>)
// CHECK: kernel.math sqrt f32
// CHECK-NEXT: %{{.*}} = arith.constant 1.0
// CHECK-NEXT: arith.divf
// CHECK: kernel.map {{.*}} outs(%{{.*}} : tensor<10x8xf16>)
// CHECK-NOT: arith.divf
func.func @rmsNorm(%x: tensor<2x5x8xf16>, %g: tensor<8xf16>) -> tensor<2x5x8xf16> {
  %0 = graph.rms_norm %x, %g : (tensor<2x5x8xf16>, tensor<8xf16>) -> tensor<2x5x8xf16>
  return %0 : tensor<2x5x8xf16>
}

// The rows' losses are one row of the same tree.
// CHECK-LABEL: func.func @crossEntropy(
// CHECK: %[[L:.*]] = kernel.row_nll ins(%{{.*}}, %{{.*}} : tensor<10x8xbf16>, tensor<10xi64>) outs(%{{.*}} : tensor<10xf32>)
// CHECK: %[[ROW:.*]] = kernel.view %[[L]] {{.*}} -> tensor<1x10xf32>
// CHECK: kernel.row_reduce ins(%[[ROW]] : tensor<1x10xf32>) outs(%{{.*}} : tensor<1xf32>) {mean} -> tensor<1xf32>
func.func @crossEntropy(%x: tensor<2x5x8xbf16>, %t: tensor<2x5xi64>) -> tensor<f32> {
  %0 = graph.cross_entropy %x, %t : (tensor<2x5x8xbf16>, tensor<2x5xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @topK(
// CHECK: kernel.top_k ins(%{{.*}} : tensor<10x8xf32>) outs(%{{.*}}, %{{.*}} : tensor<10x3xf32>, tensor<10x3xi32>)
func.func @topK(%x: tensor<2x5x8xf32>) -> (tensor<2x5x3xf32>, tensor<2x5x3xi32>) {
  %v, %i = graph.top_k %x {k = 3} : tensor<2x5x8xf32> -> tensor<2x5x3xf32>, tensor<2x5x3xi32>
  return %v, %i : tensor<2x5x3xf32>, tensor<2x5x3xi32>
}
