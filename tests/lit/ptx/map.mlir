// RUN: kernel-to-ptx %s --target=sm_80 --ptxas=%ptxas | FileCheck %s
// RUN: kernel-to-ptx %s --target=sm_90a --ptxas=%ptxas | FileCheck %s

#id = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#transposed = affine_map<(r, c) -> (c, r)>
#perExpert = affine_map<(r, c)[s0] -> (s0, c)>
#idExpert = affine_map<(r, c)[s0] -> (r, c)>

// Eight bf16 a thread in one access; nothing is contracted, and the one rounding is explicit.
// CHECK-LABEL: // kernel map_vector
// CHECK: parameters: operand0 operand1 operand2 dim0.0 dim2.0
// CHECK: grid ()[s0] -> (s0 ceildiv 2, 1, 1) over 2.0
// CHECK: .visible .entry map_vector
// CHECK: .maxntid 256
// CHECK: ld.global.v4.b32
// CHECK-NOT: fma
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK: st.global.v4.b32
func.func @scaleAndShift(%x: tensor<?x1024xbf16>, %b: tensor<1024xf32>, %o: tensor<?x1024xbf16>) {
  %0 = kernel.map ins(%x, %b : tensor<?x1024xbf16>, tensor<1024xf32>) outs(%o : tensor<?x1024xbf16>)
    attributes {indexing_maps = [#id, #column, #id], domain = 2 : i64} {
  ^bb0(%a: bf16, %c: f32):
    %e = arith.extf %a : bf16 to f32
    %m = arith.mulf %e, %c : f32
    %s = arith.addf %m, %c : f32
    %t = arith.truncf %s : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<?x1024xbf16>
  return
}

// An op on bf16 computes in f32 and rounds, even where a native instruction would round once less.
// CHECK-LABEL: // kernel map_vector
// CHECK-NOT: add.rn.bf16
// CHECK: add.rn.f32
func.func @bf16Sum(%x: tensor<64x1024xbf16>, %o: tensor<64x1024xbf16>) {
  %0 = kernel.map ins(%x : tensor<64x1024xbf16>) outs(%o : tensor<64x1024xbf16>)
    attributes {indexing_maps = [#id, #id], domain = 1 : i64} {
  ^bb0(%a: bf16):
    %s = arith.addf %a, %a : bf16
    kernel.yield %s : bf16
  } -> tensor<64x1024xbf16>
  return
}

// A transposed input is read element by element, and a width of 31 as well.
// CHECK-LABEL: // kernel map_scalar
// CHECK: grid () -> (13, 1, 1)
// CHECK-NOT: .v4
// CHECK: ret;
func.func @transpose(%x: tensor<31x100xf32>, %o: tensor<100x31xf32>) {
  %0 = kernel.map ins(%x : tensor<31x100xf32>) outs(%o : tensor<100x31xf32>)
    attributes {indexing_maps = [#transposed, #id], domain = 1 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<100x31xf32>
  return
}

// The rows of one expert: its number is a parameter, its rows come from the device.
// CHECK-LABEL: // kernel map_vector
// CHECK: parameters: operand0 operand1 operand2 operand3 dim0.0 dim3.0 group
func.func @oneExpert(%x: tensor<?x64xbf16>, %b: tensor<8x64xbf16>, %offsets: tensor<9xi64>, %o: tensor<?x64xbf16>) {
  %0 = kernel.map ins(%x, %b : tensor<?x64xbf16>, tensor<8x64xbf16>) offsets(%offsets : tensor<9xi64>) outs(%o : tensor<?x64xbf16>)
    attributes {indexing_maps = [#idExpert, #perExpert, #idExpert], domain = 0 : i64, group = 3 : i64} {
  ^bb0(%a: bf16, %c: bf16):
    %s = arith.addf %a, %c : bf16
    kernel.yield %s : bf16
  } -> tensor<?x64xbf16>
  return
}

// All experts' rows: a binary search finds the expert.
// CHECK-LABEL: // kernel map_vector
// CHECK: parameters: operand0 operand1 operand2 operand3 dim0.0 dim3.0{{$}}
func.func @allExperts(%x: tensor<?x64xbf16>, %b: tensor<8x64xbf16>, %offsets: tensor<9xi64>, %o: tensor<?x64xbf16>) {
  %0 = kernel.map ins(%x, %b : tensor<?x64xbf16>, tensor<8x64xbf16>) offsets(%offsets : tensor<9xi64>) outs(%o : tensor<?x64xbf16>)
    attributes {indexing_maps = [#idExpert, #perExpert, #idExpert], domain = 0 : i64} {
  ^bb0(%a: bf16, %c: bf16):
    %s = arith.addf %a, %c : bf16
    kernel.yield %s : bf16
  } -> tensor<?x64xbf16>
  return
}
