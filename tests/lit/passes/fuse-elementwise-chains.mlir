// RUN: epifold-opt %s --epifold-fuse-elementwise-chains | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-elementwise-chains %{verify-remarks}

// Elementwise launches that become one: one function for each shape of chain.

#id = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#turned = affine_map<(r, c) -> (c, r)>
#expert = affine_map<(r, c)[e] -> (e, c)>

// CHECK-DAG: #[[ID:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[TURNED:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[EXPERT:[a-z0-9]+]] = affine_map<(d0, d1)[s0] -> (s0, d1)>

// The value between the two keeps its type: it is rounded to bf16 and widened again.
// CHECK-LABEL: func.func @chainOfTwo(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xbf16>
// CHECK-NOT: kernel.map
// CHECK: %[[Y:.*]] = kernel.map ins(%[[X]] : tensor<?x8xbf16>) outs(%{{.*}} : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#[[ID]], #[[ID]]]}
// CHECK-NEXT: ^bb0(%[[A:.*]]: bf16):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT: %[[E:.*]] = kernel.math exp f32 %[[WIDE]] : f32
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[E]] : f32 to bf16
// CHECK-NEXT: %[[AGAIN:.*]] = arith.extf %[[ROUNDED]] : bf16 to f32
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[AGAIN]] : f32
// CHECK-NEXT: kernel.yield %[[N]] : f32
// CHECK-NOT: kernel.map
// CHECK: return %[[Y]]
func.func @chainOfTwo(%x: tensor<?x8xbf16>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xbf16>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x : tensor<?x8xbf16>) outs(%0 : tensor<?x8xbf16>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %wide = arith.extf %a : bf16 to f32
    %e = kernel.math exp f32 %wide : f32
    %rounded = arith.truncf %e : f32 to bf16
    kernel.yield %rounded : bf16
  } -> tensor<?x8xbf16>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %3 = kernel.map ins(%1 : tensor<?x8xbf16>) outs(%2 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %wide = arith.extf %a : bf16 to f32
    %n = arith.negf %wide : f32
    kernel.yield %n : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// Three launches become one, and an operand that two of them read at one place comes once.
// CHECK-LABEL: func.func @sharedOperand(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[Y:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-COUNT-1: kernel.map ins(%[[X]], %[[Y]] : tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[SUM]] : f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[N]], %[[A]] : f32
// CHECK-NEXT: kernel.yield %[[P]] : f32
// CHECK-NOT: kernel.map
// CHECK: return
func.func @sharedOperand(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    kernel.yield %sum : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%3, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    kernel.yield %p : f32
  } -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// A cheap value may be computed again for each row that reads it.
// CHECK-LABEL: func.func @broadcastCheapProducer(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[B:[a-z0-9]+]]: tensor<8xbf16>
// CHECK-COUNT-1: kernel.map ins(%[[X]], %[[B]] : tensor<?x8xf32>, tensor<8xbf16>) {{.*}} indexing_maps = [#[[ID]], #[[COLUMN]], #[[ID]]]
// CHECK-NOT: kernel.map
// CHECK: return
func.func @broadcastCheapProducer(%x: tensor<?x8xf32>, %b: tensor<8xbf16>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%b : tensor<8xbf16>) outs(%0 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>]} {
  ^bb0(%a: bf16):
    %wide = arith.extf %a : bf16 to f32
    kernel.yield %wide : f32
  } -> tensor<8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %3 = kernel.map ins(%x, %1 : tensor<?x8xf32>, tensor<8xf32>) outs(%2 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #column, #id]} {
  ^bb0(%a: f32, %c: f32):
    %sum = arith.addf %a, %c : f32
    kernel.yield %sum : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// A permutation reads each element once: cost does not matter.
// CHECK-LABEL: func.func @permutedCostlyProducer(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-COUNT-1: kernel.map ins(%[[X]] : tensor<4x8xf32>) outs(%{{.*}} : tensor<8x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#[[TURNED]], #[[ID]]]}
// CHECK: kernel.math exp
// CHECK: arith.negf
// CHECK-NOT: kernel.map
// CHECK: return
func.func @permutedCostlyProducer(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %e = kernel.math exp f32 %a : f32
    kernel.yield %e : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 4)> : tensor<8x4xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<8x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#turned, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// A cheap value read at two places is computed at both.
// CHECK-LABEL: func.func @cheapProducerAtTwoPlaces(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-COUNT-1: kernel.map ins(%[[X]], %[[X]] : tensor<4x4xf32>, tensor<4x4xf32>) {{.*}} indexing_maps = [#[[ID]], #[[TURNED]], #[[ID]]]
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-DAG: %[[NA:.*]] = arith.negf %[[A]] : f32
// CHECK-DAG: %[[NB:.*]] = arith.negf %[[B]] : f32
// CHECK: arith.subf %[[NA]], %[[NB]] : f32
// CHECK-NOT: kernel.map
// CHECK: return
func.func @cheapProducerAtTwoPlaces(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.empty affine_map<() -> (4, 4)> : tensor<4x4xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x4xf32>
  %2 = kernel.empty affine_map<() -> (4, 4)> : tensor<4x4xf32>
  %3 = kernel.map ins(%1, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%2 : tensor<4x4xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #turned, #id]} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    kernel.yield %d : f32
  } -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// Both launches run over the rows of all experts, each with a bias of the row's expert.
// CHECK-LABEL: func.func @raggedRows(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[B:[a-z0-9]+]]: tensor<3x8xf32>, %[[C:[a-z0-9]+]]: tensor<3x8xf32>, %[[OFFSETS:[a-z0-9]+]]: tensor<4xi64>
// CHECK-COUNT-1: kernel.map ins(%[[X]], %[[B]], %[[C]] : {{.*}}) offsets(%[[OFFSETS]] : tensor<4xi64>) {{.*}} attributes {domain = 3 : i64, indexing_maps = [#[[ID]], #[[EXPERT]], #[[EXPERT]], #[[ID]]]}
// CHECK-NOT: kernel.map
// CHECK: return
func.func @raggedRows(%x: tensor<?x8xf32>, %b: tensor<3x8xf32>, %c: tensor<3x8xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x, %b : tensor<?x8xf32>, tensor<3x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #expert, #id]} {
  ^bb0(%a: f32, %z: f32):
    %sum = arith.addf %a, %z : f32
    kernel.yield %sum : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %3 = kernel.map ins(%1, %c : tensor<?x8xf32>, tensor<3x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #expert, #id]} {
  ^bb0(%a: f32, %z: f32):
    %p = arith.mulf %a, %z : f32
    kernel.yield %p : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// A launch over all rows of the buffer feeds one over the rows of expert 1: those are computed there.
// CHECK-LABEL: func.func @allRowsIntoThoseOfOneExpert(
// CHECK-COUNT-1: kernel.map {{.*}} offsets(%{{.*}} : tensor<4xi64>) {{.*}} group = 1 : i64
// CHECK: arith.negf
// CHECK: arith.addf
// CHECK-NOT: kernel.map
// CHECK: return
func.func @allRowsIntoThoseOfOneExpert(%x: tensor<?x8xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x : tensor<?x8xf32>) outs(%0 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {domain = 1 : i64, group = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %sum = arith.addf %a, %a : f32
    kernel.yield %sum : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// The consumer's domain is what the producer made: it becomes the producer's operand, which has the same place.
// CHECK-LABEL: func.func @domainIsTheProducer(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[O:[a-z0-9]+]]: tensor<4x16xf32>
// CHECK-COUNT-1: kernel.map ins(%[[X]] : tensor<4x8xf32>) outs(%[[O]] : tensor<4x16xf32>) attributes {domain = 0 : i64
// CHECK-NOT: kernel.map
// CHECK: return
func.func @domainIsTheProducer(%x: tensor<4x8xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %2 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%o : tensor<4x16xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, c + 3)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// A producer that is read in another shape takes that shape, where all that it reads has the dimensions.
// CHECK-LABEL: func.func @acrossUnitDimensions(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4x1x8xbf16>, %[[SCALE:[a-z0-9]+]]: tensor<1x8xf32>, %[[R:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: %[[FLAT:.*]] = kernel.view %[[X]] at #{{.*}} as #{{.*}} : tensor<1x4x1x8xbf16> -> tensor<4x8xbf16>
// CHECK: %[[Y:.*]] = kernel.map ins(%[[FLAT]], %[[SCALE]], %[[R]] : tensor<4x8xbf16>, tensor<1x8xf32>, tensor<4x8xf32>)
// CHECK-NOT: kernel.map
// CHECK: return %[[Y]]
func.func @acrossUnitDimensions(%x: tensor<1x4x1x8xbf16>, %scale: tensor<1x8xf32>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (1, 4, 1, 8)> : tensor<1x4x1x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x, %scale : tensor<1x4x1x8xbf16>, tensor<1x8xf32>) outs(%0 : tensor<1x4x1x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [affine_map<(b, t, g, c) -> (b, t, g, c)>, affine_map<(b, t, g, c) -> (g, c)>, affine_map<(b, t, g, c) -> (b, t, g, c)>]} {
  ^bb0(%a: bf16, %s: f32):
    %wide = arith.extf %a : bf16 to f32
    %p = arith.mulf %wide, %s : f32
    kernel.yield %p : f32
  } -> tensor<1x4x1x8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (4, 8)> : tensor<1x4x1x8xf32> -> tensor<4x8xf32>
  %3 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %4 = kernel.map ins(%2, %r : tensor<4x8xf32>, tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    kernel.yield %sum : f32
  } -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// One that reads along a dimension which the other shape does not have stays, and the launch takes its shape.
// CHECK-LABEL: func.func @acrossSamples(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x8xf32>, %[[SCALE:[a-z0-9]+]]: tensor<2xf32>, %[[R:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK: %[[CUT:.*]] = kernel.view %[[R]] at #{{.*}} as #{{.*}} : tensor<8x8xf32> -> tensor<2x4x8xf32>
// CHECK: %[[Y:.*]] = kernel.map ins(%[[X]], %[[SCALE]], %[[CUT]] : tensor<2x4x8xf32>, tensor<2xf32>, tensor<2x4x8xf32>)
// CHECK-NOT: kernel.map
// CHECK: %[[FLAT:.*]] = kernel.view %[[Y]]
// CHECK: return %[[FLAT]]
func.func @acrossSamples(%x: tensor<2x4x8xf32>, %scale: tensor<2xf32>, %r: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4, 8)> : tensor<2x4x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%x, %scale : tensor<2x4x8xf32>, tensor<2xf32>) outs(%0 : tensor<2x4x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b)>, affine_map<(b, t, c) -> (b, t, c)>]} {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %s : f32
    kernel.yield %p : f32
  } -> tensor<2x4x8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (8, 8)> : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %3 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %4 = kernel.map ins(%2, %r : tensor<8x8xf32>, tensor<8x8xf32>) outs(%3 : tensor<8x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    kernel.yield %sum : f32
  } -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
