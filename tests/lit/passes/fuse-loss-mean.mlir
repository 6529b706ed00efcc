// RUN: epifold-opt %s --epifold-fuse-loss-mean | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-loss-mean %{verify-remarks}

// Losses that are summed at once, then those that are not, each function named by the cause.

// CHECK-LABEL: func.func @mean(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[T:[a-z0-9]+]]: tensor<?xi64>
// CHECK: %[[R:.*]]:2 = kernel.cascade ins(%[[X]], %[[T]] : tensor<?x8xf32>, tensor<?xi64>) outs(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<1xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x8xf32>, %[[B:.*]]: tensor<?xi64>, %[[O:.*]]: tensor<?xf32>, %[[P:.*]]: tensor<1xf32>):
// CHECK-NEXT: %[[L:.*]] = kernel.row_nll ins(%[[A]], %[[B]] : {{.*}}) outs(%[[O]] : tensor<?xf32>)
// CHECK-NEXT: %[[ROW:.*]] = kernel.view %[[L]]
// CHECK-NEXT: %[[M:.*]] = kernel.row_reduce ins(%[[ROW]] : tensor<1x?xf32>) outs(%[[P]] : tensor<1xf32>) {mean}
// CHECK-NEXT: kernel.yield %[[L]], %[[M]]
// CHECK: return %[[R]]#1
func.func @mean(%x: tensor<?x8xf32>, %t: tensor<?xi64>) -> tensor<1xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?xf32>
  %1 = kernel.row_nll ins(%x, %t : tensor<?x8xf32>, tensor<?xi64>) outs(%0 : tensor<?xf32>) {accuracy = 1 : i32} -> tensor<?xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<()[s0] -> (1, s0)> : tensor<?xf32> -> tensor<1x?xf32>
  %3 = kernel.empty affine_map<() -> (1)> : tensor<1xf32>
  // expected-remark@+1 {{is computed in kernel.row_nll}}
  %4 = kernel.row_reduce ins(%2 : tensor<1x?xf32>) outs(%3 : tensor<1xf32>) {mean} -> tensor<1xf32>
  return %4 : tensor<1xf32>
}

// CHECK-LABEL: func.func @sumsOfParts(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @sumsOfParts(%x: tensor<8x8xf32>, %t: tensor<8xi64>) -> tensor<2xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  %1 = kernel.row_nll ins(%x, %t : tensor<8x8xf32>, tensor<8xi64>) outs(%0 : tensor<8xf32>) {accuracy = 1 : i32} -> tensor<8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (2, 4)> : tensor<8xf32> -> tensor<2x4xf32>
  %3 = kernel.empty affine_map<() -> (2)> : tensor<2xf32>
  // expected-remark@+1 {{the sums are of parts of the losses}}
  %4 = kernel.row_reduce ins(%2 : tensor<2x4xf32>) outs(%3 : tensor<2xf32>) {mean} -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// CHECK-LABEL: func.func @lossesAreNeededElsewhere(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @lossesAreNeededElsewhere(%x: tensor<8x8xf32>, %t: tensor<8xi64>) -> (tensor<8xf32>, tensor<1xf32>) {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  %1 = kernel.row_nll ins(%x, %t : tensor<8x8xf32>, tensor<8xi64>) outs(%0 : tensor<8xf32>) {accuracy = 1 : i32} -> tensor<8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 8)> : tensor<8xf32> -> tensor<1x8xf32>
  %3 = kernel.empty affine_map<() -> (1)> : tensor<1xf32>
  // expected-remark@+1 {{the losses are needed elsewhere}}
  %4 = kernel.row_reduce ins(%2 : tensor<1x8xf32>) outs(%3 : tensor<1xf32>) {mean} -> tensor<1xf32>
  return %1, %4 : tensor<8xf32>, tensor<1xf32>
}

// CHECK-LABEL: func.func @othersWriteTheBuffer(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @othersWriteTheBuffer(%x: tensor<8x8xf32>, %t: tensor<8xi64>, %buffer: tensor<1xf32>) -> tensor<1xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  %1 = kernel.row_nll ins(%x, %t : tensor<8x8xf32>, tensor<8xi64>) outs(%0 : tensor<8xf32>) {accuracy = 1 : i32} -> tensor<8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 8)> : tensor<8xf32> -> tensor<1x8xf32>
  // expected-remark@+1 {{it writes a part of a buffer that others write}}
  %4 = kernel.row_reduce ins(%2 : tensor<1x8xf32>) outs(%buffer : tensor<1xf32>) {mean} -> tensor<1xf32>
  return %4 : tensor<1xf32>
}
