// RUN: epifold-opt %s --canonicalize | FileCheck %s

// Ops that change nothing disappear; those that may change a bit or a size stay.

// CHECK-LABEL: func.func @castToItsOwnType(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @castToItsOwnType(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.cast %x : tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Rounding to bf16 and back is not the identity.
// CHECK-LABEL: func.func @castThereAndBack(
// CHECK: graph.cast
// CHECK: graph.cast
func.func @castThereAndBack(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = graph.cast %0 : tensor<4xbf16> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @reshapeToItsOwnShape(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @reshapeToItsOwnShape(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.reshape %x : tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @reshapeToAnotherShape(
// CHECK: graph.reshape
func.func @reshapeToAnotherShape(%x: tensor<?x4xf32>) -> tensor<?x2xf32> {
  %0 = graph.reshape %x : tensor<?x4xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// CHECK-LABEL: func.func @transposeNothing(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @transposeNothing(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 0, 1>} : tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// A square tensor keeps its type, not its elements' places.
// CHECK-LABEL: func.func @transposeSquare(
// CHECK: graph.transpose
func.func @transposeSquare(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @equalConstants(
// CHECK-COUNT-1: graph.constant
// CHECK-NOT: graph.constant
func.func @equalConstants() -> (tensor<f32>, tensor<f32>) {
  %0 = graph.constant dense<0.5> : tensor<f32>
  %1 = graph.constant dense<0.5> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// A branch that nothing reads is not launched.
// CHECK-LABEL: func.func @deadBranch(
// CHECK-NEXT: return
func.func @deadBranch(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.matmul %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %1 = graph.gelu %0 : tensor<?x8xf32> -> tensor<?x8xf32>
  return %x : tensor<?x4xf32>
}
