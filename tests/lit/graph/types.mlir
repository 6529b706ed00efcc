// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Types of the dialect, and the names under which tensors travel in files.

// CHECK-LABEL: func.func @routing(%{{.*}}: !graph.routing<experts = 8, topk = 2>)
func.func @routing(%r: !graph.routing<experts = 8, topk = 2>) {
  return
}

// CHECK-LABEL: func.func @ragged(%{{.*}}: !graph.ragged<?x64xbf16>, %{{.*}}: !graph.ragged<8x?x64xf64>)
func.func @ragged(%one: !graph.ragged<?x64xbf16>, %all: !graph.ragged<8x?x64xf64>) {
  return
}

// CHECK-LABEL: func.func @names(
// CHECK-SAME: tensor<?x4xf32> {graph.input = "in.x"}
// CHECK-SAME: tensor<4xf32> {graph.param = "w.scale"}
// CHECK-SAME: -> (tensor<?x4xf32> {graph.result = "out.y"})
func.func @names(%x: tensor<?x4xf32> {graph.input = "in.x"}, %w: tensor<4xf32> {graph.param = "w.scale"})
    -> (tensor<?x4xf32> {graph.result = "out.y"}) {
  %y = graph.mul %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
