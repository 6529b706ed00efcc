// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s
// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_80 | FileCheck %s --check-prefix=MMA

#rn = affine_map<(g, r, n) -> (r, n)>
#rows = affine_map<(t, c) -> (t, c)>

// A leaf is read where it was written, once the warps that wrote it have met.
// CHECK: .entry gemm_wgmma
// CHECK: wgmma.mma_async
// CHECK: st.global
// CHECK: bar.sync
// CHECK: ld.global
// CHECK: shfl.sync.bfly
// CHECK: st.global.b32
// MMA: .entry gemm_mma
// MMA: mma.sync
// MMA: st.global
// MMA: bar.sync
// MMA: ld.global
// MMA: shfl.sync.bfly
// MMA: st.global.b32
func.func @product(%x: tensor<256x64xbf16>, %w: tensor<128x64xbf16>, %y: tensor<256x128xbf16>, %l: tensor<2x1x2x2x3xf32>) {
  %0:2 = kernel.cascade ins(%x, %w : tensor<256x64xbf16>, tensor<128x64xbf16>) outs(%y, %l : tensor<256x128xbf16>, tensor<2x1x2x2x3xf32>) {
  ^bb0(%a: tensor<256x64xbf16>, %b: tensor<128x64xbf16>, %c: tensor<256x128xbf16>, %d: tensor<2x1x2x2x3xf32>):
    %1 = kernel.gemm a(%a : tensor<256x64xbf16>) b(%b : tensor<128x64xbf16>) outs(%c : tensor<256x128xbf16>) attributes {indexing_maps = [#rn]} {
    ^bb0(%acc: f32):
      %4 = arith.truncf %acc : f32 to bf16
      kernel.yield %4 : bf16
    } -> tensor<256x128xbf16>
    %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<() -> (2, 128, 128)> : tensor<256x128xbf16> -> tensor<2x128x128xbf16>
    %3 = kernel.leaf_stats ins(%2 : tensor<2x128x128xbf16>) outs(%d : tensor<2x1x2x2x3xf32>) {groups = 1 : i64} -> tensor<2x1x2x2x3xf32>
    kernel.yield %1, %3 : tensor<256x128xbf16>, tensor<2x1x2x2x3xf32>
  } -> tensor<256x128xbf16>, tensor<2x1x2x2x3xf32>
  return
}

// A map's pieces are stored twice, and the leaf read back from shared memory.
// CHECK: .entry map_leaves
// CHECK: st.global.v4.b32
// CHECK: st.shared.v4.b32
// CHECK: bar.sync
// CHECK: ld.shared
// CHECK: shfl.sync.bfly
func.func @map(%x: tensor<?x128xbf16>, %y: tensor<?x128xbf16>, %l: tensor<1x1x?x2x3xf32>) {
  %0:2 = kernel.cascade ins(%x : tensor<?x128xbf16>) outs(%y, %l : tensor<?x128xbf16>, tensor<1x1x?x2x3xf32>) {
  ^bb0(%a: tensor<?x128xbf16>, %c: tensor<?x128xbf16>, %d: tensor<1x1x?x2x3xf32>):
    %1 = kernel.map ins(%a : tensor<?x128xbf16>) outs(%c : tensor<?x128xbf16>) attributes {domain = 1 : i64, indexing_maps = [#rows, #rows]} {
    ^bb0(%e: bf16):
      %4 = arith.negf %e : bf16
      kernel.yield %4 : bf16
    } -> tensor<?x128xbf16>
    %2 = kernel.view %1 at affine_map<() -> (0)> as affine_map<()[s0] -> (1, s0, 128)> : tensor<?x128xbf16> -> tensor<1x?x128xbf16>
    %3 = kernel.leaf_stats ins(%2 : tensor<1x?x128xbf16>) outs(%d : tensor<1x1x?x2x3xf32>) {groups = 1 : i64} -> tensor<1x1x?x2x3xf32>
    kernel.yield %1, %3 : tensor<?x128xbf16>, tensor<1x1x?x2x3xf32>
  } -> tensor<?x128xbf16>, tensor<1x1x?x2x3xf32>
  return
}

// Each block merges its sample's leaves, then normalises some of its rows.
// CHECK: // kernel map_vector
// CHECK: grid ()[s0] -> (s0 * 2, 1, 1) over 0.0
// CHECK: div.rn.f32
// CHECK: sqrt.rn.f32
// CHECK: st.global.v4.b32
func.func @normalise(%l: tensor<?x1x1x2x3xf32>, %x: tensor<?x45x128xf32>, %y: tensor<?x45x128xf32>) {
  %0 = kernel.cascade ins(%l, %x : tensor<?x1x1x2x3xf32>, tensor<?x45x128xf32>) outs(%y : tensor<?x45x128xf32>) {
  ^bb0(%a: tensor<?x1x1x2x3xf32>, %b: tensor<?x45x128xf32>, %c: tensor<?x45x128xf32>):
    %own = kernel.empty affine_map<()[s0] -> (s0, 1, 2)> : tensor<?x1x2xf32>
    %1 = kernel.merge_stats ins(%a : tensor<?x1x1x2x3xf32>) outs(%own : tensor<?x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<?x1x2xf32>
    %2 = kernel.map ins(%b, %1, %1 : tensor<?x45x128xf32>, tensor<?x1x2xf32>, tensor<?x1x2xf32>) outs(%c : tensor<?x45x128xf32>) attributes {domain = 3 : i64, indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> (b, 0, 0)>, affine_map<(b, t, c) -> (b, 0, 1)>, affine_map<(b, t, c) -> (b, t, c)>]} {
    ^bb0(%e: f32, %m: f32, %r: f32):
      %3 = arith.subf %e, %m : f32
      %4 = arith.mulf %3, %r : f32
      kernel.yield %4 : f32
    } -> tensor<?x45x128xf32>
    kernel.yield %2 : tensor<?x45x128xf32>
  } -> tensor<?x45x128xf32>
  return
}

// The block's rows, then its product: the weight has the instruction's sixteen rows, tokens its eight columns.
// CHECK: .entry map_product
// CHECK: sqrt.rn.f32
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @rowsAndRouter(%l: tensor<1x1x1x2x3xf32>, %x: tensor<45x128xbf16>, %w: tensor<6x128xbf16>, %y: tensor<45x128xbf16>, %z: tensor<45x6xf32>) {
  %0:2 = kernel.cascade ins(%l, %x, %w : tensor<1x1x1x2x3xf32>, tensor<45x128xbf16>, tensor<6x128xbf16>) outs(%y, %z : tensor<45x128xbf16>, tensor<45x6xf32>) {
  ^bb0(%a: tensor<1x1x1x2x3xf32>, %b: tensor<45x128xbf16>, %c: tensor<6x128xbf16>, %d: tensor<45x128xbf16>, %e: tensor<45x6xf32>):
    %own = kernel.empty affine_map<() -> (1, 1, 2)> : tensor<1x1x2xf32>
    %1 = kernel.merge_stats ins(%a : tensor<1x1x1x2x3xf32>) outs(%own : tensor<1x1x2xf32>) {epsilon = 1.0e-05 : f64} -> tensor<1x1x2xf32>
    %2 = kernel.map ins(%b, %1 : tensor<45x128xbf16>, tensor<1x1x2xf32>) outs(%d : tensor<45x128xbf16>) attributes {domain = 2 : i64, indexing_maps = [#rows, affine_map<(t, c) -> (0, 0, 1)>, #rows]} {
    ^bb0(%v: bf16, %s: f32):
      %4 = arith.extf %v : bf16 to f32
      %5 = arith.mulf %4, %s : f32
      %6 = arith.truncf %5 : f32 to bf16
      kernel.yield %6 : bf16
    } -> tensor<45x128xbf16>
    %3 = kernel.gemm a(%2 : tensor<45x128xbf16>) b(%c : tensor<6x128xbf16>) outs(%e : tensor<45x6xf32>) attributes {indexing_maps = [#rn]} {
    ^bb0(%acc: f32):
      kernel.yield %acc : f32
    } -> tensor<45x6xf32>
    kernel.yield %2, %3 : tensor<45x128xbf16>, tensor<45x6xf32>
  } -> tensor<45x128xbf16>, tensor<45x6xf32>
  return
}
