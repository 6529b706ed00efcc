// RUN: epifold-opt %s --epifold-fuse-elementwise-chains | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-elementwise-chains %{verify-remarks}

// Chains whose operands leave no simple place for the fused launch.

#id = affine_map<(r, c) -> (r, c)>

// The consumer writes where the producer wrote, so the producer's buffer is not its own to drop.
// CHECK-LABEL: func.func @consumerWritesTheProducersBuffer(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @consumerWritesTheProducersBuffer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  // expected-remark@+1 {{the launch writes into the producer's value}}
  %2 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    kernel.yield %s : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// The domain is the producer's result, and its first operand is broadcast: the domain becomes the one that is not.
// CHECK-LABEL: func.func @domainIsMadeOfABroadcastOperandFirst(
// CHECK-COUNT-1: kernel.map ins(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<4x8xf32>) outs(%{{.*}} : tensor<4x16xf32>) attributes {domain = 1 : i64
// CHECK-NOT: kernel.map
// CHECK: return
func.func @domainIsMadeOfABroadcastOperandFirst(%b: tensor<8xf32>, %x: tensor<4x8xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{is computed in kernel.map}}
  %1 = kernel.map ins(%b, %x : tensor<8xf32>, tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [affine_map<(r, c) -> (c)>, #id, #id]} {
  ^bb0(%c: f32, %a: f32):
    %s = arith.addf %c, %a : f32
    kernel.yield %s : f32
  } -> tensor<4x8xf32>
  %2 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%o : tensor<4x16xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, c + 3)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// The domain is the producer's result, and no operand of the producer has its shape.
// CHECK-LABEL: func.func @domainIsMadeOfBroadcastOperands(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @domainIsMadeOfBroadcastOperands(%b: tensor<8xf32>, %x: tensor<4x1xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.map ins(%b, %x : tensor<8xf32>, tensor<4x1xf32>) outs(%0 : tensor<4x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, 0)>, #id]} {
  ^bb0(%c: f32, %a: f32):
    %s = arith.addf %c, %a : f32
    kernel.yield %s : f32
  } -> tensor<4x8xf32>
  // expected-remark@+1 {{no operand of the producer has the launch's domain}}
  %2 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%o : tensor<4x16xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, c + 3)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// A producer without operands cannot give the consumer its domain.
// CHECK-LABEL: func.func @domainIsAFill(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @domainIsAFill(%o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.map outs(%0 : tensor<4x8xf32>) attributes {domain = 0 : i64, indexing_maps = [#id]} {
    %one = arith.constant 1.0 : f32
    kernel.yield %one : f32
  } -> tensor<4x8xf32>
  // expected-remark@+1 {{no operand of the producer has the launch's domain}}
  %2 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%o : tensor<4x16xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, affine_map<(r, c) -> (r, c + 3)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// Row 0's bias is that of row 0's expert, not of the expert of the row that reads it.
// CHECK-LABEL: func.func @consumerReadsTheRowOfAnotherExpert(
// CHECK-COUNT-2: kernel.map
// CHECK: return
func.func @consumerReadsTheRowOfAnotherExpert(%x: tensor<?x8xf32>, %b: tensor<3x8xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.map ins(%x, %b : tensor<?x8xf32>, tensor<3x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, c)[e] -> (e, c)>, #id]} {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    kernel.yield %s : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the producer's rows are read at other rows}}
  %3 = kernel.map ins(%x, %1 : tensor<?x8xf32>, tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, c) -> (0, c)>, #id]} {
  ^bb0(%a: f32, %c: f32):
    %s = arith.mulf %a, %c : f32
    kernel.yield %s : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}
