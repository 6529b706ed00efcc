// RUN: epifold-opt %s | epifold-opt | FileCheck %s

// CHECK-LABEL: func.func @normalise
// CHECK: %[[R:.*]] = kernel.cascade ins(%{{.*}}, %{{.*}} : tensor<1x1x1x1x3xf32>, tensor<1x8xf32>) outs(%{{.*}} : tensor<1x8xf32>) {
// CHECK-NEXT: ^bb0(%[[L:.*]]: tensor<1x1x1x1x3xf32>, %[[X:.*]]: tensor<1x8xf32>, %[[O:.*]]: tensor<1x8xf32>):
// CHECK-NEXT: %[[OWN:.*]] = kernel.empty {{.*}} : tensor<1x1x2xf32>
// CHECK-NEXT: %[[S:.*]] = kernel.merge_stats ins(%[[L]] : tensor<1x1x1x1x3xf32>) outs(%[[OWN]] : tensor<1x1x2xf32>)
// CHECK-NEXT: %[[Y:.*]] = kernel.map ins(%[[X]], %[[S]] : tensor<1x8xf32>, tensor<1x1x2xf32>) outs(%[[O]] : tensor<1x8xf32>)
// CHECK: kernel.yield %[[Y]] : tensor<1x8xf32>
// CHECK-NEXT: } -> tensor<1x8xf32>
func.func @normalise(%leaves: tensor<1x1x1x1x3xf32>, %x: tensor<1x8xf32>, %o: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %r = kernel.cascade ins(%leaves, %x : tensor<1x1x1x1x3xf32>, tensor<1x8xf32>) outs(%o : tensor<1x8xf32>) {
  ^bb0(%a: tensor<1x1x1x1x3xf32>, %b: tensor<1x8xf32>, %c: tensor<1x8xf32>):
    %own = kernel.empty affine_map<() -> (1, 1, 2)> : tensor<1x1x2xf32>
    %s = kernel.merge_stats ins(%a : tensor<1x1x1x1x3xf32>) outs(%own : tensor<1x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<1x1x2xf32>
    %y = kernel.map ins(%b, %s : tensor<1x8xf32>, tensor<1x1x2xf32>) outs(%c : tensor<1x8xf32>) attributes {domain = 2 : i64, indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (0, 0, 0)>, affine_map<(r, c) -> (r, c)>]} {
    ^bb0(%e: f32, %m: f32):
      %d = arith.subf %e, %m : f32
      kernel.yield %d : f32
    } -> tensor<1x8xf32>
    kernel.yield %y : tensor<1x8xf32>
  } -> tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}
