// RUN: epifold-opt %s --epifold-fuse-group-sums | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-group-sums %{verify-remarks}

// Groups that one epilogue adds, then those that stay apart, each function named by the cause.

#gn = affine_map<(g, r, n) -> (g, r, n)>
#first = affine_map<(r, n) -> (0, r, n)>
#second = affine_map<(r, n) -> (1, r, n)>
#id = affine_map<(r, n) -> (r, n)>

// CHECK-DAG: #[[P0:.*]] = affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK-DAG: #[[P1:.*]] = affine_map<(d0, d1, d2) -> (d1, 1)>
// CHECK-DAG: #[[B0:.*]] = affine_map<(d0, d1, d2) -> (0, d2)>
// CHECK-DAG: #[[B1:.*]] = affine_map<(d0, d1, d2) -> (1, d2)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func @convolutions(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x?x16xbf16>, %[[W:[a-z0-9]+]]: tensor<2x3x8x16xbf16>, %[[P:[a-z0-9]+]]: tensor<?x2xf32>, %[[B:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK-DAG: %[[W0:.*]] = kernel.view %[[W]] at #{{.*}} : tensor<2x3x8x16xbf16> -> tensor<3x8x16xbf16>
// CHECK-DAG: %[[W1:.*]] = kernel.view %[[W]] at #{{.*}} : tensor<2x3x8x16xbf16> -> tensor<3x8x16xbf16>
// CHECK: kernel.gemm a(%[[X]] : {{.*}}) b(%[[W0]], %[[W1]] : {{.*}}) extras(%[[P]], %[[B]], %[[P]], %[[B]] : {{.*}}) outs(%{{.*}} : tensor<?x8xbf16>) attributes {dilation = 1 : i64, indexing_maps = [#[[P0]], #[[B0]], #[[P1]], #[[B1]], #[[OUT]]]} {
// CHECK-NEXT: ^bb0(%[[A0:.*]]: f32, %[[A1:.*]]: f32, %[[G0:.*]]: f32, %[[C0:.*]]: f32, %[[G1:.*]]: f32, %[[C1:.*]]: f32):
// CHECK-NEXT: %[[S0:.*]] = arith.addf %[[A0]], %[[C0]] : f32
// CHECK-NEXT: %[[Y0:.*]] = arith.mulf %[[G0]], %[[S0]] : f32
// CHECK-NEXT: %[[S1:.*]] = arith.addf %[[A1]], %[[C1]] : f32
// CHECK-NEXT: %[[Y1:.*]] = arith.mulf %[[G1]], %[[S1]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[Y0]], %[[Y1]] : f32
// CHECK: kernel.yield
func.func @convolutions(%x: tensor<4x?x16xbf16>, %w: tensor<2x3x8x16xbf16>, %p: tensor<?x2xf32>, %b: tensor<2x8xf32>) -> tensor<?x8xbf16> {
  %0 = kernel.empty affine_map<()[s0] -> (2, s0 * 4, 8)> : tensor<2x?x8xf32>
  %1 = kernel.gemm a(%x : tensor<4x?x16xbf16>) b(%w : tensor<2x3x8x16xbf16>) extras(%p, %b : tensor<?x2xf32>, tensor<2x8xf32>) outs(%0 : tensor<2x?x8xf32>) attributes {dilation = 1 : i64, indexing_maps = [affine_map<(g, r, n) -> (r, g)>, affine_map<(g, r, n) -> (g, n)>, #gn]} {
  ^bb0(%acc: f32, %g: f32, %c: f32):
    %5 = arith.addf %acc, %c : f32
    %6 = arith.mulf %g, %5 : f32
    kernel.yield %6 : f32
  } -> tensor<2x?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0 * 4, 8)> : tensor<?x8xbf16>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.map ins(%1, %1 : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%2 : tensor<?x8xbf16>) attributes {domain = 2 : i64, indexing_maps = [#first, #second, #id]} {
  ^bb0(%a: f32, %d: f32):
    %7 = arith.addf %a, %d : f32
    %8 = arith.truncf %7 : f32 to bf16
    kernel.yield %8 : bf16
  } -> tensor<?x8xbf16>
  return %3 : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @threeGroups(
// CHECK: kernel.gemm
// CHECK: kernel.map
func.func @threeGroups(%x: tensor<8x16xf32>, %w: tensor<3x8x16xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (3, 8, 8)> : tensor<3x8x8xf32>
  %1 = kernel.gemm a(%x : tensor<8x16xf32>) b(%w : tensor<3x8x16xf32>) outs(%0 : tensor<3x8x8xf32>) attributes {indexing_maps = [#gn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<3x8x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{a thread has no room for the accumulators of 3 products}}
  %3 = kernel.map ins(%1, %1, %1 : tensor<3x8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>) outs(%2 : tensor<8x8xf32>) attributes {domain = 3 : i64, indexing_maps = [#first, #second, affine_map<(r, n) -> (2, r, n)>, #id]} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %4 = arith.addf %a, %b : f32
    %5 = arith.addf %4, %c : f32
    kernel.yield %5 : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @groupsHaveRowsOfTheirOwn(
// CHECK: kernel.gemm
// CHECK: kernel.map
func.func @groupsHaveRowsOfTheirOwn(%x: tensor<2x8x16xf32>, %w: tensor<2x8x16xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 8, 8)> : tensor<2x8x8xf32>
  %1 = kernel.gemm a(%x : tensor<2x8x16xf32>) b(%w : tensor<2x8x16xf32>) outs(%0 : tensor<2x8x8xf32>) attributes {indexing_maps = [#gn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<2x8x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{the groups do not share their rows}}
  %3 = kernel.map ins(%1, %1 : tensor<2x8x8xf32>, tensor<2x8x8xf32>) outs(%2 : tensor<8x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#first, #second, #id]} {
  ^bb0(%a: f32, %b: f32):
    %4 = arith.addf %a, %b : f32
    kernel.yield %4 : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @oneGroupIsReadTwice(
// CHECK: kernel.gemm
// CHECK: kernel.map
func.func @oneGroupIsReadTwice(%x: tensor<8x16xf32>, %w: tensor<2x8x16xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 8, 8)> : tensor<2x8x8xf32>
  %1 = kernel.gemm a(%x : tensor<8x16xf32>) b(%w : tensor<2x8x16xf32>) outs(%0 : tensor<2x8x8xf32>) attributes {indexing_maps = [#gn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<2x8x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{the launch does not read each group once, at its own row and column}}
  %3 = kernel.map ins(%1, %1 : tensor<2x8x8xf32>, tensor<2x8x8xf32>) outs(%2 : tensor<8x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#first, #first, #id]} {
  ^bb0(%a: f32, %b: f32):
    %4 = arith.addf %a, %b : f32
    kernel.yield %4 : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// 112 tiles of 192 columns fill a chip, 80 of 2 × 128 do not.
// CHECK-LABEL: func.func @tilesOfAllGroupsAreNarrow(
// CHECK: kernel.gemm
// CHECK: kernel.map
func.func @tilesOfAllGroupsAreNarrow(%x: tensor<1x512x2560xbf16>, %w: tensor<2x3x2560x2560xbf16>) -> tensor<512x2560xbf16> {
  %0 = kernel.empty affine_map<() -> (2, 512, 2560)> : tensor<2x512x2560xf32>
  %1 = kernel.gemm a(%x : tensor<1x512x2560xbf16>) b(%w : tensor<2x3x2560x2560xbf16>) outs(%0 : tensor<2x512x2560xf32>) attributes {dilation = 1 : i64, indexing_maps = [#gn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<2x512x2560xf32>
  %2 = kernel.empty affine_map<() -> (512, 2560)> : tensor<512x2560xbf16>
  // expected-remark@+1 {{tiles of all groups would take longer}}
  %3 = kernel.map ins(%1, %1 : tensor<2x512x2560xf32>, tensor<2x512x2560xf32>) outs(%2 : tensor<512x2560xbf16>) attributes {domain = 2 : i64, indexing_maps = [#first, #second, #id]} {
  ^bb0(%a: f32, %b: f32):
    %4 = arith.addf %a, %b : f32
    %5 = arith.truncf %4 : f32 to bf16
    kernel.yield %5 : bf16
  } -> tensor<512x2560xbf16>
  return %3 : tensor<512x2560xbf16>
}
