// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Launches without a region.

// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<?x64xbf16>, %index: tensor<?xi32>, %offsets: tensor<9xi64>, %o: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // An embedding: every index, checked.
  // CHECK: kernel.gather_rows src(%{{.*}} : tensor<?x64xbf16>) index(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<?x64xbf16>) {report} -> tensor<?x64xbf16>
  %0 = kernel.gather_rows src(%x : tensor<?x64xbf16>) index(%index : tensor<?xi32>) outs(%o : tensor<?x64xbf16>) {report} -> tensor<?x64xbf16>
  // A dispatch: the token rows of one expert's slots.
  // CHECK: kernel.gather_rows {{.*}} offsets(%{{.*}} : tensor<9xi64>) outs(%{{.*}}) {divisor = 2 : i64, group = 3 : i64} -> tensor<?x64xbf16>
  %1 = kernel.gather_rows src(%x : tensor<?x64xbf16>) index(%index : tensor<?xi32>) offsets(%offsets : tensor<9xi64>)
    outs(%0 : tensor<?x64xbf16>) {divisor = 2 : i64, group = 3 : i64} -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<?x64xbf16>, %cube: tensor<4x8x64xf16>, %targets: tensor<?xi64>, %o: tensor<?x64xbf16>, %sums: tensor<?xf32>,
                %planes: tensor<4x64xf16>, %stats: tensor<?x2xf32>, %losses: tensor<?xf32>) {
  // CHECK: kernel.softmax ins(%{{.*}} : tensor<?x64xbf16>) outs(%{{.*}} : tensor<?x64xbf16>) {accuracy = {{.*}}} -> tensor<?x64xbf16>
  %0 = kernel.softmax ins(%x : tensor<?x64xbf16>) outs(%o : tensor<?x64xbf16>) {accuracy = 1 : i32} -> tensor<?x64xbf16>
  // CHECK: kernel.row_reduce ins(%{{.*}}) outs(%{{.*}}) -> tensor<?xf32>
  %1 = kernel.row_reduce ins(%x : tensor<?x64xbf16>) outs(%sums : tensor<?xf32>) -> tensor<?xf32>
  // CHECK: kernel.row_reduce ins(%{{.*}}) outs(%{{.*}}) {mean, square} -> tensor<?xf32>
  %2 = kernel.row_reduce ins(%x : tensor<?x64xbf16>) outs(%1 : tensor<?xf32>) {mean, square} -> tensor<?xf32>
  // CHECK: kernel.ordered_sum ins(%{{.*}} : tensor<4x8x64xf16>) outs(%{{.*}} : tensor<4x64xf16>) -> tensor<4x64xf16>
  %3 = kernel.ordered_sum ins(%cube : tensor<4x8x64xf16>) outs(%planes : tensor<4x64xf16>) -> tensor<4x64xf16>
  // CHECK: kernel.row_stats ins(%{{.*}}) outs(%{{.*}}) {epsilon = 1.250000e-01 : f64} -> tensor<?x2xf32>
  %4 = kernel.row_stats ins(%x : tensor<?x64xbf16>) outs(%stats : tensor<?x2xf32>) {epsilon = 0.125 : f64} -> tensor<?x2xf32>
  // CHECK: kernel.row_nll ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?xi64>) outs(%{{.*}}) {accuracy = {{.*}}} -> tensor<?xf32>
  %5 = kernel.row_nll ins(%x, %targets : tensor<?x64xbf16>, tensor<?xi64>) outs(%losses : tensor<?xf32>) {accuracy = 1 : i32} -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @statistics
func.func @statistics(%x: tensor<2x100x128xf64>, %leaves: tensor<2x4x2x1x3xf64>, %stats: tensor<2x4x2xf64>) -> tensor<2x4x2xf64> {
  // CHECK: kernel.leaf_stats ins(%{{.*}} : tensor<2x100x128xf64>) outs(%{{.*}} : tensor<2x4x2x1x3xf64>) {groups = 4 : i64} -> tensor<2x4x2x1x3xf64>
  %0 = kernel.leaf_stats ins(%x : tensor<2x100x128xf64>) outs(%leaves : tensor<2x4x2x1x3xf64>) {groups = 4 : i64} -> tensor<2x4x2x1x3xf64>
  // CHECK: kernel.merge_stats ins(%{{.*}} : tensor<2x4x2x1x3xf64>) outs(%{{.*}} : tensor<2x4x2xf64>) {epsilon = {{.*}} : f64} -> tensor<2x4x2xf64>
  %1 = kernel.merge_stats ins(%0 : tensor<2x4x2x1x3xf64>) outs(%stats : tensor<2x4x2xf64>) {epsilon = 1.0e-5 : f64} -> tensor<2x4x2xf64>
  return %1 : tensor<2x4x2xf64>
}

// CHECK-LABEL: func.func @routing
func.func @routing(%p: tensor<?x8xf32>, %v: tensor<?x2xf32>, %i: tensor<?x2xi32>, %slots: tensor<?xi32>, %h: tensor<?x8xi32>,
                   %before: tensor<?x8xi32>, %offsets: tensor<9xi64>, %counts: tensor<8xi64>, %rows: tensor<?x64xbf16>, %y: tensor<?x64xbf16>) {
  // CHECK: kernel.top_k ins(%{{.*}} : tensor<?x8xf32>) outs(%{{.*}}, %{{.*}} : tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x2xf32>, tensor<?x2xi32>
  %0:2 = kernel.top_k ins(%p : tensor<?x8xf32>) outs(%v, %i : tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: kernel.route_histogram ins(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<?x8xi32>) -> tensor<?x8xi32>
  %1 = kernel.route_histogram ins(%slots : tensor<?xi32>) outs(%h : tensor<?x8xi32>) -> tensor<?x8xi32>
  // CHECK: kernel.route_scan ins(%{{.*}} : tensor<?x8xi32>) outs({{.*}} : tensor<?x8xi32>, tensor<8xi64>)
  %2:2 = kernel.route_scan ins(%1 : tensor<?x8xi32>) outs(%before, %counts : tensor<?x8xi32>, tensor<8xi64>)
    -> tensor<?x8xi32>, tensor<8xi64>
  // CHECK: kernel.route_scatter ins({{.*}} : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>) outs({{.*}}) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  %3:3 = kernel.route_scatter ins(%slots, %2#0, %2#1 : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>)
    outs(%slots, %slots, %offsets : tensor<?xi32>, tensor<?xi32>, tensor<9xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  // CHECK: kernel.combine ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?xi32>) outs(%{{.*}}) {slots = 2 : i64} -> tensor<?x64xbf16>
  %4 = kernel.combine ins(%rows, %3#1 : tensor<?x64xbf16>, tensor<?xi32>) outs(%y : tensor<?x64xbf16>) {slots = 2 : i64} -> tensor<?x64xbf16>
  return
}
