// RUN: epifold-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(func.func(fuse-across-views))' | FileCheck %s
// RUN: epifold-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(func.func(fuse-across-views))' -o /dev/null \
// RUN:   --remarks-filter=.* --remark-format=emitRemark --verify-diagnostics

// Elementwise launches take the shape of the launch whose result they read through a view; the view comes after them.

#flat = affine_map<(i) -> (i)>
#square = affine_map<(r, c) -> (r, c)>
#turned = affine_map<(r, c) -> (c, r)>

// CHECK-LABEL: func.func @throughAView(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>
// CHECK: %[[FIRST:.*]] = kernel.map ins(%[[X]] : tensor<?x4xf32>)
// CHECK: %[[OUT:.*]] = kernel.empty #{{.*}} : tensor<?x4xbf16>
// CHECK: %[[SECOND:.*]] = kernel.map ins(%[[FIRST]] : tensor<?x4xf32>) outs(%[[OUT]] : tensor<?x4xbf16>)
// CHECK: %[[Y:.*]] = kernel.view %[[SECOND]] at {{.*}} : tensor<?x4xbf16> -> tensor<?xbf16>
// CHECK: return %[[Y]]
func.func @throughAView(%x: tensor<?x4xf32>) -> tensor<?xbf16> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 4)> : tensor<?x4xf32>
  %1 = kernel.map ins(%x : tensor<?x4xf32>) outs(%0 : tensor<?x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<?x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<()[s0] -> (s0 * 4)> : tensor<?x4xf32> -> tensor<?xf32>
  %3 = kernel.empty affine_map<()[s0] -> (s0 * 4)> : tensor<?xbf16>
  // expected-remark@+1 {{takes the shape of kernel.map}}
  %4 = kernel.map ins(%2 : tensor<?xf32>) outs(%3 : tensor<?xbf16>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %t = arith.truncf %a : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<?xbf16>
  return %4 : tensor<?xbf16>
}

// The other operand is viewed in the launch's new shape; where it is such a view already, its source is read.
// CHECK-LABEL: func.func @withAnotherOperand(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>, %[[FLAT:[a-z0-9]+]]: tensor<8xf32>
// CHECK: %[[FIRST:.*]] = kernel.map ins(%[[X]] : tensor<2x4xf32>)
// CHECK: %[[SQUARE:.*]] = kernel.view %[[FLAT]] at {{.*}} : tensor<8xf32> -> tensor<2x4xf32>
// CHECK: kernel.map ins(%[[FIRST]], %[[SQUARE]], %[[X]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
func.func @withAnotherOperand(%x: tensor<2x4xf32>, %flat: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (8)> : tensor<2x4xf32> -> tensor<8xf32>
  %3 = kernel.view %x at affine_map<() -> (0)> as affine_map<() -> (8)> : tensor<2x4xf32> -> tensor<8xf32>
  %4 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{takes the shape of kernel.map}}
  %5 = kernel.map ins(%2, %flat, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%4 : tensor<8xf32>) attributes {domain = 3 : i64, indexing_maps = [#flat, #flat, #flat, #flat]} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    kernel.yield %t : f32
  } -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// Launches that stay where they are, each function named by the cause.

// CHECK-LABEL: func.func @valueIsNeededElsewhere(
// CHECK: kernel.view
// CHECK-NEXT: kernel.empty
// CHECK-NEXT: kernel.map
func.func @valueIsNeededElsewhere(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<8xf32>) {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (8)> : tensor<2x4xf32> -> tensor<8xf32>
  %3 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{its value is needed elsewhere}}
  %4 = kernel.map ins(%2 : tensor<8xf32>) outs(%3 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<8xf32>
  return %1, %4 : tensor<2x4xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @launchHasAnotherNeighbour(
// CHECK: kernel.map ins(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>)
func.func @launchHasAnotherNeighbour(%x: tensor<2x4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (8)> : tensor<2x4xf32> -> tensor<8xf32>
  %3 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  %4 = kernel.map ins(%y : tensor<8xf32>) outs(%3 : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<8xf32>
  %5 = kernel.empty affine_map<() -> (8)> : tensor<8xf32>
  // expected-remark@+1 {{the launch has another neighbour}}
  %6 = kernel.map ins(%2, %4 : tensor<8xf32>, tensor<8xf32>) outs(%5 : tensor<8xf32>) attributes {domain = 2 : i64, indexing_maps = [#flat, #flat, #flat]} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    kernel.yield %s : f32
  } -> tensor<8xf32>
  return %6 : tensor<8xf32>
}

// CHECK-LABEL: func.func @launchCoversTheRowsOfExperts(
// CHECK: kernel.map ins(%{{.*}} : tensor<4x2xf32>) offsets
func.func @launchCoversTheRowsOfExperts(%x: tensor<2x4xf32>, %offsets: tensor<4xi64>) -> tensor<4x2xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (4, 2)> : tensor<2x4xf32> -> tensor<4x2xf32>
  %3 = kernel.empty affine_map<() -> (4, 2)> : tensor<4x2xf32>
  // expected-remark@+1 {{the launch covers the rows of experts}}
  %4 = kernel.map ins(%2 : tensor<4x2xf32>) offsets(%offsets : tensor<4xi64>) outs(%3 : tensor<4x2xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @launchWritesAPartOfABuffer(
// CHECK: kernel.map ins(%{{.*}} : tensor<8xf32>)
func.func @launchWritesAPartOfABuffer(%x: tensor<2x4xf32>, %written: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (8)> : tensor<2x4xf32> -> tensor<8xf32>
  // expected-remark@+1 {{the launch writes a part of a buffer}}
  %3 = kernel.map ins(%2 : tensor<8xf32>) outs(%written : tensor<8xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// CHECK-LABEL: func.func @launchMovesElements(
// CHECK: kernel.map ins(%{{.*}} : tensor<4x2xf32>)
func.func @launchMovesElements(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (4, 2)> : tensor<2x4xf32> -> tensor<4x2xf32>
  %3 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  // expected-remark@+1 {{the launch repeats or moves elements}}
  %4 = kernel.map ins(%2 : tensor<4x2xf32>) outs(%3 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#turned, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// The launch has its bias for each column, so that it does not do the same in another shape.
// CHECK-LABEL: func.func @launchRepeatsElements(
// CHECK: kernel.map ins(%{{.*}}, %{{.*}} : tensor<4x2xf32>, tensor<2xf32>)
func.func @launchRepeatsElements(%x: tensor<2x4xf32>, %bias: tensor<2xf32>) -> tensor<4x2xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (4, 2)> : tensor<2x4xf32> -> tensor<4x2xf32>
  %3 = kernel.empty affine_map<() -> (4, 2)> : tensor<4x2xf32>
  // expected-remark@+1 {{the launch repeats or moves elements}}
  %4 = kernel.map ins(%2, %bias : tensor<4x2xf32>, tensor<2xf32>) outs(%3 : tensor<4x2xf32>) attributes {domain = 2 : i64, indexing_maps = [#square, affine_map<(r, c) -> (c)>, #square]} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    kernel.yield %s : f32
  } -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}

// A part of a value cannot be read before the value is whole: nothing is said of it.
// CHECK-LABEL: func.func @viewIsAPart(
// CHECK: kernel.map ins(%{{.*}} : tensor<4xf32>)
func.func @viewIsAPart(%x: tensor<2x4xf32>) -> tensor<4xf32> {
  %0 = kernel.empty affine_map<() -> (2, 4)> : tensor<2x4xf32>
  %1 = kernel.map ins(%x : tensor<2x4xf32>) outs(%0 : tensor<2x4xf32>) attributes {domain = 1 : i64, indexing_maps = [#square, #square]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<2x4xf32>
  %2 = kernel.view %1 at affine_map<() -> (4)> as affine_map<() -> (4)> : tensor<2x4xf32> -> tensor<4xf32>
  %3 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %4 = kernel.map ins(%2 : tensor<4xf32>) outs(%3 : tensor<4xf32>) attributes {domain = 1 : i64, indexing_maps = [#flat, #flat]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
