// RUN: epifold-opt %s --epifold=fusion=none | FileCheck %s --check-prefix=NONE
// RUN: epifold-opt %s --epifold=fusion=all | FileCheck %s --check-prefix=ALL
// RUN: epifold-opt %s --epifold | FileCheck %s --check-prefix=ALL
// RUN: epifold-opt %s --epifold=fusion=fold-experts | FileCheck %s --check-prefix=ALL
// RUN: epifold-opt %s --epifold=fusion=none,fold-experts | FileCheck %s --check-prefix=ALL
// RUN: epifold-opt %s --epifold=fusion=all,-fold-experts | FileCheck %s --check-prefix=NONE
// RUN: epifold-opt %s --epifold=fusion=-fold-experts,all | FileCheck %s --check-prefix=ALL
// RUN: epifold-opt %s --epifold-graph=fusion=all | FileCheck %s --check-prefix=GRAPH
// RUN: not epifold-opt %s --epifold=fusion=fold 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not epifold-opt %s --epifold=fusion=all,-fold 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not epifold-opt %s --epifold=fusion= 2>&1 | FileCheck %s --check-prefix=EMPTY

// Unfused: a launch for each op of each expert, and one to join them.
// NONE-COUNT-3: kernel.gemm a(%{{.*}} : tensor<1x?x8xf32>) b(%{{.*}} : tensor<3x8x8xf32>)
// NONE-NOT: kernel.gemm

// Fused: one launch for all experts, whose result is the graph's.
// ALL: %[[Y:.*]] = kernel.gemm a(%{{.*}} : tensor<1x?x8xf32>) b(%{{.*}} : tensor<3x3x8x8xf32>)
// ALL-NOT: kernel.gemm
// ALL-NOT: kernel.map
// ALL: return

// GRAPH: graph.expert_causal_conv1d
// GRAPH-NOT: graph.select

// UNKNOWN: unknown fusion 'fold'; known are none, all, and: fold-experts
// EMPTY: an empty fusion set is written 'none'
func.func @main(%x: tensor<?x8xf32> {graph.input = "in.x"}, %w: tensor<3x8x8x3xf32> {graph.param = "w.conv"}) -> (tensor<3x?x8xf32> {graph.result = "out.y"}) {
  %w0 = graph.select %w {index = 0} : tensor<3x8x8x3xf32> -> tensor<8x8x3xf32>
  %y0 = graph.causal_conv1d %x, %w0 : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<3x8x8x3xf32> -> tensor<8x8x3xf32>
  %y1 = graph.causal_conv1d %x, %w1 : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %w2 = graph.select %w {index = 2} : tensor<3x8x8x3xf32> -> tensor<8x8x3xf32>
  %y2 = graph.causal_conv1d %x, %w2 : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1, %y2 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<3x?x8xf32>
  return %y : tensor<3x?x8xf32>
}
