// RUN: epifold-opt %s --epifold-fuse-casts-into-readers | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-casts-into-readers %{verify-remarks}

// Launches that store what they rounded, then those that keep the wide type, each function named by the cause.

#rn = affine_map<(g, r, n) -> (r, n)>
#id = affine_map<(a, b) -> (a, b)>
#flat = affine_map<(a) -> (a)>

// CHECK-LABEL: func.func @product(
// CHECK: %[[OUT:.*]] = kernel.empty {{.*}} : tensor<8x8xbf16>
// CHECK: %[[Y:.*]] = kernel.gemm {{.*}} outs(%[[OUT]] : tensor<8x8xbf16>)
// CHECK: %[[ROUNDED:.*]] = arith.truncf
// CHECK-NEXT: kernel.yield %[[ROUNDED]] : bf16
// CHECK: kernel.map ins(%[[Y]], %[[Y]] : tensor<8x8xbf16>, tensor<8x8xbf16>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16):
// CHECK-DAG: %[[WIDE_A:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-DAG: %[[WIDE_B:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK: arith.addf %[[WIDE_A]], %[[WIDE_B]] : f32
func.func @product(%x: tensor<8x16xbf16>, %w: tensor<8x16xbf16>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{is widened where kernel.map}}
  %1 = kernel.gemm a(%x : tensor<8x16xbf16>) b(%w : tensor<8x16xbf16>) outs(%0 : tensor<8x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %5 = arith.truncf %acc : f32 to bf16
    %6 = arith.extf %5 : bf16 to f32
    kernel.yield %6 : f32
  } -> tensor<8x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %3 = kernel.map ins(%1, %1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %7 = arith.addf %a, %b : f32
    kernel.yield %7 : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// What an epilogue reads in another shape.
// CHECK-LABEL: func.func @extraInAnotherShape(
// CHECK: %[[V:.*]] = kernel.map {{.*}} outs({{.*}} : tensor<8xf16>)
// CHECK: %[[ROW:.*]] = kernel.view %[[V]] at {{.*}} : tensor<8xf16> -> tensor<1x8xf16>
// CHECK: kernel.gemm {{.*}} extras(%[[ROW]] : tensor<1x8xf16>)
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %[[E:.*]]: f16):
// CHECK-NEXT: arith.extf %[[E]] : f16 to f32
func.func @extraInAnotherShape(%v: tensor<8xf32>, %x: tensor<8x16xf32>, %w: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{is widened where kernel.gemm}}
  %1 = kernel.map ins(%v : tensor<8xf32>) outs(%0 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %5 = arith.truncf %a : f32 to f16
    %6 = arith.extf %5 : f16 to f32
    kernel.yield %6 : f32
  } -> tensor<8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 8)> : tensor<8xf32> -> tensor<1x8xf32>
  %3 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %4 = kernel.gemm a(%x : tensor<8x16xf32>) b(%w : tensor<8x16xf32>) extras(%2 : tensor<1x8xf32>) outs(%3 : tensor<8x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (0, n)>, #rn]} {
  ^bb0(%acc: f32, %e: f32):
    %7 = arith.addf %acc, %e : f32
    kernel.yield %7 : f32
  } -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @theOperandOfAProductIsWide(
// CHECK: kernel.map {{.*}} outs({{.*}} : tensor<8x16xf32>)
// CHECK: kernel.yield {{.*}} : f32
func.func @theOperandOfAProductIsWide(%x: tensor<8x16xbf16>, %w: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (8, 16)> : tensor<8x16xf32>
  // expected-remark@+1 {{needs the wide type}}
  %1 = kernel.map ins(%x : tensor<8x16xbf16>) outs(%0 : tensor<8x16xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %4 = arith.extf %a : bf16 to f32
    kernel.yield %4 : f32
  } -> tensor<8x16xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %3 = kernel.gemm a(%1 : tensor<8x16xf32>) b(%w : tensor<8x16xf32>) outs(%2 : tensor<8x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @theResultIsWide(
// CHECK: kernel.map {{.*}} outs({{.*}} : tensor<8xf32>)
func.func @theResultIsWide(%x: tensor<8xbf16>) -> tensor<8xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{needs the wide type}}
  %1 = kernel.map ins(%x : tensor<8xbf16>) outs(%0 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: bf16):
    %2 = arith.extf %a : bf16 to f32
    kernel.yield %2 : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Pieces of the narrow type might start before the part does.
// CHECK-LABEL: func.func @aPartIsRead(
// CHECK: kernel.map {{.*}} outs({{.*}} : tensor<8xf32>)
// CHECK: kernel.view {{.*}} : tensor<8xf32> -> tensor<4xf32>
func.func @aPartIsRead(%x: tensor<8xbf16>) -> tensor<4xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{needs the wide type}}
  %1 = kernel.map ins(%x : tensor<8xbf16>) outs(%0 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: bf16):
    %5 = arith.extf %a : bf16 to f32
    kernel.yield %5 : f32
  } -> tensor<8xf32>
  %2 = kernel.view %1 at affine_map<() -> (4)> as affine_map<() -> (4)> : tensor<8xf32> -> tensor<4xf32>
  %3 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %4 = kernel.map ins(%2 : tensor<4xf32>) outs(%3 : tensor<4xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %6 = arith.negf %a : f32
    kernel.yield %6 : f32
  } -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: func.func @othersWriteTheBuffer(
// CHECK: kernel.map {{.*}} outs({{.*}} : tensor<8xf32>)
func.func @othersWriteTheBuffer(%x: tensor<8xbf16>, %buffer: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark@+1 {{it writes a part of a buffer that others write}}
  %1 = kernel.map ins(%x : tensor<8xbf16>) outs(%buffer : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: bf16):
    %2 = arith.extf %a : bf16 to f32
    kernel.yield %2 : f32
  } -> tensor<8xf32>
  %3 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  %4 = kernel.map ins(%1 : tensor<8xf32>) outs(%3 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %5 = arith.negf %a : f32
    kernel.yield %5 : f32
  } -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
