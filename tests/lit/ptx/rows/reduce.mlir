// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

// A cut leaf: an element that does not exist is skipped by a select, never added as a zero.
// CHECK-LABEL: // kernel row_reduce
// CHECK: add.rn.f32
// CHECK: selp.{{[fb]}}32
// CHECK-NOT: div.rn
func.func @cutLeaf(%a0: tensor<?x45xf32>, %a1: tensor<?xf32>) {
  %r = kernel.row_reduce ins(%a0 : tensor<?x45xf32>)
    outs(%a1 : tensor<?xf32>) -> tensor<?xf32>
  return
}

// A mean of squares: squares rounded on their own, one division a row.
// CHECK-LABEL: // kernel row_reduce
// CHECK: mul.rn.f32
// CHECK-NOT: fma
// CHECK: div.rn.f32
func.func @meanSquare(%a0: tensor<?x130xbf16>, %a1: tensor<?xf32>) {
  %r = kernel.row_reduce ins(%a0 : tensor<?x130xbf16>)
    outs(%a1 : tensor<?xf32>) {square, mean} -> tensor<?xf32>
  return
}

// Counts of full leaves are constants, so merges do not divide: what is left is the variance and the reciprocal root.
// CHECK-LABEL: // kernel row_stats
// CHECK-COUNT-1: div.rn.f32
// CHECK: sqrt.rn.f32
// CHECK: rcp.rn.f32
// CHECK-NOT: div.rn.f32
func.func @rowStats(%a0: tensor<?x64xf32>, %a1: tensor<?x2xf32>) {
  %r = kernel.row_stats ins(%a0 : tensor<?x64xf32>)
    outs(%a1 : tensor<?x2xf32>) {epsilon = 1.0e-5 : f64} -> tensor<?x2xf32>
  return
}

// Targets outside the row are reported.
// CHECK-LABEL: // kernel row_nll
// CHECK: parameters: operand0 operand1 operand2 dim0.0 dim1.0 dim2.0 status
// CHECK: atom{{.*}}.or.b64
// CHECK: atom{{.*}}.min.s64
func.func @likelihood(%a0: tensor<?x256xf32>, %a1: tensor<?xi64>, %a2: tensor<?xf32>) {
  %r = kernel.row_nll ins(%a0, %a1 : tensor<?x256xf32>, tensor<?xi64>)
    outs(%a2 : tensor<?xf32>) {accuracy = 1 : i32} -> tensor<?xf32>
  return
}

// Slots ascending from slot 0: two additions for three slots, in 16-byte pieces.
// CHECK-LABEL: // kernel ordered_sum
// CHECK: ld.global.v4.b32
// CHECK-COUNT-16: add.rn.f32
// CHECK-NOT: add.rn.f32
// CHECK: st.global.v4.b32
func.func @orderedSum(%a0: tensor<?x3x64xbf16>, %a1: tensor<?x64xbf16>) {
  %r = kernel.ordered_sum ins(%a0 : tensor<?x3x64xbf16>)
    outs(%a1 : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return
}

// Many terms: a thread for every two columns, with 16 loads on their way.
// CHECK-LABEL: // kernel ordered_sum
// CHECK: grid ()[s0] -> ((s0 * 32) ceildiv 256, 1, 1) over 1.0
// CHECK-COUNT-16: ld.global.v2.b16
// CHECK-COUNT-32: add.rn.f32
// CHECK: st.global
func.func @longSum(%a0: tensor<?x?x64xbf16>, %a1: tensor<?x64xbf16>) {
  %r = kernel.ordered_sum ins(%a0 : tensor<?x?x64xbf16>)
    outs(%a1 : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return
}
