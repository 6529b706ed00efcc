// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

#rows = affine_map<(g, r, n) -> (r, n)>

// Barriers and tensor maps are made ready while the launch before runs; memory is read after the wait.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: prefetch.tensormap
// CHECK: mbarrier.init
// CHECK-NOT: ld.global
// CHECK-NOT: cp.async.bulk.tensor
// CHECK: griddepcontrol.wait
// CHECK: griddepcontrol.launch_dependents
// CHECK-NOT: griddepcontrol
// CHECK: ret;
func.func @waitsFirst(%a: tensor<640x256xbf16>, %b: tensor<8x512x256xbf16>, %s: tensor<9xi64>, %o: tensor<640x512xf32>) {
  %0 = kernel.gemm a(%a : tensor<640x256xbf16>) b(%b : tensor<8x512x256xbf16>) offsets(%s : tensor<9xi64>) outs(%o : tensor<640x512xf32>)
    attributes {indexing_maps = [#rows], kernel.settled = array<i64: 1>} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<640x512xf32>
  return
}

// Where groups begin, and the weights, are older: what multiplies waits, what copies A does, and what copies B does not.
// CHECK-LABEL: // kernel gemm_wgmma
// CHECK: mbarrier.init
// CHECK-NOT: griddepcontrol
// CHECK: ld.global
// CHECK: setmaxnreg.inc
// CHECK: griddepcontrol.wait
// CHECK: griddepcontrol.launch_dependents
// CHECK: wgmma.mma_async
// CHECK: setmaxnreg.dec
// CHECK: griddepcontrol.wait
// CHECK: griddepcontrol.launch_dependents
// CHECK: cp.async.bulk.tensor.3d.shared
// CHECK-NOT: griddepcontrol
// CHECK: cp.async.bulk.tensor.5d.shared
// CHECK-NOT: griddepcontrol
// CHECK: ret;
func.func @readsWeightsEarly(%a: tensor<640x256xbf16>, %b: tensor<8x512x256xbf16>, %s: tensor<9xi64>, %o: tensor<640x512xf32>) {
  %0 = kernel.gemm a(%a : tensor<640x256xbf16>) b(%b : tensor<8x512x256xbf16>) offsets(%s : tensor<9xi64>) outs(%o : tensor<640x512xf32>)
    attributes {indexing_maps = [#rows], kernel.settled = array<i64: 1, 2>} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<640x512xf32>
  return
}
