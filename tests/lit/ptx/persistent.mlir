// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_80,sm_90a | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// The blocks of all launches together at most; a barrier of the grid where one reads what another wrote: a fence, an arrival,
// a wait, a fence, between two barriers of the block. The size of a view is a symbol of the function.
// CHECK-LABEL: // kernel persistent
// CHECK-NEXT: parameters: operand0 operand1 operand2 dim0.0 dim1.0 dim2.0 status symbol0
// CHECK-NEXT: grid ()[s0, s1] -> (s0 ceildiv 64 + (s1 * 2) ceildiv 64, 1, 1) over 0.0 function.0
// CHECK-NEXT: block 256 1 1, dynamic shared 0, resident
// CHECK: .minnctapersm 4
// CHECK: bar.sync
// CHECK: fence.acq_rel.gpu
// CHECK: atom{{.*}}.add.u32
// CHECK: ld.relaxed.gpu.global.b32
// CHECK: fence.acq_rel.gpu
// CHECK: bar.sync
func.func @dependent(%x: tensor<?x8xf32>, %p0: tensor<?x8xf32>, %s0: tensor<?xf32>) {
  %r:2 = kernel.persistent ins(%x : tensor<?x8xf32>) outs(%p0, %s0 : tensor<?x8xf32>, tensor<?xf32>) {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %c: tensor<?xf32>):
    %p = kernel.softmax ins(%a : tensor<?x8xf32>) outs(%b : tensor<?x8xf32>) {accuracy = 1 : i32} -> tensor<?x8xf32>
    %v = kernel.view %p at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (s0 * 2, 4)> : tensor<?x8xf32> -> tensor<?x4xf32>
    %s = kernel.row_reduce ins(%v : tensor<?x4xf32>) outs(%c : tensor<?xf32>) -> tensor<?xf32>
    kernel.yield %p, %s : tensor<?x8xf32>, tensor<?xf32>
  } -> tensor<?x8xf32>, tensor<?xf32>
  return
}

// Launches that do not wait for one another: no barrier of the grid, so the blocks need not be resident. The expert of a
// launch is a constant.
// CHECK-LABEL: // kernel persistent
// CHECK: block 256 1 1, dynamic shared 0{{$}}
// CHECK-NOT: fence
// CHECK-NOT: .param .u64 group
func.func @independent(%x: tensor<?x8xf32>, %offsets: tensor<4xi64>, %y0: tensor<?x8xf32>, %s0: tensor<?xf32>) {
  %r:2 = kernel.persistent ins(%x, %offsets : tensor<?x8xf32>, tensor<4xi64>) outs(%y0, %s0 : tensor<?x8xf32>, tensor<?xf32>) {
  ^bb0(%a: tensor<?x8xf32>, %o: tensor<4xi64>, %b: tensor<?x8xf32>, %c: tensor<?xf32>):
    %m = kernel.map ins(%a : tensor<?x8xf32>) offsets(%o : tensor<4xi64>) outs(%b : tensor<?x8xf32>) attributes {domain = 0 : i64, group = 2 : i64, indexing_maps = [#id, #id]} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    } -> tensor<?x8xf32>
    %s = kernel.row_reduce ins(%a : tensor<?x8xf32>) outs(%c : tensor<?xf32>) -> tensor<?xf32>
    kernel.yield %m, %s : tensor<?x8xf32>, tensor<?xf32>
  } -> tensor<?x8xf32>, tensor<?xf32>
  return
}
