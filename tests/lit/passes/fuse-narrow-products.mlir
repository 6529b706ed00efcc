// RUN: epifold-opt %s --epifold-fuse-narrow-products | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-narrow-products %{verify-remarks}

// Products that move to where their rows are written, then those that stay launches, each function named by the cause.

#rn = affine_map<(g, r, n) -> (r, n)>
#id = affine_map<(r, c) -> (r, c)>
#column = affine_map<(g, r, n) -> (n)>

// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x32xbf16>, %[[W:[a-z0-9]+]]: tensor<4x32xbf16>, %[[B:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[R:.*]]:2 = kernel.cascade ins(%[[X]], %[[W]], %[[B]] : {{.*}}) outs(%{{.*}}, %{{.*}} : tensor<?x32xbf16>, tensor<?x4xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x32xbf16>, %[[V:.*]]: tensor<4x32xbf16>, %[[C:.*]]: tensor<4xf32>, %[[O:.*]]: tensor<?x32xbf16>, %[[P:.*]]: tensor<?x4xf32>):
// CHECK-NEXT: %[[Y:.*]] = kernel.map ins(%[[A]] : {{.*}}) outs(%[[O]] : tensor<?x32xbf16>)
// CHECK: %[[L:.*]] = kernel.gemm a(%[[Y]] : {{.*}}) b(%[[V]] : {{.*}}) extras(%[[C]] : {{.*}}) outs(%[[P]] : tensor<?x4xf32>)
// CHECK: kernel.yield %[[Y]], %[[L]]
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @elementwise(%x: tensor<?x32xbf16>, %w: tensor<4x32xbf16>, %b: tensor<4xf32>) -> (tensor<?x32xbf16>, tensor<?x4xf32>) {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 32)> : tensor<?x32xbf16>
  %1 = kernel.map ins(%x : tensor<?x32xbf16>) outs(%0 : tensor<?x32xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %4 = arith.negf %a : bf16
    kernel.yield %4 : bf16
  } -> tensor<?x32xbf16>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 4)> : tensor<?x4xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %3 = kernel.gemm a(%1 : tensor<?x32xbf16>) b(%w : tensor<4x32xbf16>) extras(%b : tensor<4xf32>) outs(%2 : tensor<?x4xf32>) attributes {indexing_maps = [#column, #rn]} {
  ^bb0(%acc: f32, %e: f32):
    %4 = arith.addf %acc, %e : f32
    kernel.yield %4 : f32
  } -> tensor<?x4xf32>
  return %1, %3 : tensor<?x32xbf16>, tensor<?x4xf32>
}

// CHECK-LABEL: func.func @afterANorm(
// CHECK: kernel.cascade ins({{.*}}) outs(%{{.*}}, %{{.*}} : tensor<64x32xf16>, tensor<64x4xf32>) {
// CHECK: kernel.empty
// CHECK-NEXT: kernel.merge_stats
// CHECK-NEXT: %[[Y:.*]] = kernel.map
// CHECK: kernel.gemm a(%[[Y]] : tensor<64x32xf16>)
// CHECK: return
func.func @afterANorm(%leaves: tensor<1x1x1x1x3xf32>, %x: tensor<64x32xf16>, %w: tensor<4x32xf16>) -> (tensor<64x32xf16>, tensor<64x4xf32>) {
  %0 = kernel.empty affine_map<() -> (64, 32)> : tensor<64x32xf16>
  %1 = kernel.cascade ins(%leaves, %x : tensor<1x1x1x1x3xf32>, tensor<64x32xf16>) outs(%0 : tensor<64x32xf16>) {
  ^bb0(%a: tensor<1x1x1x1x3xf32>, %b: tensor<64x32xf16>, %c: tensor<64x32xf16>):
    %own = kernel.empty affine_map<() -> (1, 1, 2)> : tensor<1x1x2xf32>
    %s = kernel.merge_stats ins(%a : tensor<1x1x1x1x3xf32>) outs(%own : tensor<1x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<1x1x2xf32>
    %y = kernel.map ins(%b, %s : tensor<64x32xf16>, tensor<1x1x2xf32>) outs(%c : tensor<64x32xf16>) attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, c) -> (0, 0, 0)>, #id]} {
    ^bb0(%e: f16, %m: f32):
      %5 = arith.extf %e : f16 to f32
      %6 = arith.subf %5, %m : f32
      %7 = arith.truncf %6 : f32 to f16
      kernel.yield %7 : f16
    } -> tensor<64x32xf16>
    kernel.yield %y : tensor<64x32xf16>
  } -> tensor<64x32xf16>
  %2 = kernel.empty affine_map<() -> (64, 4)> : tensor<64x4xf32>
  // expected-remark@+1 {{is computed in kernel.cascade}}
  %3 = kernel.gemm a(%1 : tensor<64x32xf16>) b(%w : tensor<4x32xf16>) outs(%2 : tensor<64x4xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<64x4xf32>
  return %1, %3 : tensor<64x32xf16>, tensor<64x4xf32>
}

// CHECK-LABEL: func.func @wideProduct(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @wideProduct(%x: tensor<64x32xbf16>, %w: tensor<64x32xbf16>) -> tensor<64x64xf32> {
  %0 = kernel.empty affine_map<() -> (64, 32)> : tensor<64x32xbf16>
  %1 = kernel.map ins(%x : tensor<64x32xbf16>) outs(%0 : tensor<64x32xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    kernel.yield %a : bf16
  } -> tensor<64x32xbf16>
  %2 = kernel.empty affine_map<() -> (64, 64)> : tensor<64x64xf32>
  // expected-remark@+1 {{the product has 64 columns}}
  %3 = kernel.gemm a(%1 : tensor<64x32xbf16>) b(%w : tensor<64x32xbf16>) outs(%2 : tensor<64x64xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @scalarType(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @scalarType(%x: tensor<64x32xf32>, %w: tensor<4x32xf32>) -> tensor<64x4xf32> {
  %0 = kernel.empty affine_map<() -> (64, 32)> : tensor<64x32xf32>
  %1 = kernel.map ins(%x : tensor<64x32xf32>) outs(%0 : tensor<64x32xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<64x32xf32>
  %2 = kernel.empty affine_map<() -> (64, 4)> : tensor<64x4xf32>
  // expected-remark@+1 {{its type is not the matrix unit's}}
  %3 = kernel.gemm a(%1 : tensor<64x32xf32>) b(%w : tensor<4x32xf32>) outs(%2 : tensor<64x4xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<64x4xf32>
  return %3 : tensor<64x4xf32>
}

// CHECK-LABEL: func.func @rowsEndInsideAStep(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @rowsEndInsideAStep(%x: tensor<64x24xbf16>, %w: tensor<4x24xbf16>) -> tensor<64x4xf32> {
  %0 = kernel.empty affine_map<() -> (64, 24)> : tensor<64x24xbf16>
  %1 = kernel.map ins(%x : tensor<64x24xbf16>) outs(%0 : tensor<64x24xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    kernel.yield %a : bf16
  } -> tensor<64x24xbf16>
  %2 = kernel.empty affine_map<() -> (64, 4)> : tensor<64x4xf32>
  // expected-remark@+1 {{rows end inside a step of the product}}
  %3 = kernel.gemm a(%1 : tensor<64x24xbf16>) b(%w : tensor<4x24xbf16>) outs(%2 : tensor<64x4xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<64x4xf32>
  return %3 : tensor<64x4xf32>
}

// CHECK-LABEL: func.func @longRows(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @longRows(%x: tensor<64x4096xbf16>, %w: tensor<8x4096xbf16>) -> tensor<64x8xf32> {
  %0 = kernel.empty affine_map<() -> (64, 4096)> : tensor<64x4096xbf16>
  %1 = kernel.map ins(%x : tensor<64x4096xbf16>) outs(%0 : tensor<64x4096xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    kernel.yield %a : bf16
  } -> tensor<64x4096xbf16>
  %2 = kernel.empty affine_map<() -> (64, 8)> : tensor<64x8xf32>
  // expected-remark@+1 {{rows and weights do not fit shared memory}}
  %3 = kernel.gemm a(%1 : tensor<64x4096xbf16>) b(%w : tensor<8x4096xbf16>) outs(%2 : tensor<64x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<64x8xf32>
  return %3 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @convolution(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @convolution(%x: tensor<1x64x32xbf16>, %w: tensor<3x4x32xbf16>) -> tensor<64x4xf32> {
  %0 = kernel.empty affine_map<() -> (1, 64, 32)> : tensor<1x64x32xbf16>
  %1 = kernel.map ins(%x : tensor<1x64x32xbf16>) outs(%0 : tensor<1x64x32xbf16>) attributes {domain = 1 : i64, indexing_maps = [affine_map<(b, r, c) -> (b, r, c)>, affine_map<(b, r, c) -> (b, r, c)>]} {
  ^bb0(%a: bf16):
    kernel.yield %a : bf16
  } -> tensor<1x64x32xbf16>
  %2 = kernel.empty affine_map<() -> (64, 4)> : tensor<64x4xf32>
  // expected-remark@+1 {{it is no plain product}}
  %3 = kernel.gemm a(%1 : tensor<1x64x32xbf16>) b(%w : tensor<3x4x32xbf16>) outs(%2 : tensor<64x4xf32>) attributes {dilation = 1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<64x4xf32>
  return %3 : tensor<64x4xf32>
}

// CHECK-LABEL: func.func @readsWhatIsMadeLater(
// CHECK-NOT: kernel.cascade
// CHECK: return
func.func @readsWhatIsMadeLater(%x: tensor<64x32xbf16>, %w: tensor<4x32xbf16>, %b: tensor<4xf32>) -> tensor<64x4xf32> {
  %0 = kernel.empty affine_map<() -> (64, 32)> : tensor<64x32xbf16>
  %1 = kernel.map ins(%x : tensor<64x32xbf16>) outs(%0 : tensor<64x32xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    kernel.yield %a : bf16
  } -> tensor<64x32xbf16>
  %4 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %5 = kernel.map ins(%b : tensor<4xf32>) outs(%4 : tensor<4xf32>) attributes {domain = 1 : i64, indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>]} {
  ^bb0(%a: f32):
    %6 = arith.negf %a : f32
    kernel.yield %6 : f32
  } -> tensor<4xf32>
  %2 = kernel.empty affine_map<() -> (64, 4)> : tensor<64x4xf32>
  // expected-remark@+1 {{the product reads what is made later}}
  %3 = kernel.gemm a(%1 : tensor<64x32xbf16>) b(%w : tensor<4x32xbf16>) extras(%5 : tensor<4xf32>) outs(%2 : tensor<64x4xf32>) attributes {indexing_maps = [#column, #rn]} {
  ^bb0(%acc: f32, %e: f32):
    %6 = arith.addf %acc, %e : f32
    kernel.yield %6 : f32
  } -> tensor<64x4xf32>
  return %3 : tensor<64x4xf32>
}
