// RUN: epifold-opt %s --epifold-fuse-elementwise-chains | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-gather-into-product | FileCheck %s

// Scalar constants stay in the launch that uses them: a launch is a kernel of its own and sees no scalar from outside.

#id = affine_map<(r, n) -> (r, n)>
#rn = affine_map<(g, r, n) -> (r, n)>

// CHECK-LABEL: func.func @relu(
// CHECK-NOT: arith.constant
// CHECK: kernel.gemm
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: kernel.map
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.constant 0.000000e+00 : f32
// CHECK: return
func.func @relu(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %zero = arith.constant 0.0 : f32
    %y = arith.subf %zero, %acc : f32
    kernel.yield %y : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ugt, %p, %zero : f32
    %y = arith.select %c, %p, %zero : f32
    kernel.yield %y : f32
  } -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}
