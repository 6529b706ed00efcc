// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Constants, views and joins.

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<f32>, tensor<3xi64>) {
  // CHECK: graph.constant dense<5.000000e-01> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  // CHECK: graph.constant dense<[1, -2, 3]> : tensor<3xi64>
  %vector = graph.constant dense<[1, -2, 3]> : tensor<3xi64>
  return %half, %vector : tensor<f32>, tensor<3xi64>
}

// A splat is small whatever its shape.
// CHECK-LABEL: func.func @largeSplat
// CHECK: graph.constant dense<1.000000e+00> : tensor<4096x4096xf32>
func.func @largeSplat() -> tensor<4096x4096xf32> {
  %ones = graph.constant dense<1.0> : tensor<4096x4096xf32>
  return %ones : tensor<4096x4096xf32>
}

// CHECK-LABEL: func.func @select
func.func @select(%w: tensor<8x64x32xbf16>, %i: tensor<?x4xi1>) -> (tensor<64x32xbf16>, tensor<?xi1>) {
  // The first dimension is the default.
  // CHECK: graph.select %{{.*}} {index = 3 : i64} : tensor<8x64x32xbf16> -> tensor<64x32xbf16>
  %expert = graph.select %w {index = 3} : tensor<8x64x32xbf16> -> tensor<64x32xbf16>
  // CHECK: graph.select %{{.*}} {dim = 1 : i64, index = 0 : i64} : tensor<?x4xi1> -> tensor<?xi1>
  %column = graph.select %i {dim = 1, index = 0} : tensor<?x4xi1> -> tensor<?xi1>
  return %expert, %column : tensor<64x32xbf16>, tensor<?xi1>
}

// CHECK-LABEL: func.func @slice
func.func @slice(%tokens: tensor<2x?xi64>, %w: tensor<96x64xf16>)
    -> (tensor<2x?xi64>, tensor<2x?xi64>, tensor<48x64xf16>, tensor<95x64xf16>, tensor<0x64xf16>) {
  // CHECK: graph.slice %{{.*}} {dim = 1 : i64, end = -1 : i64} : tensor<2x?xi64> -> tensor<2x?xi64>
  %inputs = graph.slice %tokens {dim = 1, end = -1} : tensor<2x?xi64> -> tensor<2x?xi64>
  // CHECK: graph.slice %{{.*}} {begin = 1 : i64, dim = 1 : i64} : tensor<2x?xi64> -> tensor<2x?xi64>
  %targets = graph.slice %tokens {dim = 1, begin = 1} : tensor<2x?xi64> -> tensor<2x?xi64>
  // CHECK: graph.slice %{{.*}} {begin = 48 : i64, dim = 0 : i64} : tensor<96x64xf16> -> tensor<48x64xf16>
  %up = graph.slice %w {dim = 0, begin = 48} : tensor<96x64xf16> -> tensor<48x64xf16>
  // CHECK: graph.slice %{{.*}} {begin = -95 : i64, dim = 0 : i64} : tensor<96x64xf16> -> tensor<95x64xf16>
  %rest = graph.slice %w {dim = 0, begin = -95} : tensor<96x64xf16> -> tensor<95x64xf16>
  // CHECK: graph.slice %{{.*}} -> tensor<0x64xf16>
  %nothing = graph.slice %w {dim = 0, begin = 7, end = 7} : tensor<96x64xf16> -> tensor<0x64xf16>
  return %inputs, %targets, %up, %rest, %nothing
      : tensor<2x?xi64>, tensor<2x?xi64>, tensor<48x64xf16>, tensor<95x64xf16>, tensor<0x64xf16>
}

// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: tensor<?x16x8xf32>, %s: tensor<1xf64>) -> (tensor<?x8xf32>, tensor<f64>) {
  // CHECK: graph.reshape %{{.*}} : tensor<?x16x8xf32> -> tensor<?x8xf32>
  %rows = graph.reshape %x : tensor<?x16x8xf32> -> tensor<?x8xf32>
  // CHECK: graph.reshape %{{.*}} : tensor<1xf64> -> tensor<f64>
  %scalar = graph.reshape %s : tensor<1xf64> -> tensor<f64>
  return %rows, %scalar : tensor<?x8xf32>, tensor<f64>
}

// CHECK-LABEL: func.func @transpose
// CHECK: graph.transpose %{{.*}} {permutation = array<i64: 1, 2, 0>} : tensor<?x2x8xi8> -> tensor<2x8x?xi8>
func.func @transpose(%x: tensor<?x2x8xi8>) -> tensor<2x8x?xi8> {
  %y = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : tensor<?x2x8xi8> -> tensor<2x8x?xi8>
  return %y : tensor<2x8x?xi8>
}

// CHECK-LABEL: func.func @stack
// CHECK: graph.stack %{{.*}}, %{{.*}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<2x?x4xf32>
func.func @stack(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> tensor<2x?x4xf32> {
  %y = graph.stack %a, %b : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<2x?x4xf32>
  return %y : tensor<2x?x4xf32>
}

// CHECK-LABEL: func.func @concat
func.func @concat(%a: tensor<?x4xf32>, %b: tensor<?x3xf32>, %c: tensor<2x4xf32>) -> (tensor<?x7xf32>, tensor<?x4xf32>) {
  // CHECK: graph.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<?x7xf32>
  %wide = graph.concat %a, %b {dim = 1} : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<?x7xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<2x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %long = graph.concat %c, %a {dim = 0} : (tensor<2x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %wide, %long : tensor<?x7xf32>, tensor<?x4xf32>
}
