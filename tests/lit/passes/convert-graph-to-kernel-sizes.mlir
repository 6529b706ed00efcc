// RUN: epifold-opt %s --epifold-convert-graph-to-kernel | FileCheck %s

// Sizes known at run time only, the layout of parameters, and who owns a result's buffer.

// CHECK-DAG: #[[BATCH_ROWS:[a-z0-9]+]] = affine_map<()[s0] -> (s0 * 2, 8)>
// CHECK-DAG: #[[SHORTER:[a-z0-9]+]] = affine_map<()[s0] -> (2, s0 - 1)>
// CHECK-DAG: #[[LONGER:[a-z0-9]+]] = affine_map<()[s0] -> (s0 + 3, 8)>

// Each dynamic dimension of the arguments is a symbol, (argument, dimension) of which `kernel.symbols` names.
// CHECK-LABEL: func.func @symbols(
// CHECK-SAME: tensor<4x8xf32>, %{{.*}}: tensor<2x?x8xf32> {kernel.sizes = affine_map<()[s0, s1] -> (2, s0, 8)>}, %{{.*}}: tensor<?xi64> {kernel.sizes = affine_map<()[s0, s1] -> (s1)>}
// CHECK-SAME: kernel.symbols = {{\[\[}}1, 1], [2, 0]]
func.func @symbols(%w: tensor<4x8xf32>, %x: tensor<2x?x8xf32>, %i: tensor<?xi64>) -> tensor<4x8xf32> {
  return %w : tensor<4x8xf32>
}

// Two arguments that an op adds have one size, named after the first.
// CHECK-LABEL: func.func @equalSizes(
// CHECK-SAME: %{{.*}}: tensor<?x8xf32> {kernel.sizes = [[SAME:.*]]}, %{{.*}}: tensor<?x8xf32> {kernel.sizes = [[SAME]]})
// CHECK-SAME: kernel.symbols = {{\[\[}}0, 0]]
func.func @equalSizes(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = graph.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// A dynamic size that must equal a static one is that one.
// CHECK-LABEL: func.func @sizeIsKnownAfterAll(
// CHECK-SAME: kernel.symbols = []
func.func @sizeIsKnownAfterAll(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.add %a, %b : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @expressions(
// CHECK: kernel.empty #[[SHORTER]] : tensor<2x?xi64>
// CHECK: kernel.empty #[[BATCH_ROWS]] : tensor<?x8xf32>
func.func @expressions(%tokens: tensor<2x?xi64>, %x: tensor<2x?x4xf32>, %w: tensor<8x4xf32>) -> (tensor<2x?xi64>, tensor<2x?x8xf32>) {
  %0 = graph.slice %tokens {dim = 1, end = -1} : tensor<2x?xi64> -> tensor<2x?xi64>
  %1 = graph.embedding %tokens, %w : (tensor<2x?xi64>, tensor<8x4xf32>) -> tensor<2x?x4xf32>
  %2 = graph.add %1, %x : (tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %3 = graph.matmul %2, %w : (tensor<2x?x4xf32>, tensor<8x4xf32>) -> tensor<2x?x8xf32>
  return %0, %3 : tensor<2x?xi64>, tensor<2x?x8xf32>
}

// CHECK-LABEL: func.func @joined(
// CHECK: kernel.empty #[[LONGER]] : tensor<?x8xf32>
func.func @joined(%a: tensor<3x8xf32>, %b: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = graph.concat %a, %b {dim = 0} : (tensor<3x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// The weight of a convolution is stored tap by tap; one expert's is a part of all experts'.
// CHECK-LABEL: func.func @tapMajorParameters(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x4x8xf32> {graph.param = "w.one", kernel.layout = array<i64: 2, 0, 1>}
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<2x3x4x8xf32> {graph.param = "w.experts", kernel.layout = array<i64: 0, 3, 1, 2>}
// CHECK-DAG: kernel.gemm {{.*}} b(%[[W]] : tensor<3x4x8xf32>) {{.*}} attributes {dilation = 2 : i64
// CHECK-DAG: %[[E1:.*]] = kernel.view %[[E]] {{.*}} : tensor<2x3x4x8xf32> -> tensor<3x4x8xf32>
// CHECK: kernel.gemm {{.*}} b(%[[E1]] : tensor<3x4x8xf32>)
// CHECK-NOT: kernel.map
// CHECK: return
func.func @tapMajorParameters(%x: tensor<?x8xf32>, %w: tensor<4x8x3xf32> {graph.param = "w.one"},
                              %e: tensor<2x4x8x3xf32> {graph.param = "w.experts"}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = graph.causal_conv1d %x, %w {dilation = 2} : (tensor<?x8xf32>, tensor<4x8x3xf32>) -> tensor<?x4xf32>
  %e1 = graph.select %e {index = 1} : tensor<2x4x8x3xf32> -> tensor<4x8x3xf32>
  %z = graph.causal_conv1d %x, %e1 : (tensor<?x8xf32>, tensor<4x8x3xf32>) -> tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// A parameter that something else reads too, and an input, stay as they are: a copy puts the taps first.
// CHECK-LABEL: func.func @otherReaders(
// CHECK-NOT: kernel.layout
// CHECK: %[[TAPS:.*]] = kernel.map ins(%{{.*}} : tensor<4x8x3xf32>) outs(%{{.*}} : tensor<3x4x8xf32>)
// CHECK: kernel.gemm {{.*}} b(%[[TAPS]] : tensor<3x4x8xf32>)
func.func @otherReaders(%x: tensor<?x8xf32>, %w: tensor<4x8x3xf32> {graph.param = "w"}) -> (tensor<?x4xf32>, tensor<4x8x3xf32>) {
  %y = graph.causal_conv1d %x, %w : (tensor<?x8xf32>, tensor<4x8x3xf32>) -> tensor<?x4xf32>
  %n = graph.neg %w : tensor<4x8x3xf32> -> tensor<4x8x3xf32>
  return %y, %n : tensor<?x4xf32>, tensor<4x8x3xf32>
}

// A result is a buffer of its own: an argument, and a value returned twice, are copied.
// CHECK-LABEL: func.func @resultsOwnTheirBuffers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[Y:.*]] = kernel.map ins(%[[X]]
// CHECK: arith.negf
// CHECK: %[[COPY:.*]] = kernel.map ins(%[[Y]] : tensor<4xf32>)
// CHECK: %[[OF_X:.*]] = kernel.map ins(%[[X]] : tensor<4xf32>)
// CHECK: return %[[Y]], %[[COPY]], %[[OF_X]]
func.func @resultsOwnTheirBuffers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  return %y, %y, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
