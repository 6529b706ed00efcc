// RUN: kernel-to-ptx %s --target=sm_80 --ptxas=%ptxas | FileCheck %s
// RUN: kernel-to-ptx %s --target=sm_90a --ptxas=%ptxas | FileCheck %s

#rows = affine_map<(g, r, n) -> (r, n)>
#groupRows = affine_map<(g, r, n) -> (g, r, n)>
#perGroup = affine_map<(g, r, n) -> (g, n)>
#perRow = affine_map<(g, r, n) -> (r)>

// CHECK-LABEL: // kernel gemm_fma
// CHECK: grid ()[s0] -> ((s0 ceildiv 128) * 8, 1, 1)
// CHECK: block 256 1 1, dynamic shared 65536
// CHECK: cp.async.cg.shared.global
// CHECK-DAG: cp.async.wait_group 0
// CHECK-DAG: ld.shared.v4.b32
// CHECK-DAG: fma.rn.f32
// CHECK-NOT: fma.rn.ftz
// CHECK: st.global.v4.b32
func.func @dense(%a: tensor<?x1024xf32>, %b: tensor<1024x1024xf32>, %o: tensor<?x1024xf32>) {
  %0 = kernel.gemm a(%a : tensor<?x1024xf32>) b(%b : tensor<1024x1024xf32>) outs(%o : tensor<?x1024xf32>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<?x1024xf32>
  return
}

// Thirty convolutions whose tiles of 192 columns fill 132 processors fifteen
// times.
// CHECK-LABEL: // kernel gemm_fma
// CHECK: grid () -> (66, 30, 1)
// CHECK: block 256 1 1, dynamic shared 81920
// CHECK: .minnctapersm 1
func.func @wide(%a: tensor<1x256x6208xf32>, %b: tensor<30x3x6208x6208xf32>, %o: tensor<30x256x6208xf32>) {
  %0 = kernel.gemm a(%a : tensor<1x256x6208xf32>) b(%b : tensor<30x3x6208x6208xf32>) outs(%o : tensor<30x256x6208xf32>)
    attributes {indexing_maps = [#groupRows], dilation = 1 : i64} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<30x256x6208xf32>
  return
}

// Few rows: narrow tiles, so that more processors have one.
// CHECK-LABEL: // kernel gemm_fma
// CHECK: grid () -> (128, 1, 1)
func.func @narrow(%a: tensor<512x64xf32>, %b: tensor<1024x64xf32>, %o: tensor<512x1024xf32>) {
  %0 = kernel.gemm a(%a : tensor<512x64xf32>) b(%b : tensor<1024x64xf32>) outs(%o : tensor<512x1024xf32>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<512x1024xf32>
  return
}

// Thirty convolutions of eight channels over one input.
// CHECK-LABEL: // kernel gemm_fma
// CHECK: grid () -> (1, 30, 1)
// CHECK: fma.rn.f64
func.func @convolutions(%a: tensor<1x16x8xf64>, %b: tensor<30x3x8x8xf64>, %bias: tensor<30x8xf64>, %o: tensor<30x16x8xf64>) {
  %0 = kernel.gemm a(%a : tensor<1x16x8xf64>) b(%b : tensor<30x3x8x8xf64>) extras(%bias : tensor<30x8xf64>)
    outs(%o : tensor<30x16x8xf64>) attributes {indexing_maps = [#perGroup, #groupRows], dilation = 1 : i64} {
  ^bb0(%c: f64, %d: f64):
    %s = arith.addf %c, %d : f64
    kernel.yield %s : f64
  } -> tensor<30x16x8xf64>
  return
}

// Batched A, odd sizes: elements are copied one by one.
// CHECK-LABEL: // kernel gemm_fma
// CHECK: grid ()[s0] -> (s0 ceildiv 128, 4, 1) over 0.1
// CHECK-NOT: cp.async.cg
// CHECK: cp.async.ca.shared.global {{.*}}, 4,
func.func @batched(%a: tensor<4x?x45xf32>, %b: tensor<4x33x45xf32>, %o: tensor<4x?x33xf32>) {
  %0 = kernel.gemm a(%a : tensor<4x?x45xf32>) b(%b : tensor<4x33x45xf32>) outs(%o : tensor<4x?x33xf32>)
    attributes {indexing_maps = [#groupRows]} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<4x?x33xf32>
  return
}

// The down product of all experts with the routing weight of each row.
// CHECK-LABEL: // kernel gemm_fma
// CHECK: grid ()[s0] -> ((s0 floordiv 128 + 8) * 2, 1, 1) over 0.0
func.func @down(%a: tensor<?x64xf32>, %b: tensor<8x200x64xf32>, %offsets: tensor<9xi64>, %w: tensor<?xf32>, %o: tensor<?x200xf32>) {
  %0 = kernel.gemm a(%a : tensor<?x64xf32>) b(%b : tensor<8x200x64xf32>) offsets(%offsets : tensor<9xi64>)
    extras(%w : tensor<?xf32>) outs(%o : tensor<?x200xf32>) attributes {indexing_maps = [#perRow, #rows]} {
  ^bb0(%c: f32, %d: f32):
    %s = arith.mulf %c, %d : f32
    kernel.yield %s : f32
  } -> tensor<?x200xf32>
  return
}

// Three products that share their A.
// CHECK-LABEL: // kernel gemm_fma
// CHECK: parameters: operand0 operand1 operand2 operand3 operand4 operand5 operand6
func.func @three(%a: tensor<100x64xf32>, %q: tensor<96x64xf32>, %k: tensor<96x64xf32>, %v: tensor<96x64xf32>,
                 %x: tensor<100x96xf32>, %y: tensor<100x96xf32>, %z: tensor<100x96xf32>) {
  %0:3 = kernel.gemm a(%a : tensor<100x64xf32>) b(%q, %k, %v : tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>)
    outs(%x, %y, %z : tensor<100x96xf32>, tensor<100x96xf32>, tensor<100x96xf32>)
    attributes {indexing_maps = [#rows, #rows, #rows]} {
  ^bb0(%c: f32, %d: f32, %e: f32):
    kernel.yield %c, %d, %e : f32, f32, f32
  } -> tensor<100x96xf32>, tensor<100x96xf32>, tensor<100x96xf32>
  return
}
