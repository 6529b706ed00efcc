// RUN: kernel-to-ptx %s --target=sm_90a --ptxas=%ptxas | FileCheck %s
// RUN: kernel-to-ptx %s --target=sm_90a,sm_80 --ptxas=%ptxas | FileCheck %s --check-prefix=BOTH

#rows = affine_map<(g, r, n) -> (r, n)>
#groupRows = affine_map<(g, r, n) -> (g, r, n)>
#perGroup = affine_map<(g, r, n) -> (g, n)>

// A kernel of wgmma alone has wide tiles, and blocks that take one after the other. The wait is on the accumulators.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: grid () -> (132, 1, 1)
// CHECK: block 256 1 1, dynamic shared 196608
// CHECK: .shared .align 1024 .b8 dynamicShared
// CHECK: cp.async.cg.shared.global
// CHECK: fence.proxy.async
// CHECK-NEXT: bar.sync
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: st.global.v4.b32

// Other targets have a launch of their own, after it; only the newer ones wait for the launch before.
// BOTH-LABEL: // kernel gemm_mma
// BOTH: grid () -> (132, 1, 1)
// BOTH: block 256 1 1, dynamic shared 196608
// BOTH: // target sm_90a
// BOTH: griddepcontrol.wait
// BOTH: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// BOTH-LABEL: // kernel gemm_mma
// BOTH: grid () -> (1024, 1, 1)
// BOTH: block 256 1 1, dynamic shared 65536
// BOTH: // target sm_80
// BOTH-NOT: griddepcontrol
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

// Gate and up are one instruction's columns. Ragged rows: a block for every tile, found by all lanes.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: grid ()[s0] -> ((s0 floordiv 128 + 64) * 8, 1, 1) over 3.0
// CHECK: vote.sync.ballot
// CHECK: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
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

// Convolutions with too few wide tiles to fill the processors: narrow ones, two blocks to a processor.
// CHECK-LABEL: // kernel gemm_mma
// CHECK: grid () -> (264, 1, 1)
// CHECK: .minnctapersm 2
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16
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
// CHECK-LABEL: // kernel gemm_mma
// CHECK: wgmma.mma_async.sync.aligned.m64n256k16
// CHECK: ld.global.v4.b32
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

// Rows that cannot be read in pieces, few rows, and a reduction of one slab stay with mma.sync.
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

// CHECK-LABEL: // kernel gemm_mma
// CHECK-NOT: wgmma
func.func @few(%a: tensor<8x2048xbf16>, %b: tensor<96x2048xbf16>, %o: tensor<8x96xbf16>) {
  %0 = kernel.gemm a(%a : tensor<8x2048xbf16>) b(%b : tensor<96x2048xbf16>) outs(%o : tensor<8x96xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<8x96xbf16>
  return
}

// CHECK-LABEL: // kernel gemm_mma
// CHECK-NOT: wgmma
func.func @short(%a: tensor<400x64xbf16>, %b: tensor<96x64xbf16>, %o: tensor<400x96xbf16>) {
  %0 = kernel.gemm a(%a : tensor<400x64xbf16>) b(%b : tensor<96x64xbf16>) outs(%o : tensor<400x96xbf16>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    %t = arith.truncf %c : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<400x96xbf16>
  return
}
