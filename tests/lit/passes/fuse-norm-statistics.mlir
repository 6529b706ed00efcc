// RUN: epifold-opt %s --epifold-fuse-norm-statistics | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-norm-statistics %{verify-remarks}

// A product and an elementwise launch that give statistics, and one that merges them.

#rn = affine_map<(g, r, n) -> (r, n)>
#rows = affine_map<(b, t, c) -> (b, t, c)>
#mean = affine_map<(b, t, c) -> (b, 0, 0)>
#rstd = affine_map<(b, t, c) -> (b, 0, 1)>

// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x64xbf16>, %[[W:[a-z0-9]+]]: tensor<96x64xbf16>
// CHECK-DAG: %[[Y0:.*]] = kernel.empty {{.*}} : tensor<256x96xbf16>
// CHECK-DAG: %[[L0:.*]] = kernel.empty {{.*}} : tensor<2x1x2x2x3xf32>
// CHECK: %[[R:.*]]:2 = kernel.cascade ins(%[[X]], %[[W]] : tensor<256x64xbf16>, tensor<96x64xbf16>) outs(%[[Y0]], %[[L0]] : tensor<256x96xbf16>, tensor<2x1x2x2x3xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<256x64xbf16>, %[[B:.*]]: tensor<96x64xbf16>, %[[O:.*]]: tensor<256x96xbf16>, %[[P:.*]]: tensor<2x1x2x2x3xf32>):
// CHECK-NEXT: %[[Y:.*]] = kernel.gemm a(%[[A]] : tensor<256x64xbf16>) b(%[[B]] : tensor<96x64xbf16>) outs(%[[O]] : tensor<256x96xbf16>)
// CHECK: %[[V:.*]] = kernel.view %[[Y]] at {{.*}} : tensor<256x96xbf16> -> tensor<2x128x96xbf16>
// CHECK-NEXT: %[[L:.*]] = kernel.leaf_stats ins(%[[V]] : tensor<2x128x96xbf16>) outs(%[[P]] : tensor<2x1x2x2x3xf32>) {groups = 1 : i64}
// CHECK-NEXT: kernel.yield %[[Y]], %[[L]]
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @product(%x: tensor<256x64xbf16>, %w: tensor<96x64xbf16>) -> (tensor<256x96xbf16>, tensor<2x1x2x2x3xf32>) {
  %0 = kernel.empty affine_map<() -> (256, 96)> : tensor<256x96xbf16>
  %1 = kernel.gemm a(%x : tensor<256x64xbf16>) b(%w : tensor<96x64xbf16>) outs(%0 : tensor<256x96xbf16>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %5 = arith.truncf %acc : f32 to bf16
    kernel.yield %5 : bf16
  } -> tensor<256x96xbf16>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (2, 128, 96)> : tensor<256x96xbf16> -> tensor<2x128x96xbf16>
  %3 = kernel.empty affine_map<() -> (2, 1, 2, 2, 3)> : tensor<2x1x2x2x3xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %4 = kernel.leaf_stats ins(%2 : tensor<2x128x96xbf16>) outs(%3 : tensor<2x1x2x2x3xf32>) {groups = 1 : i64} -> tensor<2x1x2x2x3xf32>
  return %1, %4 : tensor<256x96xbf16>, tensor<2x1x2x2x3xf32>
}

// The only sample may have any number of rows.
// CHECK-LABEL: func.func @elementwise(
// CHECK: kernel.cascade ins(%{{.*}} : tensor<1x?x64xf32>) outs(%{{.*}}, %{{.*}} : tensor<1x?x64xf32>, tensor<1x1x?x1x3xf32>)
// CHECK: kernel.map
// CHECK: kernel.leaf_stats
// CHECK: return
func.func @elementwise(%x: tensor<1x?x64xf32> {graph.input = "x"}) -> (tensor<1x?x64xf32>, tensor<1x1x?x1x3xf32>) {
  %0 = kernel.empty affine_map<()[s0] -> (1, s0, 64)> : tensor<1x?x64xf32>
  %1 = kernel.map ins(%x : tensor<1x?x64xf32>) outs(%0 : tensor<1x?x64xf32>) attributes {domain = 1 : i64, indexing_maps = [#rows, #rows]} {
  ^bb0(%a: f32):
    %4 = arith.negf %a : f32
    kernel.yield %4 : f32
  } -> tensor<1x?x64xf32>
  %2 = kernel.empty affine_map<()[s0] -> (1, 1, s0 ceildiv 64, 1, 3)> : tensor<1x1x?x1x3xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %3 = kernel.leaf_stats ins(%1 : tensor<1x?x64xf32>) outs(%2 : tensor<1x1x?x1x3xf32>) {groups = 1 : i64} -> tensor<1x1x?x1x3xf32>
  return %1, %3 : tensor<1x?x64xf32>, tensor<1x1x?x1x3xf32>
}

// CHECK-LABEL: func.func @normalise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x45x64xf32>, %[[LEAVES:[a-z0-9]+]]: tensor<2x1x1x1x3xf32>
// CHECK: kernel.cascade ins(%[[LEAVES]], %[[X]] : {{.*}}) outs(%{{.*}} : tensor<2x45x64xf32>) {
// CHECK-NEXT: ^bb0(%[[L:.*]]: tensor<2x1x1x1x3xf32>, %[[A:.*]]: tensor<2x45x64xf32>, %[[O:.*]]: tensor<2x45x64xf32>):
// CHECK-NEXT: %[[OWN:.*]] = kernel.empty {{.*}} : tensor<2x1x2xf32>
// CHECK-NEXT: %[[S:.*]] = kernel.merge_stats ins(%[[L]] : tensor<2x1x1x1x3xf32>) outs(%[[OWN]] : tensor<2x1x2xf32>)
// CHECK-NEXT: %[[Y:.*]] = kernel.map ins(%[[A]], %[[S]], %[[S]] : {{.*}}) outs(%[[O]] : tensor<2x45x64xf32>)
// CHECK: kernel.yield %[[Y]] : tensor<2x45x64xf32>
func.func @normalise(%x: tensor<2x45x64xf32>, %leaves: tensor<2x1x1x1x3xf32>) -> tensor<2x45x64xf32> {
  %0 = kernel.empty affine_map<() -> (2, 1, 2)> : tensor<2x1x2xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.merge_stats ins(%leaves : tensor<2x1x1x1x3xf32>) outs(%0 : tensor<2x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<2x1x2xf32>
  %2 = kernel.empty affine_map<() -> (2, 45, 64)> : tensor<2x45x64xf32>
  %3 = kernel.map ins(%x, %1, %1 : tensor<2x45x64xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>) outs(%2 : tensor<2x45x64xf32>) attributes {domain = 3 : i64, indexing_maps = [#rows, #mean, #rstd, #rows]} {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %4 = arith.subf %a, %m : f32
    %5 = arith.mulf %4, %s : f32
    kernel.yield %5 : f32
  } -> tensor<2x45x64xf32>
  return %3 : tensor<2x45x64xf32>
}
