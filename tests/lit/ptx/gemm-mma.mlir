// RUN: kernel-to-ptx %s --target=sm_80 --ptxas=%ptxas | FileCheck %s

#rows = affine_map<(g, r, n) -> (r, n)>
#columns = affine_map<(g, r, n) -> (n)>
#groupRows = affine_map<(g, r, n) -> (g, r, n)>
#perGroup = affine_map<(g, r, n) -> (g, n)>

// Any number of rows: few of them have a lower tile of their own.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: parameters: operand0 operand1 operand2 dim0.0 dim2.0
// CHECK: grid ()[s0] -> ((s0 ceildiv 16) * 32, 1, 1) over 0.0
// CHECK: for s0 up to 64
// CHECK-LABEL: // kernel gemm_mma
// CHECK: parameters: operand0 operand1 operand2 dim0.0 dim2.0
// CHECK: grid ()[s0] -> ((s0 ceildiv 128) * 32, 1, 1) over 0.0
// CHECK: block 256 1 1, dynamic shared 65536
// CHECK: .maxntid 256
// CHECK: cp.async.cg.shared.global
// CHECK-DAG: cp.async.wait_group 2
// CHECK-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @dense(%a: tensor<?x4096xbf16>, %b: tensor<4096x4096xbf16>, %o: tensor<?x4096xbf16>) {
  %0 = kernel.gemm a(%a : tensor<?x4096xbf16>) b(%b : tensor<4096x4096xbf16>) outs(%o : tensor<?x4096xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<?x4096xbf16>
  return
}

// Gate and up of all experts over gathered rows: two accumulators a column in one thread. What counts is an expert's
// share of the rows.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: grid ()[s0] -> ((s0 floordiv 16 + 64) * 16, 1, 1) over 3.0
// CHECK: for s0 up to 512
// CHECK-LABEL: // kernel gemm_mma
// CHECK: parameters: operand0 operand1 operand2 operand3 operand4 operand5 dim0.0 dim3.0 dim5.0
// CHECK: grid ()[s0] -> ((s0 floordiv 128 + 64) * 16, 1, 1) over 3.0
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @gateUp(%a: tensor<?x2048xbf16>, %g: tensor<64x1024x2048xbf16>, %u: tensor<64x1024x2048xbf16>,
                  %slots: tensor<?xi32>, %offsets: tensor<65xi64>, %o: tensor<?x1024xbf16>) {
  %0 = kernel.gemm a(%a : tensor<?x2048xbf16>) b(%g, %u : tensor<64x1024x2048xbf16>, tensor<64x1024x2048xbf16>)
    gather(%slots : tensor<?xi32>) offsets(%offsets : tensor<65xi64>) outs(%o : tensor<?x1024xbf16>)
    attributes {indexing_maps = [#rows], gather_divisor = 8 : i64} {
  ^bb0(%c: f32, %d: f32):
    %gate = arith.truncf %c : f32 to bf16
    %up = arith.truncf %d : f32 to bf16
    %gx = arith.extf %gate : bf16 to f32
    %ux = arith.extf %up : bf16 to f32
    %s = kernel.math silu bf16 %gx : f32
    %p = arith.mulf %s, %ux : f32
    %t = arith.truncf %p : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<?x1024xbf16>
  return
}

// One expert; odd depth and width: loads of single elements, no cp.async.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: for s0 up to 64
// CHECK-LABEL: // kernel gemm_mma
// CHECK: operand4 dim0.0 dim4.0 group
// CHECK: ld.global.b16
// CHECK-NOT: cp.async.cg
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
func.func @oneExpert(%a: tensor<?x45xf16>, %b: tensor<33x45xf16>, %offsets: tensor<9xi32>, %bias: tensor<33xf32>,
                     %o: tensor<?x33xf16>) {
  %0 = kernel.gemm a(%a : tensor<?x45xf16>) b(%b : tensor<33x45xf16>) offsets(%offsets : tensor<9xi32>)
    extras(%bias : tensor<33xf32>) outs(%o : tensor<?x33xf16>)
    attributes {indexing_maps = [#columns, #rows], group = 2 : i64} {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    %t = arith.truncf %s : f32 to f16
    kernel.yield %t : f16
  } -> tensor<?x33xf16>
  return
}

// Thirty convolutions over one input. Of 40 channels the last slab holds eight: its second half is never multiplied.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: for s0 up to 64
// CHECK-LABEL: // kernel gemm_mma
// CHECK: grid ()[s0] -> (s0 ceildiv 128, 30, 1) over 0.1
func.func @convolutions(%a: tensor<1x?x40xbf16>, %b: tensor<30x3x40x40xbf16>, %bias: tensor<30x40xbf16>,
                        %o: tensor<30x?x40xbf16>) {
  %0 = kernel.gemm a(%a : tensor<1x?x40xbf16>) b(%b : tensor<30x3x40x40xbf16>)
    extras(%bias : tensor<30x40xbf16>) outs(%o : tensor<30x?x40xbf16>)
    attributes {indexing_maps = [#perGroup, #groupRows], dilation = 2 : i64} {
  ^bb0(%c: f32, %d: bf16):
    %e = arith.extf %d : bf16 to f32
    %s = arith.addf %c, %e : f32
    %t = arith.truncf %s : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<30x?x40xbf16>
  return
}

// Few rows: a low tile.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: grid () -> (16, 1, 1)
func.func @decode(%a: tensor<4x2048xbf16>, %b: tensor<2048x2048xbf16>, %o: tensor<4x2048xf32>) {
  %0 = kernel.gemm a(%a : tensor<4x2048xbf16>) b(%b : tensor<2048x2048xbf16>) outs(%o : tensor<4x2048xf32>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<4x2048xf32>
  return
}
