// RUN: epifold-opt %s --epifold-fuse-gather-into-product | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-gather-into-product %{verify-remarks}

// Products that gather their own rows, then those that do not, each function named by the cause.

#rn = affine_map<(g, r, n) -> (r, n)>

// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x16xbf16>, %[[SLOTS:[a-z0-9]+]]: tensor<?xi32>, %[[OFFSETS:[a-z0-9]+]]: tensor<4xi64>, %[[B:[a-z0-9]+]]: tensor<3x8x16xbf16>
// CHECK-NOT: kernel.gather_rows
// CHECK: kernel.gemm a(%[[X]] : tensor<?x16xbf16>) b(%[[B]] : tensor<3x8x16xbf16>) gather(%[[SLOTS]] : tensor<?xi32>) offsets(%[[OFFSETS]] : tensor<4xi64>) {{.*}} attributes {gather_divisor = 2 : i64
// CHECK-NOT: group
// CHECK: return
func.func @grouped(%x: tensor<?x16xbf16>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<3x8x16xbf16>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 16)> : tensor<?x16xbf16>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %1 = kernel.gather_rows src(%x : tensor<?x16xbf16>) index(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x16xbf16>) {divisor = 2 : i64} -> tensor<?x16xbf16>
  %2 = kernel.empty affine_map<()[s0] -> (s0 * 2, 8)> : tensor<?x8xf32>
  %3 = kernel.gemm a(%1 : tensor<?x16xbf16>) b(%b : tensor<3x8x16xbf16>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @rowsOfOneExpert(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x16xf32>, %[[SLOTS:[a-z0-9]+]]: tensor<?xi32>
// CHECK-NOT: kernel.gather_rows
// CHECK: kernel.gemm a(%[[X]] : tensor<?x16xf32>) {{.*}} gather(%[[SLOTS]] : tensor<?xi32>) {{.*}} attributes {gather_divisor = 4 : i64, group = 1 : i64
// CHECK: return
func.func @rowsOfOneExpert(%x: tensor<?x16xf32>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0 * 4, 16)> : tensor<?x16xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x16xf32>) {divisor = 4 : i64, group = 1 : i64} -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0 * 4, 8)> : tensor<?x8xf32>
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {group = 1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// Gathered rows that are gathered again: the product takes the second gather alone.
// CHECK-LABEL: func.func @rowsAreGatheredAlready(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x16xf32>, %[[FIRST:[a-z0-9]+]]: tensor<?xi32>, %[[SECOND:[a-z0-9]+]]: tensor<?xi32>
// CHECK: %[[ROWS:.*]] = kernel.gather_rows src(%[[X]] : tensor<?x16xf32>) index(%[[FIRST]] : tensor<?xi32>)
// CHECK: kernel.gemm a(%[[ROWS]] : tensor<?x16xf32>) {{.*}} gather(%[[SECOND]] : tensor<?xi32>)
// CHECK: return
func.func @rowsAreGatheredAlready(%x: tensor<?x16xf32>, %first: tensor<?xi32>, %second: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<3x8x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%first : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the product gathers other rows already}}
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) gather(%second : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @rowsAreNeededElsewhere(
// CHECK: kernel.gather_rows
// CHECK: kernel.gemm
// CHECK-NOT: gather(
// CHECK: return
func.func @rowsAreNeededElsewhere(%x: tensor<?x16xf32>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<3x8x16xf32>) -> (tensor<?x8xf32>, tensor<?x16xf32>) {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the gathered rows are needed elsewhere}}
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3, %1 : tensor<?x8xf32>, tensor<?x16xf32>
}

// A product has no way to report an index.
// CHECK-LABEL: func.func @gatherReports(
// CHECK: kernel.gather_rows
// CHECK: kernel.gemm
// CHECK-NOT: gather(
// CHECK: return
func.func @gatherReports(%x: tensor<?x16xf32>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<3x8x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x16xf32>) {report} -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the gather reports indices outside the table}}
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @productIsDense(
// CHECK: kernel.gather_rows
// CHECK: kernel.gemm
// CHECK-NOT: gather(
// CHECK: return
func.func @productIsDense(%x: tensor<?x16xf32>, %index: tensor<?xi32>, %b: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%index : tensor<?xi32>) outs(%0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the gather covers other rows than the product}}
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<8x16xf32>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @gatherHasOtherOffsets(
// CHECK: kernel.gather_rows
// CHECK: kernel.gemm
// CHECK-NOT: gather(
// CHECK: return
func.func @gatherHasOtherOffsets(%x: tensor<?x16xf32>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %others: tensor<4xi64>, %b: tensor<3x8x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%slots : tensor<?xi32>) offsets(%others : tensor<4xi64>) outs(%0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the gather covers other rows than the product}}
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @gatherCoversOneExpert(
// CHECK: kernel.gather_rows
// CHECK: kernel.gemm
// CHECK-NOT: gather(
// CHECK: return
func.func @gatherCoversOneExpert(%x: tensor<?x16xf32>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<3x8x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 16)> : tensor<?x16xf32>
  %1 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x16xf32>) {group = 0 : i64} -> tensor<?x16xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the gather covers other rows than the product}}
  %3 = kernel.gemm a(%1 : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @othersWriteTheRowsBuffer(
// CHECK: kernel.gather_rows
// CHECK: kernel.gemm
// CHECK-NOT: gather(
// CHECK: return
func.func @othersWriteTheRowsBuffer(%x: tensor<?x16xf32>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>, %b: tensor<3x8x16xf32>, %written: tensor<?x16xf32>) -> tensor<?x8xf32> {
  %0 = kernel.gather_rows src(%x : tensor<?x16xf32>) index(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%written : tensor<?x16xf32>) -> tensor<?x16xf32>
  %1 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the gathered rows are part of a buffer that others write}}
  %2 = kernel.gemm a(%0 : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%1 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
