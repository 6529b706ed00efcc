// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

// Whole leaves: rows of the leaf over lanes, then over four warps.
// CHECK-LABEL: // kernel leaf_stats
// CHECK: grid () -> (8, 1, 1)
// CHECK: block 128 1 1
// CHECK: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1
// CHECK: bar.sync
func.func @wholeLeaves(%a0: tensor<2x128x128xbf16>, %a1: tensor<2x1x2x2x3xf32>) {
  %r = kernel.leaf_stats ins(%a0 : tensor<2x128x128xbf16>)
    outs(%a1 : tensor<2x1x2x2x3xf32>) {groups = 1 : i64} -> tensor<2x1x2x2x3xf32>
  return
}

// Cut leaves count their elements.
// CHECK-LABEL: // kernel leaf_stats
// CHECK: grid ()[s0, s1] -> ((s0 * s1) * 4, 1, 1) over 1.0 1.2
// CHECK: div.rn.f32
func.func @cutLeaves(%a0: tensor<?x?x130xf32>, %a1: tensor<?x2x?x2x3xf32>) {
  %r = kernel.leaf_stats ins(%a0 : tensor<?x?x130xf32>)
    outs(%a1 : tensor<?x2x?x2x3xf32>) {groups = 2 : i64} -> tensor<?x2x?x2x3xf32>
  return
}

// CHECK-LABEL: // kernel merge_stats
// CHECK: grid ()[s0] -> (s0 * 2, 1, 1) over 0.0
// CHECK: div.rn.f32
// CHECK: sqrt.rn.f32
func.func @mergeLeaves(%a0: tensor<?x2x?x2x3xf32>, %a1: tensor<?x2x2xf32>) {
  %r = kernel.merge_stats ins(%a0 : tensor<?x2x?x2x3xf32>)
    outs(%a1 : tensor<?x2x2xf32>) {epsilon = 1.0e-5 : f64} -> tensor<?x2x2xf32>
  return
}
