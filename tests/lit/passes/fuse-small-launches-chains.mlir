// RUN: epifold-opt %s --epifold-fuse-small-launches | FileCheck %s

// Without `group-chains`: launches that all wait for one another stay apart, others do not.

// CHECK-LABEL: func.func @chain(
// CHECK-NOT: kernel.persistent
// CHECK: kernel.softmax
// CHECK: kernel.row_reduce
// CHECK: return
func.func @chain(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.softmax ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %3 = kernel.row_reduce ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @sideBySide(
// CHECK: kernel.persistent
// CHECK: kernel.softmax
// CHECK: kernel.row_reduce
// CHECK: return
func.func @sideBySide(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.softmax ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %3 = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%2 : tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4xf32>
}
