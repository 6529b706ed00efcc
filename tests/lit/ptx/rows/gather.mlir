// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

// CHECK-LABEL: // kernel gather_rows
// CHECK: parameters: operand0 operand1 operand2 dim0.0 dim1.0 dim2.0 status
// CHECK: grid ()[s0] -> (s0 ceildiv 32, 1, 1) over 2.0
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
func.func @embedding(%s: tensor<?x64xbf16>, %i: tensor<?xi32>, %o: tensor<?x64xbf16>) {
  %r = kernel.gather_rows src(%s : tensor<?x64xbf16>) index(%i : tensor<?xi32>)
    outs(%o : tensor<?x64xbf16>) {report} -> tensor<?x64xbf16>
  return
}

// One expert's rows: a sixteenth of the grid, an odd width element by element.
// CHECK-LABEL: // kernel gather_rows
// CHECK: parameters: operand0 operand1 operand2 operand3 dim0.0 dim1.0 dim3.0 group
// CHECK: grid ()[s0] -> (s0 ceildiv 64, 1, 1) over 3.0
// CHECK: ld.global.b32
func.func @dispatch(%s: tensor<?x45xf32>, %i: tensor<?xi32>, %f: tensor<5xi64>, %o: tensor<?x45xf32>) {
  %r = kernel.gather_rows src(%s : tensor<?x45xf32>) index(%i : tensor<?xi32>) offsets(%f : tensor<5xi64>)
    outs(%o : tensor<?x45xf32>) {divisor = 3 : i64, group = 2 : i64} -> tensor<?x45xf32>
  return
}

// Slots ascending from slot 0.
// CHECK-LABEL: // kernel combine
// CHECK: ld.global.v4.b32
// CHECK-COUNT-16: add.rn.f32
// CHECK-NOT: add.rn.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK: st.global.v4.b32
func.func @combine(%a0: tensor<?x64xbf16>, %a1: tensor<?xi32>, %a2: tensor<?x64xbf16>) {
  %r = kernel.combine ins(%a0, %a1 : tensor<?x64xbf16>, tensor<?xi32>)
    outs(%a2 : tensor<?x64xbf16>) {slots = 3 : i64} -> tensor<?x64xbf16>
  return
}
