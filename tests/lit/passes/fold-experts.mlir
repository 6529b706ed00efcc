// RUN: epifold-opt %s --epifold-fold-experts | FileCheck %s
// RUN: epifold-opt %s --epifold-fold-experts %{verify-remarks}

// What folds: one function for each kind of branch, of shared value and of end.

// CHECK-LABEL: func.func @convolutions(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<3x8x8x3xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.expert_causal_conv1d %[[X]], %[[W]] {dilation = 2 : i64} : (tensor<?x8xf32>, tensor<3x8x8x3xf32>) -> tensor<3x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @convolutions(%x: tensor<?x8xf32>, %w: tensor<3x8x8x3xf32>) -> tensor<3x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<3x8x8x3xf32> -> tensor<8x8x3xf32>
  // expected-remark@+1 {{of 3 experts becomes one op}}
  %y0 = graph.causal_conv1d %x, %w0 {dilation = 2} : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<3x8x8x3xf32> -> tensor<8x8x3xf32>
  %y1 = graph.causal_conv1d %x, %w1 {dilation = 2} : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %w2 = graph.select %w {index = 2} : tensor<3x8x8x3xf32> -> tensor<8x8x3xf32>
  %y2 = graph.causal_conv1d %x, %w2 {dilation = 2} : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1, %y2 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<3x?x8xf32>
  return %y : tensor<3x?x8xf32>
}

// The order in which the branches are written does not matter.
// CHECK-LABEL: func.func @productsOfASharedInput(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xbf16>, %[[W:.*]]: tensor<2x8x4xbf16>
// CHECK-NEXT: %[[Y:.*]] = graph.expert_matmul %[[X]], %[[W]] : (tensor<?x4xbf16>, tensor<2x8x4xbf16>) -> tensor<2x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @productsOfASharedInput(%x: tensor<?x4xbf16>, %w: tensor<2x8x4xbf16>) -> tensor<2x?x8xf32> {
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// Batch and time become the rows of the product and are split again.
// CHECK-LABEL: func.func @productsOfABatch(
// CHECK-SAME: %[[X:.*]]: tensor<2x?x4xf32>, %[[W:.*]]: tensor<3x8x4xf32>
// CHECK: %[[ROWS:.*]] = graph.reshape %[[X]] : tensor<2x?x4xf32> -> tensor<?x4xf32>
// CHECK: %[[P:.*]] = graph.expert_matmul %[[ROWS]], %[[W]] : (tensor<?x4xf32>, tensor<3x8x4xf32>) -> tensor<3x?x8xf32>
// CHECK: graph.reshape %[[P]] : tensor<3x?x8xf32> -> tensor<3x2x?x8xf32>
// CHECK-NOT: graph.matmul
func.func @productsOfABatch(%x: tensor<2x?x4xf32>, %w: tensor<3x8x4xf32>) -> tensor<3x2x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 3 experts becomes one op}}
  %y0 = graph.matmul %x, %w0 : (tensor<2x?x4xf32>, tensor<8x4xf32>) -> tensor<2x?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<2x?x4xf32>, tensor<8x4xf32>) -> tensor<2x?x8xf32>
  %w2 = graph.select %w {index = 2} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y2 = graph.matmul %x, %w2 : (tensor<2x?x4xf32>, tensor<8x4xf32>) -> tensor<2x?x8xf32>
  %y = graph.stack %y0, %y1, %y2 : (tensor<2x?x8xf32>, tensor<2x?x8xf32>, tensor<2x?x8xf32>) -> tensor<3x2x?x8xf32>
  return %y : tensor<3x2x?x8xf32>
}

// Two products in a row: the second one's input differs by expert. What lies between is folded with them.
// CHECK-LABEL: func.func @chains(
// CHECK-NEXT: %[[UP:.*]] = graph.expert_matmul %{{.*}} -> tensor<2x?x8xf32>
// CHECK-NEXT: %[[ACT:.*]] = graph.relu %[[UP]] : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.expert_matmul %[[ACT]], %{{.*}} : (tensor<2x?x8xf32>, tensor<2x4x8xf32>) -> tensor<2x?x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @chains(%x: tensor<?x4xf32>, %up: tensor<2x8x4xf32>, %down: tensor<2x4x8xf32>) -> tensor<2x?x4xf32> {
  %u0 = graph.select %up {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %h0 = graph.matmul %x, %u0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %a0 = graph.relu %h0 : tensor<?x8xf32> -> tensor<?x8xf32>
  %d0 = graph.select %down {index = 0} : tensor<2x4x8xf32> -> tensor<4x8xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.matmul %a0, %d0 : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %u1 = graph.select %up {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %h1 = graph.matmul %x, %u1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %a1 = graph.relu %h1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %d1 = graph.select %down {index = 1} : tensor<2x4x8xf32> -> tensor<4x8xf32>
  %y1 = graph.matmul %a1, %d1 : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<2x?x4xf32>
  return %y : tensor<2x?x4xf32>
}

// A bias of each expert gets a row dimension of size 1.
// CHECK-LABEL: func.func @biasOfEachExpert(
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<2x8xf32>)
// CHECK-DAG: %[[P:.*]] = graph.expert_matmul
// CHECK-DAG: %[[ROW:.*]] = graph.reshape %[[B]] : tensor<2x8xf32> -> tensor<2x1x8xf32>
// CHECK: graph.add %[[P]], %[[ROW]] : (tensor<2x?x8xf32>, tensor<2x1x8xf32>) -> tensor<2x?x8xf32>
func.func @biasOfEachExpert(%x: tensor<?x4xf32>, %w: tensor<2x8x4xf32>, %b: tensor<2x8xf32>) -> tensor<2x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %p0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %b0 = graph.select %b {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.add %p0, %b0 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %p1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %b1 = graph.select %b {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  %y1 = graph.add %p1, %b1 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// Gates are parts of the last dimension: they come first, as [experts, t, 1]. The f32 sum over all experts is one ascending sum.
// CHECK-LABEL: func.func @gatesAndSum(
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<?x2xf32>)
// CHECK: %[[T:.*]] = graph.transpose %[[G]] {permutation = array<i64: 1, 0>} : tensor<?x2xf32> -> tensor<2x?xf32>
// CHECK: %[[GATES:.*]] = graph.reshape %[[T]] : tensor<2x?xf32> -> tensor<2x?x1xf32>
// CHECK: %[[TERMS:.*]] = graph.mul %[[GATES]], %{{.*}} : (tensor<2x?x1xf32>, tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
// CHECK: %[[Y:.*]] = graph.reduce_sum %[[TERMS]] order ascending {dim = 0 : i64} : tensor<2x?x8xf32> -> tensor<?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @gatesAndSum(%x: tensor<?x4xf32>, %w: tensor<2x8x4xf32>, %g: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %p0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %g0 = graph.slice %g {dim = 1, end = 1} : tensor<?x2xf32> -> tensor<?x1xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %t0 = graph.mul %g0, %p0 : (tensor<?x1xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %p1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %g1 = graph.slice %g {dim = 1, begin = -1} : tensor<?x2xf32> -> tensor<?x1xf32>
  %t1 = graph.mul %g1, %p1 : (tensor<?x1xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{and the sums after it, over 2 experts, become one graph.reduce_sum}}
  %y = graph.add %t0, %t1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A sum of three: expert 0 first, and a step may name its operands in either order.
// CHECK-LABEL: func.func @sumOfThree(
// CHECK: %[[P:.*]] = graph.expert_matmul
// CHECK: %[[Y:.*]] = graph.reduce_sum %[[P]] order ascending {dim = 0 : i64} : tensor<3x?x8xf64> -> tensor<?x8xf64>
// CHECK-NEXT: return %[[Y]]
func.func @sumOfThree(%x: tensor<?x4xf64>, %w: tensor<3x8x4xf64>) -> tensor<?x8xf64> {
  %w0 = graph.select %w {index = 0} : tensor<3x8x4xf64> -> tensor<8x4xf64>
  // expected-remark@+1 {{of 3 experts becomes one op}}
  %p0 = graph.matmul %x, %w0 : (tensor<?x4xf64>, tensor<8x4xf64>) -> tensor<?x8xf64>
  %w1 = graph.select %w {index = 1} : tensor<3x8x4xf64> -> tensor<8x4xf64>
  %p1 = graph.matmul %x, %w1 : (tensor<?x4xf64>, tensor<8x4xf64>) -> tensor<?x8xf64>
  %w2 = graph.select %w {index = 2} : tensor<3x8x4xf64> -> tensor<8x4xf64>
  %p2 = graph.matmul %x, %w2 : (tensor<?x4xf64>, tensor<8x4xf64>) -> tensor<?x8xf64>
  // expected-remark@+1 {{and the sums after it, over 3 experts, become one graph.reduce_sum}}
  %s = graph.add %p1, %p0 : (tensor<?x8xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  %y = graph.add %s, %p2 : (tensor<?x8xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  return %y : tensor<?x8xf64>
}

// Ragged branches: dispatch to all, products over grouped rows, slot values and combine.
// CHECK-LABEL: func.func @routedRows(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xbf16>, %[[R:.*]]: !graph.routing<experts = 2, topk = 1>, %[[S:.*]]: tensor<?x1xf32>, %[[W:.*]]: tensor<2x8x4xbf16>
// CHECK-DAG: %[[ROWS:.*]] = graph.dispatch %[[X]], %[[R]] : {{.*}} -> !graph.ragged<2x?x4xbf16>
// CHECK-DAG: %[[SLOTS:.*]] = graph.dispatch_slot %[[S]], %[[R]] : {{.*}} -> !graph.ragged<2x?x1xf32>
// CHECK-DAG: %[[P:.*]] = graph.expert_matmul %[[ROWS]], %[[W]] : (!graph.ragged<2x?x4xbf16>, tensor<2x8x4xbf16>) -> !graph.ragged<2x?x8xf32>
// CHECK: %[[SCALED:.*]] = graph.mul %[[P]], %[[SLOTS]]
// CHECK: %[[ROUNDED:.*]] = graph.cast %[[SCALED]] : !graph.ragged<2x?x8xf32> -> !graph.ragged<2x?x8xbf16>
// CHECK: graph.combine %[[R]], %[[ROUNDED]] :
// CHECK-NOT: expert =
func.func @routedRows(%x: tensor<?x4xbf16>, %r: !graph.routing<experts = 2, topk = 1>, %s: tensor<?x1xf32>, %w: tensor<2x8x4xbf16>)
    -> tensor<?x8xbf16> {
  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x4xbf16>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xbf16>
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %p0 = graph.matmul %x0, %w0 : (!graph.ragged<?x4xbf16>, tensor<8x4xbf16>) -> !graph.ragged<?x8xf32>
  %s0 = graph.dispatch_slot %s, %r {expert = 0} : (tensor<?x1xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x1xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %m0 = graph.mul %p0, %s0 : (!graph.ragged<?x8xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x8xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.cast %m0 : !graph.ragged<?x8xf32> -> !graph.ragged<?x8xbf16>
  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x4xbf16>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xbf16>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  %p1 = graph.matmul %x1, %w1 : (!graph.ragged<?x4xbf16>, tensor<8x4xbf16>) -> !graph.ragged<?x8xf32>
  %s1 = graph.dispatch_slot %s, %r {expert = 1} : (tensor<?x1xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x1xf32>
  %m1 = graph.mul %p1, %s1 : (!graph.ragged<?x8xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x8xf32>
  %y1 = graph.cast %m1 : !graph.ragged<?x8xf32> -> !graph.ragged<?x8xbf16>
  %y = graph.combine %r, %y0, %y1 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x8xbf16>, !graph.ragged<?x8xbf16>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// Gate and up are two parts of one weight: the part is taken from the weights of all experts.
// CHECK-LABEL: func.func @partsOfAWeight(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x8x4xf32>)
// CHECK: graph.slice %[[W]] {begin = 2 : i64, dim = 1 : i64, end = 6 : i64} : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
// CHECK: graph.expert_matmul
// CHECK-NOT: graph.select
func.func @partsOfAWeight(%x: tensor<?x4xf32>, %w: tensor<2x8x4xf32>) -> tensor<2x?x4xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %v0 = graph.slice %w0 {dim = 0, begin = 2, end = 6} : tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.matmul %x, %v0 : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %v1 = graph.slice %w1 {dim = 0, begin = 2, end = 6} : tensor<8x4xf32> -> tensor<4x4xf32>
  %y1 = graph.matmul %x, %v1 : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<2x?x4xf32>
  return %y : tensor<2x?x4xf32>
}

// Rows that the experts normalise with one scale: the norm is of each row, so the experts do not matter to it.
// CHECK-LABEL: func.func @normsOfRows(
// CHECK: %[[P:.*]] = graph.expert_matmul
// CHECK: %[[N:.*]] = graph.rms_norm %[[P]], %{{.*}} : (tensor<2x?x8xf32>, tensor<8xf32>) -> tensor<2x?x8xf32>
// CHECK: graph.softmax %[[N]] : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
func.func @normsOfRows(%x: tensor<?x4xf32>, %w: tensor<2x8x4xf32>, %g: tensor<8xf32>) -> tensor<2x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %p0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %n0 = graph.rms_norm %p0, %g : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.softmax %n0 : tensor<?x8xf32> -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %p1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %n1 = graph.rms_norm %p1, %g : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y1 = graph.softmax %n1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// A value of one expert that something else reads becomes a part of the folded value.
// CHECK-LABEL: func.func @oneExpertReadElsewhere(
// CHECK: %[[P:.*]] = graph.expert_matmul
// CHECK: %[[PART:.*]] = graph.select %[[P]] {index = 1 : i64} : tensor<2x?x8xf32> -> tensor<?x8xf32>
// CHECK: return %[[P]], %[[PART]]
func.func @oneExpertReadElsewhere(%x: tensor<?x4xf32>, %w: tensor<2x8x4xf32>) -> (tensor<2x?x8xf32>, tensor<?x8xf32>) {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %p0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %p1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %y = graph.stack %p0, %p1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y, %p1 : tensor<2x?x8xf32>, tensor<?x8xf32>
}

// A shared expert stays beside the folded ones.
// CHECK-LABEL: func.func @sharedExpert(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[W:.*]]: tensor<2x4x4xf32>, %[[S:.*]]: tensor<4x4xf32>)
// CHECK-DAG: %[[OWN:.*]] = graph.matmul %[[X]], %[[S]]
// CHECK-DAG: %[[P:.*]] = graph.expert_matmul %[[X]], %[[W]]
// CHECK-DAG: %[[SUM:.*]] = graph.reduce_sum %[[P]]
// CHECK: graph.add %[[SUM]], %[[OWN]]
func.func @sharedExpert(%x: tensor<?x4xf32>, %w: tensor<2x4x4xf32>, %s: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %own = graph.matmul %x, %s : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %w0 = graph.select %w {index = 0} : tensor<2x4x4xf32> -> tensor<4x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %p0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x4x4xf32> -> tensor<4x4xf32>
  %p1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  // expected-remark@+1 {{and the sums after it, over 2 experts, become one graph.reduce_sum}}
  %sum = graph.add %p0, %p1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = graph.add %sum, %own : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
