// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-glue-into-epilogue %{verify-remarks}

// Launches that stay beside their product, each function named by the cause.

#id = affine_map<(r, n) -> (r, n)>
#rn = affine_map<(g, r, n) -> (r, n)>

// CHECK-LABEL: func.func @noOperandIsAProduct(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @noOperandIsAProduct(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.softmax ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%3 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @productIsNeededElsewhere(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @productIsNeededElsewhere(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the product is needed elsewhere}}
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @productHasTwoValues(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @productHasTwoValues(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %2:2 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0, %1 : tensor<4x8xf32>, tensor<4x8xf32>) attributes {indexing_maps = [#rn, #rn]} {
  ^bb0(%acc: f32):
    %t = kernel.math tanh f32 %acc : f32
    kernel.yield %acc, %t : f32, f32
  } -> tensor<4x8xf32>, tensor<4x8xf32>
  %3 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the product is needed elsewhere}}
  %4 = kernel.map ins(%2#1 : tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @othersWriteTheProductsBuffer(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @othersWriteTheProductsBuffer(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>, %written: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%written : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %1 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the product writes a part of a buffer others write}}
  %2 = kernel.map ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// The launch runs over every row of the buffer, those of no expert as well.
// CHECK-LABEL: func.func @launchCoversAllRows(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @launchCoversAllRows(%a: tensor<?x16xf32>, %b: tensor<3x8x16xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the launch covers other rows than the product}}
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) outs(%2 : tensor<?x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @launchCoversOneExpert(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @launchCoversOneExpert(%a: tensor<?x16xf32>, %b: tensor<3x8x16xf32>, %offsets: tensor<4xi64>) -> tensor<?x8xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%a : tensor<?x16xf32>) b(%b : tensor<3x8x16xf32>) offsets(%offsets : tensor<4xi64>) outs(%0 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  // expected-remark@+1 {{the launch covers other rows than the product}}
  %3 = kernel.map ins(%1 : tensor<?x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%2 : tensor<?x8xf32>) attributes {domain = 1 : i64, group = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// The launch runs over three of the eight columns.
// CHECK-LABEL: func.func @domainIsNotTheResult(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @domainIsNotTheResult(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> tensor<4x3xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 3)> : tensor<4x3xf32>
  // expected-remark@+1 {{the launch's domain is not the product's result}}
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x3xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%p: f32):
    %n = arith.negf %p : f32
    kernel.yield %n : f32
  } -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @launchReadsAtAnotherPlace(
// CHECK: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @launchReadsAtAnotherPlace(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %0 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %1 = kernel.gemm a(%a : tensor<8x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<8x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<8x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{the launch reads the product at another place}}
  %3 = kernel.map ins(%1, %1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, n) -> (n, r)>, #id]} {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kernel.yield %s : f32
  } -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// Neither product takes the launch: its value would still have to be made by the other.
// CHECK-LABEL: func.func @productsOfDifferentInputs(
// CHECK-COUNT-2: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @productsOfDifferentInputs(%a: tensor<4x16xf32>, %c: tensor<4x16xf32>, %b: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.gemm a(%c : tensor<4x16xf32>) b(%b : tensor<8x16xf32>) outs(%2 : tensor<4x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{its products do not share their input}}
  %5 = kernel.map ins(%1, %3 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kernel.yield %s : f32
  } -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @productsOfDifferentDilations(
// CHECK-COUNT-2: kernel.gemm
// CHECK: kernel.map
// CHECK: return
func.func @productsOfDifferentDilations(%a: tensor<1x4x16xf32>, %b: tensor<3x8x16xf32>, %c: tensor<3x8x16xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %1 = kernel.gemm a(%a : tensor<1x4x16xf32>) b(%b : tensor<3x8x16xf32>) outs(%0 : tensor<4x8xf32>) attributes {dilation = 1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.gemm a(%a : tensor<1x4x16xf32>) b(%c : tensor<3x8x16xf32>) outs(%2 : tensor<4x8xf32>) attributes {dilation = 2 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{its products do not share their input}}
  %5 = kernel.map ins(%1, %3 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kernel.yield %s : f32
  } -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}
