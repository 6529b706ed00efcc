// RUN: epifold-opt %s --epifold-fold-experts | FileCheck %s
// RUN: epifold-opt %s --epifold-fold-experts %{verify-remarks}

// Where branches fold but do not end in one value: the folded value's parts are read instead.

// A bf16 sum rounds at each step; one reduction would round once.
// CHECK-LABEL: func.func @sumRoundsEachStep(
// CHECK: graph.expert_matmul
// CHECK-NOT: graph.reduce_sum
// CHECK-COUNT-2: graph.add
func.func @sumRoundsEachStep(%x: tensor<?x4xbf16>, %w: tensor<3x8x4xbf16>) -> tensor<?x8xbf16> {
  %w0 = graph.select %w {index = 0} : tensor<3x8x4xbf16> -> tensor<8x4xbf16>
  // expected-remark@+1 {{of 3 experts becomes one op}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
  %w1 = graph.select %w {index = 1} : tensor<3x8x4xbf16> -> tensor<8x4xbf16>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
  %w2 = graph.select %w {index = 2} : tensor<3x8x4xbf16> -> tensor<8x4xbf16>
  %y2 = graph.matmul %x, %w2 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
  // expected-remark@+1 {{does not fold: it rounds each partial sum, where a sum over all experts rounds once}}
  %s = graph.add %y0, %y1 : (tensor<?x8xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  %y = graph.add %s, %y2 : (tensor<?x8xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @sumDescends(
// CHECK: graph.expert_matmul
// CHECK-NOT: graph.reduce_sum
// CHECK-COUNT-2: graph.add
func.func @sumDescends(%x: tensor<?x4xf32>, %w: tensor<3x8x4xf32>) -> tensor<?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 3 experts becomes one op}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w2 = graph.select %w {index = 2} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y2 = graph.matmul %x, %w2 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %s = graph.add %y2, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{, which takes another operand 0}}
  %y = graph.add %s, %y0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// (0 + 1) + 2 is read on the way, so the partial sum has to exist.
// CHECK-LABEL: func.func @partialSumIsRead(
// CHECK-NOT: graph.reduce_sum
// CHECK-COUNT-2: graph.add
func.func @partialSumIsRead(%x: tensor<?x4xf32>, %w: tensor<3x8x4xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %w0 = graph.select %w {index = 0} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 3 experts becomes one op}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w2 = graph.select %w {index = 2} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y2 = graph.matmul %x, %w2 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{does not fold: the sum up to expert 1 is needed elsewhere}}
  %s = graph.add %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = graph.add %s, %y2 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %s, %y : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @stackInAnotherOrder(
// CHECK: %[[P:.*]] = graph.expert_matmul
// CHECK-DAG: %[[P0:.*]] = graph.select %[[P]] {index = 0 : i64}
// CHECK-DAG: %[[P1:.*]] = graph.select %[[P]] {index = 1 : i64}
// CHECK: graph.stack %[[P1]], %[[P0]]
func.func @stackInAnotherOrder(%x: tensor<?x4xf32>, %w: tensor<2x8x4xf32>) -> tensor<2x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  // expected-remark@+1 {{does not fold: it takes values of expert 0 and of expert 1}}
  %y = graph.stack %y1, %y0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// Ragged rows have no parts: the branch of an expert whose rows something else reads stays beside the folded ones.
// CHECK-LABEL: func.func @raggedRowsReadElsewhere(
// CHECK-DAG: graph.expert_matmul {{.*}} -> !graph.ragged<2x?x4xf32>
// CHECK-DAG: %[[X1:.*]] = graph.dispatch %{{.*}} {expert = 1 : i64}
// CHECK-DAG: %[[P1:.*]] = graph.matmul %[[X1]]
// CHECK-DAG: %[[N1:.*]] = graph.neg %[[P1]]
// CHECK: graph.combine %{{.*}}, %{{.*}}, %[[N1]]
func.func @raggedRowsReadElsewhere(%x: tensor<?x4xf32>, %r: !graph.routing<experts = 2, topk = 1>, %w: tensor<2x4x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xf32>
  %w0 = graph.select %w {index = 0} : tensor<2x4x4xf32> -> tensor<4x4xf32>
  // expected-remark@+1 {{of 2 experts becomes one op}}
  %y0 = graph.matmul %x0, %w0 : (!graph.ragged<?x4xf32>, tensor<4x4xf32>) -> !graph.ragged<?x4xf32>
  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x4x4xf32> -> tensor<4x4xf32>
  %y1 = graph.matmul %x1, %w1 : (!graph.ragged<?x4xf32>, tensor<4x4xf32>) -> !graph.ragged<?x4xf32>
  %y = graph.combine %r, %y0, %y1 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x4xf32>, !graph.ragged<?x4xf32>) -> tensor<?x4xf32>
  %n1 = graph.neg %y1 : !graph.ragged<?x4xf32> -> !graph.ragged<?x4xf32>
  // expected-remark@+1 {{does not fold: there is no such op over all experts}}
  %z = graph.combine %r, %x0, %n1 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x4xf32>, !graph.ragged<?x4xf32>) -> tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}
