// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// From logits to rows of experts and back.

// CHECK-LABEL: func.func @routed
func.func @routed(%p: tensor<?x8xf32>, %x: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<8xi64>) {
  // CHECK: graph.top_k %{{.*}} {k = 2 : i64} : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %weights, %indices = graph.top_k %p {k = 2} : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: graph.route %{{.*}} : tensor<?x2xi32> -> !graph.routing<experts = 8, topk = 2>, tensor<8xi64>
  %r, %counts = graph.route %indices : tensor<?x2xi32> -> !graph.routing<experts = 8, topk = 2>, tensor<8xi64>

  // All experts' rows as one value.
  // CHECK: graph.dispatch %{{.*}}, %{{.*}} : (tensor<?x64xbf16>, !graph.routing<experts = 8, topk = 2>) -> !graph.ragged<8x?x64xbf16>
  %all = graph.dispatch %x, %r : (tensor<?x64xbf16>, !graph.routing<experts = 8, topk = 2>) -> !graph.ragged<8x?x64xbf16>
  // CHECK: graph.dispatch_slot %{{.*}}, %{{.*}} : (tensor<?x2xf32>, !graph.routing<experts = 8, topk = 2>) -> !graph.ragged<8x?x1xf32>
  %w = graph.dispatch_slot %weights, %r : (tensor<?x2xf32>, !graph.routing<experts = 8, topk = 2>) -> !graph.ragged<8x?x1xf32>
  // CHECK: graph.combine %{{.*}}, %{{.*}} : (!graph.routing<experts = 8, topk = 2>, !graph.ragged<8x?x64xbf16>) -> tensor<?x64xbf16>
  %y = graph.combine %r, %all : (!graph.routing<experts = 8, topk = 2>, !graph.ragged<8x?x64xbf16>) -> tensor<?x64xbf16>
  return %x, %y, %counts : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<8xi64>
}

// The same with a value for each expert.
// CHECK-LABEL: func.func @perExpert
func.func @perExpert(%r: !graph.routing<experts = 2, topk = 1>, %x: tensor<?x64xbf16>, %weights: tensor<?x1xf32>) -> tensor<?x64xbf16> {
  // CHECK: graph.dispatch %{{.*}}, %{{.*}} {expert = 0 : i64} : {{.*}} -> !graph.ragged<?x64xbf16>
  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x64xbf16>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x64xbf16>
  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x64xbf16>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x64xbf16>
  // CHECK: graph.dispatch_slot %{{.*}}, %{{.*}} {expert = 1 : i64} : {{.*}} -> !graph.ragged<?x1xf32>
  %w1 = graph.dispatch_slot %weights, %r {expert = 1} : (tensor<?x1xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x1xf32>
  // CHECK: graph.combine %{{.*}}, %{{.*}}, %{{.*}} : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x64xbf16>, !graph.ragged<?x64xbf16>) -> tensor<?x64xbf16>
  %y = graph.combine %r, %x0, %x1 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x64xbf16>, !graph.ragged<?x64xbf16>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
