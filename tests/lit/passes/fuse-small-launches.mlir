// RUN: epifold-opt %s --epifold-fuse-small-launches=group-chains | FileCheck %s

// Launches that become parts of one, and the order they come in.

#id = affine_map<(d0, d1) -> (d0, d1)>
#rn = affine_map<(g, r, n) -> (r, n)>
#none = affine_map<() -> (0)>

// What the region alone needs is an out too. A view of a value of the region goes into it; that of a result stays outside
// as well. The chain that leads nowhere stands beside the first launch that it need not wait for.
// CHECK-LABEL: func.func @router(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: %[[R:.*]]:5 = kernel.persistent ins(%[[X]] : tensor<4x8xf32>) outs({{.*}} : tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xi32>, tensor<1x8xi32>, tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xf32>, %[[P0:.*]]: tensor<4x8xf32>, %[[V0:.*]]: tensor<4x2xf32>, %[[I0:.*]]: tensor<4x2xi32>, %[[H0:.*]]: tensor<1x8xi32>, %[[S0:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[P:.*]] = kernel.softmax ins(%[[A]] : tensor<4x8xf32>) outs(%[[P0]]
// CHECK-NEXT: %[[T:.*]]:2 = kernel.top_k ins(%[[P]] : tensor<4x8xf32>) outs(%[[V0]], %[[I0]]
// CHECK-NEXT: %[[F:.*]] = kernel.view %[[T]]#1 at
// CHECK-NEXT: %[[H:.*]] = kernel.route_histogram ins(%[[F]] : tensor<8xi32>) outs(%[[H0]]
// CHECK-NEXT: %[[S:.*]] = kernel.row_reduce ins(%[[T]]#0 : tensor<4x2xf32>) outs(%[[S0]]
// CHECK-NEXT: kernel.yield %[[P]], %[[T]]#0, %[[T]]#1, %[[H]], %[[S]]
// CHECK: %[[F2:.*]] = kernel.view %[[R]]#2 at
// CHECK-NEXT: return %[[R]]#1, %[[F2]], %[[R]]#3, %[[R]]#4
func.func @router(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<8xi32>, tensor<1x8xi32>, tensor<4xf32>) {
  %p0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %p = kernel.softmax ins(%x : tensor<4x8xf32>) outs(%p0 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  %v0 = kernel.empty affine_map<() -> (4, 2)> : tensor<4x2xf32>
  %i0 = kernel.empty affine_map<() -> (4, 2)> : tensor<4x2xi32>
  %t:2 = kernel.top_k ins(%p : tensor<4x8xf32>) outs(%v0, %i0 : tensor<4x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>, tensor<4x2xi32>
  %f = kernel.view %t#1 at #none as affine_map<() -> (8)> : tensor<4x2xi32> -> tensor<8xi32>
  %h0 = kernel.empty affine_map<() -> (1, 8)> : tensor<1x8xi32>
  %h = kernel.route_histogram ins(%f : tensor<8xi32>) outs(%h0 : tensor<1x8xi32>) -> tensor<1x8xi32>
  %s0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %s = kernel.row_reduce ins(%t#0 : tensor<4x2xf32>) outs(%s0 : tensor<4xf32>) -> tensor<4xf32>
  return %t#0, %f, %h, %s : tensor<4x2xf32>, tensor<8xi32>, tensor<1x8xi32>, tensor<4xf32>
}

// A launch moves past a product that it need not wait for when it finds company there, in its group or a later one.
// CHECK-LABEL: func.func @aroundAProduct(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[Z:[a-z0-9]+]]: tensor<6x8xf32>
// CHECK-NOT: kernel.row_reduce
// CHECK: %[[Y:.*]] = kernel.gemm
// CHECK: kernel.persistent ins(%[[Z]], %[[Y]] : tensor<6x8xf32>, tensor<4x96xf32>)
// CHECK: kernel.row_reduce
// CHECK: kernel.row_reduce
// CHECK: kernel.yield
func.func @aroundAProduct(%x: tensor<4x8xf32>, %z: tensor<6x8xf32>, %w: tensor<96x8xf32>) -> (tensor<6xf32>, tensor<4xf32>) {
  %a0 = kernel.empty affine_map<() -> (6)> : tensor<6xf32>
  %a = kernel.row_reduce ins(%z : tensor<6x8xf32>) outs(%a0 : tensor<6xf32>) -> tensor<6xf32>
  %y0 = kernel.empty affine_map<() -> (4, 96)> : tensor<4x96xf32>
  %y = kernel.gemm a(%x : tensor<4x8xf32>) b(%w : tensor<96x8xf32>) outs(%y0 : tensor<4x96xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x96xf32>
  %b0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %b = kernel.row_reduce ins(%y : tensor<4x96xf32>) outs(%b0 : tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<6xf32>, tensor<4xf32>
}

// A product with a router's few columns is small as well.
// CHECK-LABEL: func.func @productOfARouter(
// CHECK: kernel.persistent
// CHECK: kernel.gemm
// CHECK: kernel.softmax
// CHECK: kernel.yield
func.func @productOfARouter(%x: tensor<4x32xbf16>, %w: tensor<8x32xbf16>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%x : tensor<4x32xbf16>) b(%w : tensor<8x32xbf16>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.softmax ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// Launches that go on writing one buffer: the region's argument, then each one's result.
// CHECK-LABEL: func.func @oneBuffer(
// CHECK: %[[R:.*]] = kernel.persistent ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<3xi64>) outs(%{{.*}} : tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<?x8xf32>, %[[O:.*]]: tensor<3xi64>, %[[B:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: %[[M:.*]] = kernel.map {{.*}} outs(%[[B]] : tensor<?x8xf32>) attributes {domain = 0 : i64, group = 0
// CHECK: %[[N:.*]] = kernel.map {{.*}} outs(%[[M]] : tensor<?x8xf32>) attributes {domain = 0 : i64, group = 1
// CHECK: kernel.yield %[[N]] : tensor<?x8xf32>
// CHECK: return %[[R]]
func.func @oneBuffer(%x: tensor<?x8xf32>, %offsets: tensor<3xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.map ins(%x : tensor<?x8xf32>) offsets(%offsets : tensor<3xi64>) outs(%0 : tensor<?x8xf32>) attributes {domain = 0 : i64, group = 0 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> tensor<?x8xf32>
  %2 = kernel.map ins(%x : tensor<?x8xf32>) offsets(%offsets : tensor<3xi64>) outs(%1 : tensor<?x8xf32>) attributes {domain = 0 : i64, group = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
