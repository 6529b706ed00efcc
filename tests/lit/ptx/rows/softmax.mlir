// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

// One leaf a row: four lanes a row, 64 rows a block, nothing through shared memory. The last two merges of the tree go
// between lanes.
// CHECK-LABEL: // kernel softmax
// CHECK: grid ()[s0] -> (s0 ceildiv 64, 1, 1) over 0.0
// CHECK: block 256 1 1
// CHECK-NOT: bar.sync
// CHECK: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1
// CHECK: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1
// CHECK-NOT: approx
// CHECK: div.rn.f32
func.func @oneLeaf(%a0: tensor<?x64xf32>, %a1: tensor<?x64xf32>) {
  %r = kernel.softmax ins(%a0 : tensor<?x64xf32>)
    outs(%a1 : tensor<?x64xf32>) {accuracy = 1 : i32} -> tensor<?x64xf32>
  return
}

// 24 leaves: four warps a row meet in shared memory. Two bf16 an access.
// CHECK-LABEL: // kernel softmax
// CHECK: grid ()[s0] -> (s0 ceildiv 2, 1, 1)
// CHECK: .shared
// CHECK: ld.global.{{v2.b16|b32}}
// CHECK-NOT: ld.global.b16
// CHECK: bar.sync
// CHECK: div.rn.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK: st.global.{{v2.b16|b32}}
func.func @manyLeaves(%a0: tensor<?x1536xbf16>, %a1: tensor<?x1536xbf16>) {
  %r = kernel.softmax ins(%a0 : tensor<?x1536xbf16>)
    outs(%a1 : tensor<?x1536xbf16>) {accuracy = 0 : i32} -> tensor<?x1536xbf16>
  return
}

// A width known at run time only: a block a row, f64 in f64.
// CHECK-LABEL: // kernel softmax
// CHECK: parameters: operand0 operand1 dim0.0 dim0.1 dim1.0 dim1.1
// CHECK: grid ()[s0] -> (s0, 1, 1)
// CHECK-NOT: f32
// CHECK: div.rn.f64
func.func @anyWidth(%a0: tensor<?x?xf64>, %a1: tensor<?x?xf64>) {
  %r = kernel.softmax ins(%a0 : tensor<?x?xf64>)
    outs(%a1 : tensor<?x?xf64>) {accuracy = 2 : i32} -> tensor<?x?xf64>
  return
}
