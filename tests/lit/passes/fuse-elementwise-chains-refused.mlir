// RUN: epifold-opt %s --epifold-fuse-elementwise-chains | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-elementwise-chains %{verify-remarks}

// Launches that stay apart, each function named by the cause.

#id = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#turned = affine_map<(r, c) -> (c, r)>

// CHECK-LABEL: func.func @valueIsNeededElsewhere(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @valueIsNeededElsewhere(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the producer's value is needed elsewhere}}
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %sum = arith.addf %a, %a : f32
    kernel.yield %sum : f32
  } -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @producerHasTwoValues(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @producerHasTwoValues(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %2:2 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0, %1 : tensor<4x8xf32>, tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %a, %n : f32, f32
  } -> tensor<4x8xf32>, tensor<4x8xf32>
  %3 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the producer's value is needed elsewhere}}
  %4 = kernel.map ins(%2#1 : tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %sum = arith.addf %a, %a : f32
    kernel.yield %sum : f32
  } -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @producerWritesAPartOfItsBuffer(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @producerWritesAPartOfItsBuffer(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = kernel.empty affine_map<() -> (4, 16)> : tensor<4x16xf32>
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x16xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, c + 3)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x16xf32>
  %2 = kernel.empty affine_map<() -> (4, 16)> : tensor<4x16xf32>
  // expected-remark@+1 {{the producer writes a part of its buffer}}
  %3 = kernel.map ins(%1 : tensor<4x16xf32>) outs(%2 : tensor<4x16xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @othersWriteTheProducersBuffer(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @othersWriteTheProducersBuffer(%x: tensor<4x8xf32>, %written: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.map ins(%x : tensor<4x8xf32>) outs(%written : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x8xf32>
  %1 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the producer writes a part of a buffer that others write}}
  %2 = kernel.map ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// The first launch leaves the rows of the other experts unwritten, the second one reads them.
// CHECK-LABEL: func.func @producerCoversOneExpert(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @producerCoversOneExpert(%x: tensor<?x8xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.map ins(%x : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {domain = 1 : i64, group = 0 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the producer covers other rows}}
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %sum = arith.addf %a, %a : f32
    kernel.yield %sum : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @producerHasOtherOffsets(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @producerHasOtherOffsets(%x: tensor<?x8xf32>, %offsets: tensor<4xi64>, %others: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.map ins(%x : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the producer covers other rows}}
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) offsets(%others : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %sum = arith.addf %a, %a : f32
    kernel.yield %sum : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @broadcastTranscendental(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @broadcastTranscendental(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  %1 = kernel.map ins(%b : tensor<8xf32>) outs(%0 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>]} {
  ^bb0(%a: f32):
    %e = kernel.math exp f32 %a : f32
    kernel.yield %e : f32
  } -> tensor<8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the producer's value is broadcast and costly to repeat}}
  %3 = kernel.map ins(%x, %1 : tensor<4x8xf32>, tensor<8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #column, #id]} {
  ^bb0(%a: f32, %c: f32):
    %sum = arith.addf %a, %c : f32
    kernel.yield %sum : f32
  } -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @broadcastDivision(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @broadcastDivision(%x: tensor<4x8xf32>, %p: tensor<4x1xf32>, %q: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 1)> : tensor<4x1xf32>
  %1 = kernel.map ins(%p, %q : tensor<4x1xf32>, tensor<4x1xf32>) outs(%0 : tensor<4x1xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.divf %a, %b : f32
    kernel.yield %d : f32
  } -> tensor<4x1xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the producer's value is broadcast and costly to repeat}}
  %3 = kernel.map ins(%x, %1 : tensor<4x8xf32>, tensor<4x1xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, 0)>, #id]} {
  ^bb0(%a: f32, %c: f32):
    %m = arith.mulf %a, %c : f32
    kernel.yield %m : f32
  } -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// Either place alone is a permutation, so each would repeat nothing.
// CHECK-LABEL: func.func @costlyValueIsReadAtTwoPlaces(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @costlyValueIsReadAtTwoPlaces(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.empty affine_map<() -> (4, 4)> : tensor<4x4xf32>
  %1 = kernel.map ins(%x : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %e = kernel.math exp f32 %a : f32
    kernel.yield %e : f32
  } -> tensor<4x4xf32>
  %2 = kernel.empty affine_map<() -> (4, 4)> : tensor<4x4xf32>
  // expected-remark@+1 {{the producer's value is read at two places}}
  %3 = kernel.map ins(%1, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%2 : tensor<4x4xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #turned, #id]} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    kernel.yield %d : f32
  } -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// The producer takes the first columns of a wider tensor, which is indexed as the
// launch's domain but is not as large.
// CHECK-LABEL: func.func @noOperandHasTheDomain(
// CHECK-COUNT-2: kernel.map
// CHECK-NOT: kernel.map
func.func @noOperandHasTheDomain(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = kernel.empty affine_map<() -> (4, 5)> : tensor<4x5xf32>
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x5xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x5xf32>
  %2 = kernel.empty affine_map<() -> (4, 16)> : tensor<4x16xf32>
  // expected-remark@+1 {{no operand of the producer has the launch's domain}}
  %3 = kernel.map ins(%1 : tensor<4x5xf32>) outs(%2 : tensor<4x16xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, c + 3)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// Neither launch has the dimensions of the other that it reads along.
// CHECK-LABEL: func.func @readInAnotherShape(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @readInAnotherShape(%x: tensor<2x4x8xf32>, %scale: tensor<2xf32>, %bias: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4, 8)> : tensor<2x4x8xf32>
  %1 = kernel.map ins(%x, %scale : tensor<2x4x8xf32>, tensor<2xf32>) outs(%0 : tensor<2x4x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b)>, affine_map<(b, t, c) -> (b, t, c)>]} {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %s : f32
    kernel.yield %p : f32
  } -> tensor<2x4x8xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (8, 8)> : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %3 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{the producer's value is read in another shape}}
  %4 = kernel.map ins(%2, %bias : tensor<8x8xf32>, tensor<8xf32>) outs(%3 : tensor<8x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>]} {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    kernel.yield %sum : f32
  } -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
