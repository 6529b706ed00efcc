// RUN: epifold-opt %s --epifold-fuse-small-launches="most-launches=3 group-chains" | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-small-launches="most-launches=3 group-chains" %{verify-remarks}

// Launches that stay alone, each function named by the cause.

#id = affine_map<(d0, d1) -> (d0, d1)>
#rn = affine_map<(g, r, n) -> (r, n)>
#none = affine_map<() -> (0)>

// CHECK-LABEL: func.func @hasNoNeighbour(
// CHECK-NOT: kernel.persistent
// CHECK: kernel.softmax
// CHECK: return
func.func @hasNoNeighbour(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %1 = kernel.softmax ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A product of many columns between two launches that must come before and after it.
// CHECK-LABEL: func.func @isAroundAProduct(
// CHECK-NOT: kernel.persistent
// CHECK: kernel.softmax
// CHECK: kernel.gemm
// CHECK: kernel.row_reduce
// CHECK: return
func.func @isAroundAProduct(%x: tensor<4x8xf32>, %w: tensor<65x8xf32>) -> tensor<4xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %1 = kernel.softmax ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 65)> : tensor<4x65xf32>
  %3 = kernel.gemm a(%1 : tensor<4x8xf32>) b(%w : tensor<65x8xf32>) outs(%2 : tensor<4x65xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<4x65xf32>
  %4 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %5 = kernel.row_reduce ins(%3 : tensor<4x65xf32>) outs(%4 : tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// CHECK-LABEL: func.func @areProductsOfExperts(
// CHECK-NOT: kernel.persistent
// CHECK: return
func.func @areProductsOfExperts(%x: tensor<?x8xf32>, %w: tensor<2x8x8xf32>, %o: tensor<3xi64>) -> tensor<?xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xf32>
  %1 = kernel.gemm a(%x : tensor<?x8xf32>) b(%w : tensor<2x8x8xf32>) offsets(%o : tensor<3xi64>) outs(%0 : tensor<?x8xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x8xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %3 = kernel.row_reduce ins(%1 : tensor<?x8xf32>) outs(%2 : tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// 4096 rows (nobody knows how many) of 516 floats, read and written, are a little more than 16 MiB.
// CHECK-LABEL: func.func @movesMuchMemory(
// CHECK-NOT: kernel.persistent
// CHECK: kernel.softmax
// CHECK: kernel.row_reduce
// CHECK: return
func.func @movesMuchMemory(%x: tensor<?x516xf32>) -> tensor<?xf32> {
  %0 = kernel.empty affine_map<()[s0] -> (s0, 516)> : tensor<?x516xf32>
  // expected-remark@+1 {{it moves so much memory that it wants all threads of the device}}
  %1 = kernel.softmax ins(%x : tensor<?x516xf32>) outs(%0 : tensor<?x516xf32>) {accuracy = 1 : i32} -> tensor<?x516xf32>
  %2 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %3 = kernel.row_reduce ins(%1 : tensor<?x516xf32>) outs(%2 : tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// CHECK-LABEL: func.func @writesAPart(
// CHECK-NOT: kernel.persistent
// CHECK: kernel.row_reduce
// CHECK: kernel.row_reduce
// CHECK: return
func.func @writesAPart(%x: tensor<4x8xf32>, %o: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = kernel.view %o at #none as affine_map<() -> (4)> : tensor<8xf32> -> tensor<4xf32>
  // expected-remark@+1 {{it writes a part of a buffer}}
  %1 = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %3 = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%2 : tensor<4xf32>) {square} -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// The first map's rows are needed outside, where the second goes on writing.
// CHECK-LABEL: func.func @isWrittenOver(
// CHECK-NOT: kernel.persistent
// CHECK: kernel.map
// CHECK: kernel.map
// CHECK: return
func.func @isWrittenOver(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> tensor<4x8xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %2 = kernel.map ins(%x : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 0 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// A group has room for three.
// CHECK-LABEL: func.func @isOneTooMany(
// CHECK: kernel.persistent
// CHECK: } -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: %[[O:.*]] = kernel.empty
// CHECK-NEXT: %{{.*}} = kernel.row_reduce {{.*}} outs(%[[O]]
// CHECK-NEXT: return
func.func @isOneTooMany(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  // expected-remark@+1 {{is one of 3 launches in one}}
  %a = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%a0 : tensor<4xf32>) -> tensor<4xf32>
  %b0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  // expected-remark@+1 {{is one of 3 launches in one}}
  %b = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%b0 : tensor<4xf32>) {square} -> tensor<4xf32>
  %c0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  // expected-remark@+1 {{is one of 3 launches in one}}
  %c = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%c0 : tensor<4xf32>) {mean} -> tensor<4xf32>
  %d0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  // expected-remark@+1 {{no small launch that need not wait for it can stand beside it}}
  %d = kernel.row_reduce ins(%x : tensor<4x8xf32>) outs(%d0 : tensor<4xf32>) {square, mean} -> tensor<4xf32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
