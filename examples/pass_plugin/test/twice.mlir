// No bit changes: the kernels of every set of fusions give the bits of the graph's reference, on the CPU.

// RUN: epifold-exact %s --device=-1 --load-pass-plugin=%plugin | FileCheck %s
// CHECK: fusion only fuse-into-readers = reference {{.*}} all equal
// CHECK: fusion all but fuse-into-readers = reference {{.*}} all equal
// CHECK: fusion all = reference {{.*}} all equal

// Random graphs have what this one does not.
// RUN: epifold-exact --random --seed=1 --count=200 --device=-1 --load-pass-plugin=%plugin | FileCheck %s --check-prefix=RANDOM
// RANDOM: 200 random graphs {{.*}} 0 failed
// RANDOM: fuse-into-readers changed {{[1-9][0-9]*}} graphs

// Two launches instead of three. "all" includes a plugin's fusion, which can be left out.
// RUN: epifold-compile %s --emit=kernel --load-pass-plugin=%plugin -o %t.with
// RUN: grep -c '= kernel.map' %t.with | FileCheck %s --check-prefix=TWO
// RUN: epifold-compile %s --emit=kernel --load-pass-plugin=%plugin --fusion=all,-fuse-into-readers -o %t.without
// RUN: grep -c '= kernel.map' %t.without | FileCheck %s --check-prefix=THREE
// TWO: 2
// THREE: 3

// The remarks name the graph's ops.
// RUN: epifold-compile %s --emit=kernel -o %t --load-pass-plugin=%plugin --remarks 2>&1 | FileCheck %s --check-prefix=REMARKS
// REMARKS: remark: [fuse-into-readers] graph.cast is computed by each of its 2 readers
// REMARKS-DAG: remark: [fuse-elementwise-chains] graph.cast is computed in graph.sigmoid
// REMARKS-DAG: remark: [fuse-elementwise-chains] graph.cast is computed in graph.mul

func.func @twice(%x: tensor<5x8xbf16> {graph.input = "in.x"}, %scale: tensor<8xf32> {graph.param = "w.scale"})
    -> (tensor<5x8xf32> {graph.result = "out.gate"}, tensor<5x8xf32> {graph.result = "out.y"}) {
  %0 = graph.cast %x : tensor<5x8xbf16> -> tensor<5x8xf32>
  %1 = graph.sigmoid %0 : tensor<5x8xf32> -> tensor<5x8xf32>
  %2 = graph.mul %0, %scale : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return %1, %2 : tensor<5x8xf32>, tensor<5x8xf32>
}
