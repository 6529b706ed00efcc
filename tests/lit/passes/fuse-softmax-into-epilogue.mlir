// RUN: epifold-opt %s --epifold-fuse-softmax-into-epilogue | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-softmax-into-epilogue %{verify-remarks}

// A softmax that an epilogue computes, then those that stay launches, each function named by the cause.

#rn = affine_map<(g, r, n) -> (r, n)>

// CHECK-LABEL: func.func @firstOfThree(
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<64x3xf32>
// CHECK-NOT: kernel.softmax
// CHECK: kernel.gemm {{.*}} extras(%[[L]], %[[L]], %[[L]] : tensor<64x3xf32>, tensor<64x3xf32>, tensor<64x3xf32>)
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[L0:.*]]: f32, %[[L1:.*]]: f32, %[[L2:.*]]: f32):
// CHECK-NEXT: %[[M0:.*]] = arith.maximumf %[[L0]], %[[L1]] : f32
// CHECK-NEXT: %[[M:.*]] = arith.maximumf %[[M0]], %[[L2]] : f32
// CHECK: %[[E0:.*]] = kernel.math exp f32
// CHECK: %[[E1:.*]] = kernel.math exp f32
// CHECK: %[[E2:.*]] = kernel.math exp f32
// CHECK-NEXT: %[[S0:.*]] = arith.addf %[[E0]], %[[E1]] : f32
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[S0]], %[[E2]] : f32
// CHECK: %[[E:.*]] = kernel.math exp f32
// CHECK-NEXT: %[[P:.*]] = arith.divf %[[E]], %[[S]] : f32
// CHECK-NEXT: arith.mulf %[[ACC]], %[[P]] : f32
func.func @firstOfThree(%l: tensor<64x3xf32>, %x: tensor<64x16xf32>, %w: tensor<8x16xf32>) -> tensor<64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 3)> : tensor<64x3xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %1 = kernel.softmax ins(%l : tensor<64x3xf32>) outs(%0 : tensor<64x3xf32>) {accuracy = 1 : i32} -> tensor<64x3xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (1, 64, 3)> : tensor<64x3xf32> -> tensor<1x64x3xf32>
  %3 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  %4 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<8x16xf32>) extras(%2 : tensor<1x64x3xf32>) outs(%3 : tensor<64x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (0, r, 0)>, #rn]} {
  ^bb0(%acc: f32, %p: f32):
    %5 = arith.mulf %acc, %p : f32
    kernel.yield %5 : f32
  } -> tensor<64x8xf32>
  return %4 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @ofEachGroup(
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<64x2xf32>
// CHECK-NOT: kernel.softmax
// CHECK: kernel.gemm {{.*}} extras(%[[L]], %[[L]], %[[L]] : {{.*}} attributes {indexing_maps = [#[[OWN:.*]], #{{.*}}, #{{.*}}, #{{.*}}]}
// CHECK: return
func.func @ofEachGroup(%l: tensor<64x2xf32>, %x: tensor<64x16xf32>, %w: tensor<2x8x16xf32>) -> tensor<2x64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 2)> : tensor<64x2xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %1 = kernel.softmax ins(%l : tensor<64x2xf32>) outs(%0 : tensor<64x2xf32>) {accuracy = 1 : i32} -> tensor<64x2xf32>
  %3 = kernel.empty affine_map<() -> (2, 64, 8)> : tensor<2x64x8xf32>
  %4 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<2x8x16xf32>) extras(%1 : tensor<64x2xf32>) outs(%3 : tensor<2x64x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (r, g)>, affine_map<(g, r, n) -> (g, r, n)>]} {
  ^bb0(%acc: f32, %p: f32):
    %5 = arith.mulf %acc, %p : f32
    kernel.yield %5 : f32
  } -> tensor<2x64x8xf32>
  return %4 : tensor<2x64x8xf32>
}

// Columns first, as the experts' weights of several samples are.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<64x2xf32>
// CHECK-NOT: kernel.softmax
// CHECK-NOT: kernel.map
// CHECK: kernel.gemm {{.*}} extras(%[[L]], %[[L]], %[[L]] : {{.*}}
// CHECK: return
func.func @transposed(%l: tensor<64x2xf32>, %x: tensor<64x16xf32>, %w: tensor<2x8x16xf32>) -> tensor<2x64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 2)> : tensor<64x2xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %1 = kernel.softmax ins(%l : tensor<64x2xf32>) outs(%0 : tensor<64x2xf32>) {accuracy = 1 : i32} -> tensor<64x2xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (4, 16, 2)> : tensor<64x2xf32> -> tensor<4x16x2xf32>
  %3 = kernel.empty affine_map<() -> (2, 4, 16)> : tensor<2x4x16xf32>
  %4 = kernel.map ins(%2 : tensor<4x16x2xf32>) outs(%3 : tensor<2x4x16xf32>) attributes {domain = 1 : i64, indexing_maps = [affine_map<(e, b, t) -> (b, t, e)>, affine_map<(e, b, t) -> (e, b, t)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<2x4x16xf32>
  %5 = kernel.view %4 at affine_map<() -> (0)> as affine_map<() -> (2, 64, 1)> : tensor<2x4x16xf32> -> tensor<2x64x1xf32>
  %6 = kernel.empty affine_map<() -> (2, 64, 8)> : tensor<2x64x8xf32>
  %7 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<2x8x16xf32>) extras(%5 : tensor<2x64x1xf32>) outs(%6 : tensor<2x64x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (g, r, 0)>, affine_map<(g, r, n) -> (g, r, n)>]} {
  ^bb0(%acc: f32, %p: f32):
    %8 = arith.mulf %acc, %p : f32
    kernel.yield %8 : f32
  } -> tensor<2x64x8xf32>
  return %7 : tensor<2x64x8xf32>
}

// CHECK-LABEL: func.func @tooManyColumns(
// CHECK: kernel.softmax
func.func @tooManyColumns(%l: tensor<64x30xf32>, %x: tensor<64x16xf32>, %w: tensor<8x16xf32>) -> tensor<64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 30)> : tensor<64x30xf32>
  %1 = kernel.softmax ins(%l : tensor<64x30xf32>) outs(%0 : tensor<64x30xf32>) {accuracy = 1 : i32} -> tensor<64x30xf32>
  %3 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  // expected-remark@+1 {{each thread would compute 30 exponentials a row}}
  %4 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<8x16xf32>) extras(%1 : tensor<64x30xf32>) outs(%3 : tensor<64x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (r, 0)>, #rn]} {
  ^bb0(%acc: f32, %p: f32):
    %5 = arith.mulf %acc, %p : f32
    kernel.yield %5 : f32
  } -> tensor<64x8xf32>
  return %4 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @itIsNeededElsewhere(
// CHECK: kernel.softmax
func.func @itIsNeededElsewhere(%l: tensor<64x2xf32>, %x: tensor<64x16xf32>, %w: tensor<8x16xf32>) -> (tensor<64x8xf32>, tensor<64x2xf32>) {
  %0 = kernel.empty affine_map<() -> (64, 2)> : tensor<64x2xf32>
  %1 = kernel.softmax ins(%l : tensor<64x2xf32>) outs(%0 : tensor<64x2xf32>) {accuracy = 1 : i32} -> tensor<64x2xf32>
  %3 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  // expected-remark@+1 {{the softmax is needed elsewhere}}
  %4 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<8x16xf32>) extras(%1 : tensor<64x2xf32>) outs(%3 : tensor<64x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (r, 0)>, #rn]} {
  ^bb0(%acc: f32, %p: f32):
    %5 = arith.mulf %acc, %p : f32
    kernel.yield %5 : f32
  } -> tensor<64x8xf32>
  return %4, %1 : tensor<64x8xf32>, tensor<64x2xf32>
}

// CHECK-LABEL: func.func @columnsReadTheRow(
// CHECK: kernel.softmax
func.func @columnsReadTheRow(%l: tensor<64x8xf32>, %x: tensor<64x16xf32>, %w: tensor<8x16xf32>) -> tensor<64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  %1 = kernel.softmax ins(%l : tensor<64x8xf32>) outs(%0 : tensor<64x8xf32>) {accuracy = 1 : i32} -> tensor<64x8xf32>
  %3 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  // expected-remark@+1 {{it is read at other rows than the product's}}
  %4 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<8x16xf32>) extras(%1 : tensor<64x8xf32>) outs(%3 : tensor<64x8xf32>) attributes {indexing_maps = [#rn, #rn]} {
  ^bb0(%acc: f32, %p: f32):
    %5 = arith.mulf %acc, %p : f32
    kernel.yield %5 : f32
  } -> tensor<64x8xf32>
  return %4 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @rowsAreThoseOfExperts(
// CHECK: kernel.softmax
func.func @rowsAreThoseOfExperts(%l: tensor<64x2xf32>, %x: tensor<64x16xf32>, %o: tensor<3xi64>, %w: tensor<2x8x16xf32>) -> tensor<64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 2)> : tensor<64x2xf32>
  %1 = kernel.softmax ins(%l : tensor<64x2xf32>) outs(%0 : tensor<64x2xf32>) {accuracy = 1 : i32} -> tensor<64x2xf32>
  %3 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  // expected-remark@+1 {{the product's rows are those of experts}}
  %4 = kernel.gemm a(%x : tensor<64x16xf32>) b(%w : tensor<2x8x16xf32>) offsets(%o : tensor<3xi64>) extras(%1 : tensor<64x2xf32>) outs(%3 : tensor<64x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (r, 0)>, #rn]} {
  ^bb0(%acc: f32, %p: f32):
    %5 = arith.mulf %acc, %p : f32
    kernel.yield %5 : f32
  } -> tensor<64x8xf32>
  return %4 : tensor<64x8xf32>
}
