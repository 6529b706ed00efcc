// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Embeddings, reductions, norms and losses.

// CHECK-LABEL: func.func @embedding
// CHECK: graph.embedding %{{.*}}, %{{.*}} : (tensor<2x?xi64>, tensor<256x16xbf16>) -> tensor<2x?x16xbf16>
func.func @embedding(%tokens: tensor<2x?xi64>, %table: tensor<256x16xbf16>) -> tensor<2x?x16xbf16> {
  %0 = graph.embedding %tokens, %table : (tensor<2x?xi64>, tensor<256x16xbf16>) -> tensor<2x?x16xbf16>
  return %0 : tensor<2x?x16xbf16>
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<2x?x8xf32>) -> tensor<2x?x8xf32> {
  // CHECK: graph.softmax %{{[a-z0-9]+}} : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
  %0 = graph.softmax %x : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
  // CHECK: graph.softmax %{{.*}} accuracy bf16 : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
  %1 = graph.softmax %0 accuracy bf16 : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
  return %1 : tensor<2x?x8xf32>
}

// CHECK-LABEL: func.func @reduceSum
func.func @reduceSum(%x: tensor<4x?x8xf16>) {
  // The tree is the default.
  // CHECK: graph.reduce_sum %{{.*}} {dim = 2 : i64} : tensor<4x?x8xf16> -> tensor<4x?xf16>
  %0 = graph.reduce_sum %x {dim = 2} : tensor<4x?x8xf16> -> tensor<4x?xf16>
  // CHECK: graph.reduce_sum %{{.*}} {dim = 2 : i64, keepdim} : tensor<4x?x8xf16> -> tensor<4x?x1xf16>
  %1 = graph.reduce_sum %x {dim = 2, keepdim} : tensor<4x?x8xf16> -> tensor<4x?x1xf16>
  // CHECK: graph.reduce_sum %{{.*}} order ascending {dim = 0 : i64} : tensor<4x?x8xf16> -> tensor<?x8xf16>
  %2 = graph.reduce_sum %x order ascending {dim = 0} : tensor<4x?x8xf16> -> tensor<?x8xf16>
  return
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<?x8xf32>, %batched: tensor<2x?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) {
  // Defaults of groups and epsilon are not printed.
  // CHECK: graph.group_norm %{{.*}}, %{{.*}}, %{{[a-z0-9]+}} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %0 = graph.group_norm %x, %g, %b {groups = 1, epsilon = 1.0e-5} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // CHECK: graph.group_norm %{{.*}} {epsilon = 1.000000e-03 : f64, groups = 4 : i64} : (tensor<2x?x8xf32>,
  %1 = graph.group_norm %batched, %g, %b {groups = 4, epsilon = 1.0e-3} : (tensor<2x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x?x8xf32>
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.250000e-01 : f64} : (tensor<2x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x?x8xf32>
  %2 = graph.layer_norm %batched, %g, %b {epsilon = 0.125} : (tensor<2x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x?x8xf32>
  // CHECK: graph.rms_norm %{{.*}}, %{{[a-z0-9]+}} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %3 = graph.rms_norm %x, %g : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// The loss is of the compute type.
// CHECK-LABEL: func.func @crossEntropy
// CHECK: graph.cross_entropy %{{.*}}, %{{.*}} : (tensor<2x?x256xbf16>, tensor<2x?xi64>) -> tensor<f32>
func.func @crossEntropy(%logits: tensor<2x?x256xbf16>, %targets: tensor<2x?xi64>) -> tensor<f32> {
  %0 = graph.cross_entropy %logits, %targets : (tensor<2x?x256xbf16>, tensor<2x?xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}
