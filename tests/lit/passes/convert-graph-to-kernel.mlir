// RUN: epifold-opt %s --epifold-convert-graph-to-kernel | FileCheck %s

// One graph op, one launch: what each family becomes, over static sizes.

// CHECK-DAG: #[[RN:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[GRN:[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[ID:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ROW:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[SWAPPED:[a-z0-9]+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[SECOND:[a-z0-9]+]] = affine_map<(d0, d1) -> (1, d0, d1)>
// CHECK-DAG: #[[AFTER:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, d1 + 8)>

// bf16 elements are widened, computed in f32 and rounded once.
// CHECK-LABEL: func.func @elementwise(
// CHECK: kernel.map ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xbf16>, tensor<8xbf16>, tensor<4x1xbf16>) outs(%{{.*}} : tensor<4x8xbf16>)
// CHECK-SAME: domain = 3 : i64, indexing_maps = [#[[ID]], #[[COLUMN]], #[[ROW]], #[[ID]]]
// CHECK-COUNT-3: arith.extf %{{.*}} : bf16 to f32
// CHECK: math.fma %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @elementwise(%x: tensor<4x8xbf16>, %b: tensor<8xbf16>, %c: tensor<4x1xbf16>) -> tensor<4x8xbf16> {
  %y = graph.fma %x, %b, %c : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<4x1xbf16>) -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// A splat constant is code, not memory.
// CHECK-LABEL: func.func @splat(
// CHECK: kernel.map ins(%{{.*}} : tensor<4x8xf64>) outs(
// CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f64
// CHECK: arith.mulf %{{.*}}, %[[HALF]] : f64
func.func @splat(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %half = graph.constant dense<0.5> : tensor<f64>
  %y = graph.mul %x, %half : (tensor<4x8xf64>, tensor<f64>) -> tensor<4x8xf64>
  return %y : tensor<4x8xf64>
}

// CHECK-LABEL: func.func @vectorConstant(
// CHECK: %[[C:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: kernel.map ins(%{{.*}}, %[[C]] : tensor<4x2xf32>, tensor<2xf32>)
func.func @vectorConstant(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = graph.add %x, %c : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

// The accuracy of a transcendental is that of the compute type unless the graph says less.
// CHECK-LABEL: func.func @accuracies(
// CHECK: kernel.math exp f32
// CHECK: kernel.math silu bf16
// CHECK: kernel.math gelu_tanh f64
func.func @accuracies(%x: tensor<4xbf16>, %d: tensor<4xf64>) -> (tensor<4xbf16>, tensor<4xf64>) {
  %0 = graph.exp %x : tensor<4xbf16> -> tensor<4xbf16>
  %1 = graph.silu %0 accuracy bf16 : tensor<4xbf16> -> tensor<4xbf16>
  %2 = graph.gelu %d approximate tanh : tensor<4xf64> -> tensor<4xf64>
  return %1, %2 : tensor<4xbf16>, tensor<4xf64>
}

// f64 to bf16 rounds to f32 on the way.
// CHECK-LABEL: func.func @narrowing(
// CHECK: %[[F:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %[[F]] : f32 to bf16
func.func @narrowing(%x: tensor<4xf64>) -> tensor<4xbf16> {
  %0 = graph.cast %x : tensor<4xf64> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @product(
// CHECK: kernel.gemm a(%{{.*}} : tensor<6x16xbf16>) b(%{{.*}} : tensor<8x16xbf16>) outs(%{{.*}} : tensor<6x8xbf16>) attributes {indexing_maps = [#[[RN]]]} {
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT: arith.truncf %[[ACC]] : f32 to bf16
func.func @product(%x: tensor<2x3x16xbf16>, %w: tensor<8x16xbf16>) -> tensor<2x3x8xbf16> {
  %y = graph.matmul %x, %w : (tensor<2x3x16xbf16>, tensor<8x16xbf16>) -> tensor<2x3x8xbf16>
  return %y : tensor<2x3x8xbf16>
}

// CHECK-LABEL: func.func @productOfEachExpert(
// CHECK: kernel.gemm a(%{{.*}} : tensor<4x16xf32>) b(%{{.*}} : tensor<2x8x16xf32>) outs(%{{.*}} : tensor<2x4x8xf32>) attributes {indexing_maps = [#[[GRN]]]}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT: kernel.yield %[[ACC]]
func.func @productOfEachExpert(%x: tensor<4x16xf32>, %w: tensor<2x8x16xf32>) -> tensor<2x4x8xf32> {
  %y = graph.expert_matmul %x, %w : (tensor<4x16xf32>, tensor<2x8x16xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// Views where the elements are contiguous, copies elsewhere.
// CHECK-LABEL: func.func @parts(
// CHECK-NOT: kernel.map
// CHECK: kernel.view
// CHECK: kernel.map ins(%{{.*}} : tensor<4x8xf32>) outs(%{{.*}} : tensor<4x3xf32>)
func.func @parts(%w: tensor<2x4x8xf32>) -> tensor<4x3xf32> {
  %0 = graph.select %w {index = 1} : tensor<2x4x8xf32> -> tensor<4x8xf32>
  %1 = graph.slice %0 {dim = 1, begin = 2, end = 5} : tensor<4x8xf32> -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: kernel.map {{.*}}indexing_maps = [#[[SWAPPED]], #[[ID]]]
func.func @transpose(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// The parts of a joined value are launches into one buffer.
// CHECK-LABEL: func.func @stack(
// CHECK: %[[FIRST:.*]] = kernel.map
// CHECK: kernel.map ins(%{{.*}}) outs(%[[FIRST]] : tensor<2x4x8xf32>) attributes {domain = 0 : i64, indexing_maps = [#[[ID]], #[[SECOND]]]}
func.func @stack(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = graph.stack %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: func.func @concat(
// CHECK: %[[FIRST:.*]] = kernel.map
// CHECK: kernel.map ins(%{{.*}}) outs(%[[FIRST]] : tensor<4x12xf32>) attributes {domain = 0 : i64, indexing_maps = [#[[ID]], #[[AFTER]]]}
func.func @concat(%a: tensor<4x8xf32>, %b: tensor<4x4xf32>) -> tensor<4x12xf32> {
  %0 = graph.concat %a, %b {dim = 1} : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  return %0 : tensor<4x12xf32>
}
