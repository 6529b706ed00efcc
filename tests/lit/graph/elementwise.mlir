// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Elementwise ops: every one on dense values, and the forms of broadcasting.

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  // CHECK: graph.neg %{{.*}} : tensor<?x8xf16> -> tensor<?x8xf16>
  %0 = graph.neg %x : tensor<?x8xf16> -> tensor<?x8xf16>
  // CHECK: graph.abs
  %1 = graph.abs %0 : tensor<?x8xf16> -> tensor<?x8xf16>
  // CHECK: graph.relu
  %2 = graph.relu %1 : tensor<?x8xf16> -> tensor<?x8xf16>
  // CHECK: graph.sqrt
  %3 = graph.sqrt %2 : tensor<?x8xf16> -> tensor<?x8xf16>
  return %3 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @transcendental
func.func @transcendental(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.exp %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %0 = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.log
  %1 = graph.log %0 : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.erf
  %2 = graph.erf %1 : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.tanh
  %3 = graph.tanh %2 : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.rsqrt
  %4 = graph.rsqrt %3 : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.sigmoid
  %5 = graph.sigmoid %4 : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.silu %{{.*}} accuracy bf16 :
  %6 = graph.silu %5 accuracy bf16 : tensor<4xf32> -> tensor<4xf32>
  // The erf form is the default and is not printed.
  // CHECK: graph.gelu %{{[0-9]+}} : tensor<4xf32>
  %7 = graph.gelu %6 approximate erf : tensor<4xf32> -> tensor<4xf32>
  // CHECK: graph.gelu %{{.*}} approximate tanh :
  %8 = graph.gelu %7 approximate tanh : tensor<4xf32> -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<?x8xf64>, %row: tensor<8xf64>, %column: tensor<?x1xf64>, %scalar: tensor<f64>) -> tensor<?x8xf64> {
  // CHECK: graph.add %{{.*}}, %{{.*}} : (tensor<?x8xf64>, tensor<8xf64>) -> tensor<?x8xf64>
  %0 = graph.add %x, %row : (tensor<?x8xf64>, tensor<8xf64>) -> tensor<?x8xf64>
  // CHECK: graph.sub %{{.*}}, %{{.*}} : (tensor<?x1xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  %1 = graph.sub %column, %0 : (tensor<?x1xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  // CHECK: graph.mul %{{.*}}, %{{.*}} : (tensor<?x8xf64>, tensor<f64>) -> tensor<?x8xf64>
  %2 = graph.mul %1, %scalar : (tensor<?x8xf64>, tensor<f64>) -> tensor<?x8xf64>
  // CHECK: graph.div
  %3 = graph.div %2, %x : (tensor<?x8xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  // CHECK: graph.max
  %4 = graph.max %3, %x : (tensor<?x8xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  // CHECK: graph.min
  %5 = graph.min %4, %x : (tensor<?x8xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  // CHECK: graph.fma %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8xf64>, tensor<8xf64>, tensor<f64>) -> tensor<?x8xf64>
  %6 = graph.fma %5, %row, %scalar : (tensor<?x8xf64>, tensor<8xf64>, tensor<f64>) -> tensor<?x8xf64>
  return %6 : tensor<?x8xf64>
}

// Two operands may each repeat in the other's dimension.
// CHECK-LABEL: func.func @outer
// CHECK: graph.add %{{.*}}, %{{.*}} : (tensor<4x1xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
func.func @outer(%a: tensor<4x1xf32>, %b: tensor<1x6xf32>) -> tensor<4x6xf32> {
  %0 = graph.add %a, %b : (tensor<4x1xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<?x8xf64>, %r: !graph.ragged<?x8xbf16>) -> tensor<?x8xbf16> {
  // CHECK: graph.cast %{{.*}} : tensor<?x8xf64> -> tensor<?x8xbf16>
  %0 = graph.cast %x : tensor<?x8xf64> -> tensor<?x8xbf16>
  // CHECK: graph.cast %{{.*}} : !graph.ragged<?x8xbf16> -> !graph.ragged<?x8xf32>
  %1 = graph.cast %r : !graph.ragged<?x8xbf16> -> !graph.ragged<?x8xf32>
  return %0 : tensor<?x8xbf16>
}

// Ragged rows go with ragged rows, with a value for each column, and with one for each expert and column.
// CHECK-LABEL: func.func @ragged
func.func @ragged(%one: !graph.ragged<?x8xf32>, %weight: !graph.ragged<?x1xf32>, %all: !graph.ragged<4x?x8xf32>,
                  %bias: tensor<8xf32>, %biases: tensor<4x1x8xf32>) {
  // CHECK: graph.mul %{{.*}}, %{{.*}} : (!graph.ragged<?x8xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x8xf32>
  %0 = graph.mul %one, %weight : (!graph.ragged<?x8xf32>, !graph.ragged<?x1xf32>) -> !graph.ragged<?x8xf32>
  // CHECK: graph.add %{{.*}}, %{{.*}} : (!graph.ragged<?x8xf32>, tensor<8xf32>) -> !graph.ragged<?x8xf32>
  %1 = graph.add %0, %bias : (!graph.ragged<?x8xf32>, tensor<8xf32>) -> !graph.ragged<?x8xf32>
  // CHECK: graph.add %{{.*}}, %{{.*}} : (!graph.ragged<4x?x8xf32>, tensor<4x1x8xf32>) -> !graph.ragged<4x?x8xf32>
  %2 = graph.add %all, %biases : (!graph.ragged<4x?x8xf32>, tensor<4x1x8xf32>) -> !graph.ragged<4x?x8xf32>
  return
}
