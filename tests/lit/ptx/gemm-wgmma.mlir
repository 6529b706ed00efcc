// RUN: kernel-to-ptx %s --target=sm_90a --ptxas=%ptxas | FileCheck %s
// RUN: kernel-to-ptx %s --target=sm_90a,sm_80 --ptxas=%ptxas | FileCheck %s --check-prefix=BOTH

#rows = affine_map<(g, r, n) -> (r, n)>
#groupRows = affine_map<(g, r, n) -> (g, r, n)>
#perGroup = affine_map<(g, r, n) -> (g, n)>

// One warpgroup copies boxes of both operands, two multiply; a block takes one tile after the other. The wait is on the
// accumulators. A tile's results are stored while the next one is multiplied, without a branch.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: parameters: operand0 operand1 operand2 map0 map1{{ *$}}
// CHECK: grid () -> (132, 1, 1)
// CHECK: block 384 1 1, dynamic shared 196992
// CHECK: tensor map of operand0: sizes 4096 4096 1, strides 8192 33554432, box 64 128 1
// CHECK: tensor map of operand1: sizes 4096 2 4 4 128, strides 8192 65536 16384 262144, box 64 2 4 4 8
// CHECK: .shared .align 1024 .b8 dynamicShared
// CHECK: .maxntid 384
// CHECK: .minnctapersm 1
// CHECK: mbarrier.init.shared::cta.b64
// CHECK: setmaxnreg.inc.sync.aligned.u32 232
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: @exists st.global.v4.b32
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: setmaxnreg.dec.sync.aligned.u32 40
// CHECK-DAG: mbarrier.arrive.expect_tx
// CHECK-DAG: cp.async.bulk.tensor.3d
// CHECK-DAG: cp.async.bulk.tensor.5d

// Each target has a launch of its own.
// BOTH-LABEL: // kernel gemm_wgmma
// BOTH: // target sm_90a
// BOTH-LABEL: // kernel gemm_mma
// BOTH: grid () -> (1024, 1, 1)
// BOTH: block 256 1 1, dynamic shared 65536
// BOTH: // target sm_80
// BOTH-NOT: wgmma
// BOTH: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @dense(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>, %o: tensor<4096x4096xbf16>) {
  %0 = kernel.gemm a(%a : tensor<4096x4096xbf16>) b(%b : tensor<4096x4096xbf16>) outs(%o : tensor<4096x4096xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<4096x4096xbf16>
  return
}

// Gate and up of ragged rows. Few of them are the columns of the instruction, whose rows are the weights'; the rows of
// A are gathered by cp.async. Very few have narrow tiles, for many multiprocessors to read weights.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: for s{{[01]}} up to 64
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: tensor map of operand1: sizes 2048 65536, strides 4096, box 64 128
// CHECK: tensor map of operand2: sizes 2048 65536, strides 4096, box 64 128
// CHECK: for s0 up to 512
// CHECK: wgmma.mma_async.sync.aligned.m64n{{8|16}}k16.f32.f16.f16
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: for s0 up to 4096
// CHECK: wgmma.mma_async.sync.aligned.m64n{{32|64|128}}k16.f32.f16.f16

// Many rows: gate and up are one instruction's columns. The tiles of all experts are counted once, and drawn.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: grid ()[s0] -> ((s0 ceildiv 1099511627776) * 132, 1, 1) over 3.0
// CHECK-DAG: shfl.sync.up
// CHECK-DAG: vote.sync.ballot
// CHECK-DAG: atom.global.inc.u32
// CHECK-DAG: cp.async.cg.shared.global
// CHECK-DAG: cp.async.mbarrier.arrive.noinc
// CHECK-DAG: fence.proxy.async
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
// BOTH-LABEL: // kernel gemm_wgmma
func.func @gateUp(%a: tensor<?x2048xf16>, %g: tensor<64x1024x2048xf16>, %u: tensor<64x1024x2048xf16>,
                  %slots: tensor<?xi32>, %offsets: tensor<65xi64>, %o: tensor<?x1024xf16>) {
  %0 = kernel.gemm a(%a : tensor<?x2048xf16>) b(%g, %u : tensor<64x1024x2048xf16>, tensor<64x1024x2048xf16>)
    gather(%slots : tensor<?xi32>) offsets(%offsets : tensor<65xi64>) outs(%o : tensor<?x1024xf16>)
    attributes {indexing_maps = [#rows], gather_divisor = 8 : i64} {
  ^bb0(%c: f32, %d: f32):
    %p = arith.mulf %c, %d : f32
    %t = arith.truncf %p : f32 to f16
    kernel.yield %t : f16
  } -> tensor<?x1024xf16>
  return
}

// Taps are boxes of one input, earlier by the dilation; before a sample's start a box is zero.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: tensor map of operand0: sizes 512 256 1, strides 1024 262144, box 64 128 1
// CHECK: tensor map of operand1: sizes 512 2 4 4 480, strides 1024 8192 2048 32768, box 64 2 4 4 3
// CHECK: wgmma.mma_async.sync.aligned.m64n96k16
func.func @convolutions(%a: tensor<1x256x512xbf16>, %b: tensor<10x3x512x512xbf16>, %o: tensor<10x256x512xbf16>) {
  %0 = kernel.gemm a(%a : tensor<1x256x512xbf16>) b(%b : tensor<10x3x512x512xbf16>) outs(%o : tensor<10x256x512xbf16>)
    attributes {indexing_maps = [#groupRows], dilation = 2 : i64} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<10x256x512xbf16>
  return
}

// Sixty-four columns a thread: vectors along them are read when they are needed, and nothing is spilled.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n256k16
// CHECK-DAG: ld.global.v4.b32
func.func @glue(%a: tensor<1x512x1536xbf16>, %b: tensor<30x3x1536x1536xbf16>, %bias: tensor<30x1536xbf16>,
                %gain: tensor<30x1536xbf16>, %o: tensor<30x512x1536xbf16>) {
  %0 = kernel.gemm a(%a : tensor<1x512x1536xbf16>) b(%b : tensor<30x3x1536x1536xbf16>)
    extras(%bias, %gain : tensor<30x1536xbf16>, tensor<30x1536xbf16>) outs(%o : tensor<30x512x1536xbf16>)
    attributes {indexing_maps = [#perGroup, #perGroup, #groupRows], dilation = 1 : i64} {
  ^bb0(%c: f32, %d: bf16, %e: bf16):
    %x = arith.extf %d : bf16 to f32
    %y = arith.extf %e : bf16 to f32
    %s = arith.addf %c, %x : f32
    %g = kernel.math gelu_tanh bf16 %s : f32
    %p = arith.mulf %g, %y : f32
    %t = arith.truncf %p : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<30x512x1536xbf16>
  return
}

// Rows that cannot be read in pieces stay with mma.sync.
// CHECK-LABEL: // kernel gemm_mma
// CHECK-NOT: wgmma
// CHECK: mma.sync.aligned.m16n8k16
func.func @odd(%a: tensor<400x45xbf16>, %b: tensor<96x45xbf16>, %o: tensor<400x96xbf16>) {
  %0 = kernel.gemm a(%a : tensor<400x45xbf16>) b(%b : tensor<96x45xbf16>) outs(%o : tensor<400x96xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<400x96xbf16>
  return
}

// Few rows of one product, too.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: tensor map of operand0: sizes 2048 8 1, strides 4096 32768
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16
func.func @few(%a: tensor<8x2048xbf16>, %b: tensor<96x2048xbf16>, %o: tensor<8x96xbf16>) {
  %0 = kernel.gemm a(%a : tensor<8x2048xbf16>) b(%b : tensor<96x2048xbf16>) outs(%o : tensor<8x96xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<8x96xbf16>
  return
}

// A reduction of one slab.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: wgmma.mma_async
func.func @short(%a: tensor<400x64xbf16>, %b: tensor<96x64xbf16>, %o: tensor<400x96xbf16>) {
  %0 = kernel.gemm a(%a : tensor<400x64xbf16>) b(%b : tensor<96x64xbf16>) outs(%o : tensor<400x96xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<400x96xbf16>
  return
}
