// RUN: not kernel-to-ptx %s --ptxas=%ptxas --quiet 2>&1 | FileCheck %s

#rows = affine_map<(g, r, n) -> (r, n)>
#groupRows = affine_map<(g, r, n) -> (g, r, n)>

// CHECK: error: 'kernel.gemm' op has no reduction steps; it needs no kernel
func.func @noDepth(%a: tensor<4x0xf32>, %b: tensor<8x0xf32>, %o: tensor<4x8xf32>) {
  %0 = kernel.gemm a(%a : tensor<4x0xf32>) b(%b : tensor<8x0xf32>) outs(%o : tensor<4x8xf32>)
    attributes {indexing_maps = [#rows]} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<4x8xf32>
  return
}

// CHECK: error: 'kernel.gemm' op has A 'tensor<3x4x8xf32>' but B's for 2 groups; both must have as many
func.func @groupsDiffer(%a: tensor<3x4x8xf32>, %b: tensor<2x8x8xf32>, %o: tensor<3x4x8xf32>) {
  %0 = kernel.gemm a(%a : tensor<3x4x8xf32>) b(%b : tensor<2x8x8xf32>) outs(%o : tensor<3x4x8xf32>)
    attributes {indexing_maps = [#groupRows]} {
  ^bb0(%c: f32):
    kernel.yield %c : f32
  } -> tensor<3x4x8xf32>
  return
}
