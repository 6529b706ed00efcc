// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue %{verify-remarks}

// Elementwise launches that move into the epilogues of products: one function for each kind of product and of glue.

#id = affine_map<(r, n) -> (r, n)>
#column = affine_map<(r, n) -> (n)>
#id3 = affine_map<(g, r, n) -> (g, r, n)>
#rn = affine_map<(g, r, n) -> (r, n)>

// CHECK-DAG: #[[RN:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[N:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #[[GN:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[GRN:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[G0N:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
// CHECK-DAG: #[[R0:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK-DAG: #[[MOVED:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d1 + 5, d2)>

// Bias, activation, residual: a launch each, taken one by one. The product's value is rounded to bf16 as before.
// CHECK-LABEL: func.func @denseBiasActivationResidual(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x16xbf16>, %[[B:[a-z0-9]+]]: tensor<8x16xbf16>, %[[BIAS:[a-z0-9]+]]: tensor<8xf32>, %[[X:[a-z0-9]+]]: tensor<?x8xbf16>
// CHECK-COUNT-1: kernel.gemm a(%[[A]] : {{.*}}) b(%[[B]] : {{.*}}) extras(%[[BIAS]], %[[X]] : tensor<8xf32>, tensor<?x8xbf16>) outs(%{{.*}} : tensor<?x8xf32>) attributes {indexing_maps = [#[[N]], #[[RN]], #[[RN]]]}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[C:.*]]: f32, %[[R:.*]]: bf16):
// CHECK-NEXT: %[[P:.*]] = arith.truncf %[[ACC]] : f32 to bf16
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[P]] : bf16 to f32
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[W]], %[[C]] : f32
// CHECK-NEXT: %[[T:.*]] = kernel.math silu f32 %[[S]] : f32
// CHECK-NEXT: %[[WR:.*]] = arith.extf %[[R]] : bf16 to f32
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[T]], %[[WR]] : f32
// CHECK-NEXT: kernel.yield %[[Y]] : f32
// CHECK-NOT: kernel.map
// CHECK: return
func.func @denseBiasActivationResidual(%a: tensor<?x16xbf16>, %b: tensor<8x16xbf16>, %bias: tensor<8xf32>, %x: tensor<?x8xbf16>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xbf16>
  %1 = kernel.gemm a(%a : tensor<?x16xbf16>) b(%b : tensor<8x16xbf16>) outs(%0 : tensor<?x8xbf16>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %p = arith.truncf %acc : f32 to bf16
    kernel.yield %p : bf16
  } -> tensor<?x8xbf16>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.map ins(%1, %bias : tensor<?x8xbf16>, tensor<8xf32>) outs(%2 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #column, #id]} {
  ^bb0(%p: bf16, %c: f32):
    %w = arith.extf %p : bf16 to f32
    %s = arith.addf %w, %c : f32
    kernel.yield %s : f32
  } -> tensor<?x8xf32>
  %4 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %5 = kernel.map ins(%3 : tensor<?x8xf32>) outs(%4 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%s: f32):
    %t = kernel.math silu f32 %s : f32
    kernel.yield %t : f32
  } -> tensor<?x8xf32>
  %6 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %7 = kernel.map ins(%5, %x : tensor<?x8xf32>, tensor<?x8xbf16>) outs(%6 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%t: f32, %r: bf16):
    %w = arith.extf %r : bf16 to f32
    %y = arith.addf %t, %w : f32
    kernel.yield %y : f32
  } -> tensor<?x8xf32>
  return %7 : tensor<?x8xf32>
}

// A product may leave at a place of a greater buffer: the launch that joined it there is gone.
// CHECK-LABEL: func.func @denseIntoAGreaterBuffer(
// CHECK-SAME: %[[O:[a-z0-9]+]]: tensor<10x8xf32>
// CHECK: kernel.gemm {{.*}} outs(%[[O]] : tensor<10x8xf32>) attributes {indexing_maps = [#[[MOVED]]]}
// CHECK-NOT: kernel.map
// CHECK: return
func.func @denseIntoAGreaterBuffer(%a: tensor<5x16xf32>, %b: tensor<8x16xf32>, %o: tensor<10x8xf32>) -> tensor<10x8xf32> {
  %0 = kernel.empty affine_map<() -> (5, 8)> : tensor<5x8xf32>
  %1 = kernel.gemm a(%a : tensor<5x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<5x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<5x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %2 = kernel.map ins(%1 : tensor<5x8xf32>) outs(%o : tensor<10x8xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, n) -> (r + 5, n)>]} {
  ^bb0(%p: f32):
    kernel.yield %p : f32
  } -> tensor<10x8xf32>
  return %2 : tensor<10x8xf32>
}

// Every group with a bias of its own.
// CHECK-LABEL: func.func @batchedBias(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<3x?x16xf32>, %[[B:[a-z0-9]+]]: tensor<3x8x16xf32>, %[[BIAS:[a-z0-9]+]]: tensor<3x1x8xf32>
// CHECK: kernel.gemm {{.*}} extras(%[[BIAS]] : tensor<3x1x8xf32>) outs(%{{.*}} : tensor<3x?x8xf32>) attributes {indexing_maps = [#[[G0N]], #[[GRN]]]}
// CHECK: arith.addf
// CHECK-NOT: kernel.map
// CHECK: return
func.func @batchedBias(%a: tensor<3x?x16xf32>, %b: tensor<3x8x16xf32>, %bias: tensor<3x1x8xf32>) -> tensor<3x?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (3, s0, 8)> : tensor<3x?x8xf32>
  %1 = kernel.gemm a(%a : tensor<3x?x16xf32>) b(%b : tensor<3x8x16xf32>) outs(%0 : tensor<3x?x8xf32>) attributes {indexing_maps = [#id3]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<3x?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (3, s0, 8)> : tensor<3x?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.map ins(%1, %bias : tensor<3x?x8xf32>, tensor<3x1x8xf32>) outs(%2 : tensor<3x?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id3, affine_map<(g, r, n) -> (g, 0, n)>, #id3]} {
  ^bb0(%p: f32, %c: f32):
    %s = arith.addf %p, %c : f32
    kernel.yield %s : f32
  } -> tensor<3x?x8xf32>
  return %3 : tensor<3x?x8xf32>
}

// CHECK-LABEL: func.func @convolutionActivationCast(
// CHECK: kernel.gemm a(%{{.*}} : tensor<2x?x16xbf16>) b(%{{.*}} : tensor<3x8x16xbf16>) outs(%{{.*}} : tensor<?x8xbf16>) attributes {dilation = 2 : i64, indexing_maps = [#[[RN]]]}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = kernel.math gelu_erf bf16 %[[ACC]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[T]] : f32 to bf16
// CHECK-NEXT: kernel.yield %[[Y]] : bf16
// CHECK-NOT: kernel.map
// CHECK: return
func.func @convolutionActivationCast(%a: tensor<2x?x16xbf16>, %b: tensor<3x8x16xbf16>) -> tensor<?x8xbf16> {
  %0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<2x?x16xbf16>) b(%b : tensor<3x8x16xbf16>) outs(%0 : tensor<?x8xf32>) attributes {dilation = 2 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0 * 2, 8)> : tensor<?x8xbf16>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) outs(%2 : tensor<?x8xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %t = kernel.math gelu_erf bf16 %p : f32
    %y = arith.truncf %t : f32 to bf16
    kernel.yield %y : bf16
  } -> tensor<?x8xbf16>
  return %3 : tensor<?x8xbf16>
}

// The symbol of the launch, a row's expert, is the group of the product; a routing weight is one value a row.
// CHECK-LABEL: func.func @raggedBiasAndRoutingWeight(
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<3x8xf32>, %[[S:[a-z0-9]+]]: tensor<?x1xf32>, %[[OFFSETS:[a-z0-9]+]]: tensor<4xi64>
// CHECK: kernel.gemm {{.*}} offsets(%[[OFFSETS]] : tensor<4xi64>) extras(%[[BIAS]], %[[S]] : tensor<3x8xf32>, tensor<?x1xf32>) outs(%{{.*}} : tensor<?x8xf32>) attributes {indexing_maps = [#[[GN]], #[[R0]], #[[RN]]]}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[C:.*]]: f32, %[[W:.*]]: f32):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[ACC]], %[[C]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[SUM]], %[[W]] : f32
// CHECK-NEXT: kernel.yield %[[Y]] : f32
// CHECK-NOT: kernel.map
// CHECK: return
func.func @raggedBiasAndRoutingWeight(%a: tensor<?x16xf32>, %b: tensor<3x8x16xf32>, %bias: tensor<3x8xf32>, %s: tensor<?x1xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.map ins(%1, %bias : tensor<?x8xf32>, tensor<3x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, n)[e] -> (e, n)>, #id]} {
  ^bb0(%p: f32, %c: f32):
    %sum = arith.addf %p, %c : f32
    kernel.yield %sum : f32
  } -> tensor<?x8xf32>
  %4 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %5 = kernel.map ins(%3, %s : tensor<?x8xf32>, tensor<?x1xf32>) offsets(%offsets : tensor<4xi64>) outs(%4 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, n) -> (r, 0)>, #id]} {
  ^bb0(%p: f32, %w: f32):
    %y = arith.mulf %p, %w : f32
    kernel.yield %y : f32
  } -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

// The rows of one expert stay the rows of that expert, and go on into the buffer that the other experts write.
// CHECK-LABEL: func.func @rowsOfOneExpert(
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: tensor<?x8xf32>
// CHECK: kernel.gemm {{.*}} offsets(%{{.*}} : tensor<4xi64>) outs(%[[SHARED]] : tensor<?x8xf32>) attributes {group = 2 : i64, indexing_maps = [#[[RN]]]}
// CHECK: kernel.math tanh
// CHECK-NOT: kernel.map
// CHECK: return
func.func @rowsOfOneExpert(%a: tensor<?x16xf32>, %b: tensor<8x16xf32>, %offsets: tensor<4xi64>, %shared: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xf32>) b(%b : tensor<8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {group = 2 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %2 = kernel.map ins(%1 : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%shared : tensor<?x8xf32>) attributes {domain = 1 : i64, group = 2 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %t = kernel.math tanh f32 %p : f32
    kernel.yield %t : f32
  } -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// Gate and up, each with an epilogue of its own and a bias that both read, become one product of two B's.
// CHECK-LABEL: func.func @gateAndUp(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x16xbf16>, %[[G:[a-z0-9]+]]: tensor<8x16xbf16>, %[[U:[a-z0-9]+]]: tensor<8x16xbf16>, %[[BIAS:[a-z0-9]+]]: tensor<8xf32>
// CHECK-COUNT-1: kernel.gemm a(%[[A]] : {{.*}}) b(%[[G]], %[[U]] : tensor<8x16xbf16>, tensor<8x16xbf16>) extras(%[[BIAS]] : tensor<8xf32>) outs(%{{.*}} : tensor<?x8xbf16>) attributes {indexing_maps = [#[[N]], #[[RN]]]}
// CHECK-NEXT: ^bb0(%[[ACC0:.*]]: f32, %[[ACC1:.*]]: f32, %[[C:.*]]: f32):
// CHECK-NEXT: %[[S0:.*]] = arith.addf %[[ACC0]], %[[C]] : f32
// CHECK-NEXT: %[[S1:.*]] = arith.subf %[[ACC1]], %[[C]] : f32
// CHECK-NEXT: %[[T:.*]] = kernel.math silu bf16 %[[S0]] : f32
// CHECK-NEXT: %[[H:.*]] = arith.mulf %[[T]], %[[S1]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[H]] : f32 to bf16
// CHECK-NEXT: kernel.yield %[[Y]] : bf16
// CHECK-NOT: kernel.gemm
// CHECK-NOT: kernel.map
// CHECK: return
func.func @gateAndUp(%a: tensor<?x16xbf16>, %gate: tensor<8x16xbf16>, %up: tensor<8x16xbf16>, %bias: tensor<8xf32>) -> tensor<?x8xbf16> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xbf16>) b(%gate : tensor<8x16xbf16>) extras(%bias : tensor<8xf32>) outs(%0 : tensor<?x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (n)>, #rn]} {
  ^bb0(%acc: f32, %c: f32):
    %s = arith.addf %acc, %c : f32
    kernel.yield %s : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.gemm a(%a : tensor<?x16xbf16>) b(%up : tensor<8x16xbf16>) extras(%bias : tensor<8xf32>) outs(%2 : tensor<?x8xf32>) attributes {indexing_maps = [affine_map<(g, r, n) -> (n)>, #rn]} {
  ^bb0(%acc: f32, %c: f32):
    %s = arith.subf %acc, %c : f32
    kernel.yield %s : f32
  } -> tensor<?x8xf32>
  %4 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xbf16>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %5 = kernel.map ins(%1, %3 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%4 : tensor<?x8xbf16>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%g: f32, %u: f32):
    %t = kernel.math silu bf16 %g : f32
    %h = arith.mulf %t, %u : f32
    %y = arith.truncf %h : f32 to bf16
    kernel.yield %y : bf16
  } -> tensor<?x8xbf16>
  return %5 : tensor<?x8xbf16>
}

// Gate and up are the halves of one weight of each expert: B comes twice, with the row that each half begins at.
// CHECK-LABEL: func.func @gateAndUpOfOneWeight(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x16xf32>, %[[B:[a-z0-9]+]]: tensor<3x16x16xf32>
// CHECK-COUNT-1: kernel.gemm a(%[[A]] : {{.*}}) b(%[[B]], %[[B]] : {{.*}}) offsets(%{{.*}} : tensor<4xi64>) outs(%{{.*}} : tensor<?x8xf32>) attributes {b_begins = array<i64: 0, 8>, columns = 8 : i64, indexing_maps = [#[[RN]]]}
// CHECK-NEXT: ^bb0(%[[ACC0:.*]]: f32, %[[ACC1:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[ACC0]], %[[ACC1]] : f32
// CHECK-NOT: kernel.gemm
// CHECK-NOT: kernel.map
// CHECK: return
func.func @gateAndUpOfOneWeight(%a: tensor<?x16xf32>, %b: tensor<3x16x16xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xf32>) b(%b : tensor<3x16x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>)
    attributes {b_begins = array<i64: 0>, columns = 8 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.gemm a(%a : tensor<?x16xf32>) b(%b : tensor<3x16x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>)
    attributes {b_begins = array<i64: 8>, columns = 8 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %4 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %5 = kernel.map ins(%1, %3 : tensor<?x8xf32>, tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%4 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%g: f32, %u: f32):
    %h = arith.mulf %g, %u : f32
    kernel.yield %h : f32
  } -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

// A gathered product keeps its gather.
// CHECK-LABEL: func.func @groupedGatheredCast(
// CHECK: kernel.gemm {{.*}} gather(%{{.*}} : tensor<?xi32>) offsets(%{{.*}} : tensor<4xi64>) outs(%{{.*}} : tensor<?x8xf16>) attributes {gather_divisor = 2 : i64, indexing_maps = [#[[RN]]]}
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK-NOT: kernel.map
// CHECK: return
func.func @groupedGatheredCast(%a: tensor<?x16xf16>, %b: tensor<3x8x16xf16>, %slots: tensor<?xi32>, %offsets: tensor<4xi64>) -> tensor<?x8xf16> {
  %0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xf16>) b(%b : tensor<3x8x16xf16>) gather(%slots : tensor<?xi32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>)
    attributes {gather_divisor = 2 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0 * 2, 8)> : tensor<?x8xf16>
  // expected-remark@+1 {{is computed in kernel.gemm}}
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %y = arith.truncf %p : f32 to f16
    kernel.yield %y : f16
  } -> tensor<?x8xf16>
  return %3 : tensor<?x8xf16>
}
