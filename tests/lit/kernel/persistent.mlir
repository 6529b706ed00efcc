// RUN: epifold-opt %s | epifold-opt | FileCheck %s

// CHECK-LABEL: func.func @two
// CHECK: %[[R:.*]]:2 = kernel.persistent ins(%{{.*}} : tensor<?x8xf32>) outs(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?xf32>) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<?x8xf32>, %[[P0:.*]]: tensor<?x8xf32>, %[[S0:.*]]: tensor<?xf32>):
// CHECK-NEXT: %[[P:.*]] = kernel.softmax ins(%[[X]] : tensor<?x8xf32>) outs(%[[P0]] : tensor<?x8xf32>)
// CHECK-NEXT: %[[S:.*]] = kernel.row_reduce ins(%[[P]] : tensor<?x8xf32>) outs(%[[S0]] : tensor<?xf32>)
// CHECK-NEXT: kernel.yield %[[P]], %[[S]] : tensor<?x8xf32>, tensor<?xf32>
// CHECK-NEXT: } -> tensor<?x8xf32>, tensor<?xf32>
func.func @two(%x: tensor<?x8xf32>, %p0: tensor<?x8xf32>, %s0: tensor<?xf32>) -> tensor<?xf32> {
  %r:2 = kernel.persistent ins(%x : tensor<?x8xf32>) outs(%p0, %s0 : tensor<?x8xf32>, tensor<?xf32>) {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %c: tensor<?xf32>):
    %p = kernel.softmax ins(%a : tensor<?x8xf32>) outs(%b : tensor<?x8xf32>) {accuracy = 1 : i32} -> tensor<?x8xf32>
    %s = kernel.row_reduce ins(%p : tensor<?x8xf32>) outs(%c : tensor<?xf32>) -> tensor<?xf32>
    kernel.yield %p, %s : tensor<?x8xf32>, tensor<?xf32>
  } -> tensor<?x8xf32>, tensor<?xf32>
  return %r#1 : tensor<?xf32>
}
