// RUN: epifold-opt %s --epifold-plan-early-reads | FileCheck %s

#rows = affine_map<(g, r, n) -> (r, n)>

// The second product reads what the first one writes as A, and nothing else of it; before the first one there may be anything.
// CHECK-LABEL: func.func @weightsAreOlder(
// CHECK: kernel.gemm
// CHECK-NOT: kernel.settled
// CHECK: kernel.gemm
// CHECK-SAME: kernel.settled = array<i64: 1, 2>
func.func @weightsAreOlder(%x: tensor<?x16xbf16>, %u: tensor<3x16x16xbf16>, %w: tensor<3x8x16xbf16>, %begins: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xbf16>
  %1 = kernel.gemm a(%x : tensor<?x16xbf16>) b(%u : tensor<3x16x16xbf16>) offsets(%begins : tensor<4xi64>) outs(%0 : tensor<?x16xbf16>) attributes {indexing_maps = [#rows]} {
  ^bb0(%acc: f32):
    %rounded = arith.truncf %acc : f32 to bf16
    kernel.yield %rounded : bf16
  } -> tensor<?x16xbf16>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %3 = kernel.gemm a(%1 : tensor<?x16xbf16>) b(%w : tensor<3x8x16xbf16>) offsets(%begins : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rows]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// A part of B's buffer is written right before, through a view.
// CHECK-LABEL: func.func @weightsAreWritten(
// CHECK: kernel.gemm
// CHECK-SAME: kernel.settled = array<i64>
func.func @weightsAreWritten(%x: tensor<4x16xf32>, %buffer: tensor<16x16xf32>) -> tensor<4x8xf32> {
  %part = kernel.view %buffer at affine_map<() -> (0)> as affine_map<() -> (8, 16)> : tensor<16x16xf32> -> tensor<8x16xf32>
  %0 = kernel.softmax ins(%x : tensor<4x16xf32>) outs(%part : tensor<8x16xf32>) {accuracy = 1 : i32} -> tensor<8x16xf32>
  %1 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %2 = kernel.view %0 at affine_map<() -> (0)> as affine_map<() -> (8, 16)> : tensor<8x16xf32> -> tensor<8x16xf32>
  %3 = kernel.gemm a(%x : tensor<4x16xf32>) b(%2 : tensor<8x16xf32>) outs(%1 : tensor<4x8xf32>) attributes {indexing_maps = [#rows]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
