// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue %{verify-remarks}

// Launches after a product that it must not take, though types and maps alone would allow it.

#id3 = affine_map<(g, r, n) -> (g, r, n)>

// Both sizes are dynamic, and the launch leaves the last three rows of each group out.
// CHECK-LABEL: func.func @launchCoversFewerDynamicRows(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @launchCoversFewerDynamicRows(%a: tensor<2x?x16xf32>, %b: tensor<2x8x16xf32>) -> tensor<2x?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (2, s0, 8)> : tensor<2x?x8xf32>
  %1 = kernel.gemm a(%a : tensor<2x?x16xf32>) b(%b : tensor<2x8x16xf32>) outs(%0 : tensor<2x?x8xf32>) attributes {indexing_maps = [#id3]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<2x?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (2, s0 - 3, 8)> : tensor<2x?x8xf32>
  // expected-remark@+1 {{the launch's domain is not the product's result}}
  %3 = kernel.map ins(%1 : tensor<2x?x8xf32>) outs(%2 : tensor<2x?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id3, #id3]} {
  ^bb0(%p: f32):
    kernel.yield %p : f32
  } -> tensor<2x?x8xf32>
  return %3 : tensor<2x?x8xf32>
}

#id = affine_map<(r, n) -> (r, n)>
#rn = affine_map<(g, r, n) -> (r, n)>

// CHECK-LABEL: func.func @launchWritesTheProductsBuffer(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @launchWritesTheProductsBuffer(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  // expected-remark@+1 {{the launch writes into the product}}
  %2 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
