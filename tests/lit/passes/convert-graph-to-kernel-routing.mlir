// RUN: epifold-opt %s --epifold-convert-graph-to-kernel | FileCheck %s

// Routing: tables from indices with no read of the host, and rows of bounded buffers.

!routing = !graph.routing<experts = 2, topk = 2>
!rows = !graph.ragged<?x4xf32>
!all = !graph.ragged<2x?x4xf32>

// CHECK-DAG: #[[SLOTS:[a-z0-9]+]] = affine_map<()[s0] -> (s0 * 2)>
// CHECK-DAG: #[[CHUNKS:[a-z0-9]+]] = affine_map<()[s0] -> ((s0 * 2) ceildiv 1024, 2)>
// CHECK-DAG: #[[ROWS:[a-z0-9]+]] = affine_map<()[s0] -> (s0 * 2, 4)>
// CHECK-DAG: #[[EXPERT:[a-z0-9]+]] = affine_map<(d0, d1)[s0] -> (s0, 0, d1)>
// CHECK-DAG: #[[COLUMN:[a-z0-9]+]] = affine_map<(d0, d1) -> (d0, 0)>

// CHECK-LABEL: func.func @tables(
// CHECK: kernel.empty #[[CHUNKS]] : tensor<?x2xi32>
// CHECK: %[[H:.*]] = kernel.route_histogram ins(%[[I:.*]] : tensor<?xi32>)
// CHECK: %[[SCAN:.*]]:2 = kernel.route_scan ins(%[[H]]
// CHECK-SAME: -> tensor<?x2xi32>, tensor<2xi64>
// CHECK: kernel.route_scatter ins(%[[I]], %[[SCAN]]#0, %[[SCAN]]#1
// CHECK-SAME: -> tensor<?xi32>, tensor<?xi32>, tensor<3xi64>
// CHECK: return %[[SCAN]]#1
func.func @tables(%i: tensor<?x2xi32>, %x: tensor<?x4xf32>) -> (tensor<2xi64>, tensor<?x4xf32>) {
  %r, %counts = graph.route %i : tensor<?x2xi32> -> !routing, tensor<2xi64>
  %rows = graph.dispatch %x, %r : (tensor<?x4xf32>, !routing) -> !all
  %y = graph.combine %r, %rows : (!routing, !all) -> tensor<?x4xf32>
  return %counts, %y : tensor<2xi64>, tensor<?x4xf32>
}

// Nothing gathers rows, so that no table of them is made.
// CHECK-LABEL: func.func @countsAlone(
// CHECK: %[[SCAN:.*]]:2 = kernel.route_scan
// CHECK-NOT: kernel.route_scatter
// CHECK: return %[[SCAN]]#1
func.func @countsAlone(%i: tensor<?x2xi32>) -> tensor<2xi64> {
  %r, %counts = graph.route %i : tensor<?x2xi32> -> !routing, tensor<2xi64>
  return %counts : tensor<2xi64>
}

// One expert's rows: a launch each, with the expert as its group. The launches of both experts write one buffer, in turn.
// CHECK-LABEL: func.func @chainedBranches(
// CHECK: %[[SCAN:.*]]:2 = kernel.route_scan
// CHECK: %[[TABLES:.*]]:3 = kernel.route_scatter
// CHECK: kernel.gather_rows {{.*}} index(%[[TABLES]]#0 : {{.*}} offsets(%[[TABLES]]#2 : tensor<3xi64>) {{.*}} {divisor = 2 : i64, group = 0 : i64}
// CHECK: %[[Y0:.*]] = kernel.gemm {{.*}} offsets(%[[TABLES]]#2 : tensor<3xi64>) {{.*}} attributes {group = 0 : i64
// CHECK: kernel.gather_rows {{.*}} {divisor = 2 : i64, group = 1 : i64}
// CHECK: %[[Y1:.*]] = kernel.gemm {{.*}} outs(%[[Y0]] : tensor<?x4xf32>) attributes {group = 1 : i64
// CHECK: kernel.combine ins(%[[Y1]], %[[TABLES]]#1 : tensor<?x4xf32>, tensor<?xi32>) {{.*}} {slots = 2 : i64}
func.func @chainedBranches(%x: tensor<?x4xf32>, %i: tensor<?x2xi32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %r, %counts = graph.route %i : tensor<?x2xi32> -> !routing, tensor<2xi64>
  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x4xf32>, !routing) -> !rows
  %y0 = graph.matmul %x0, %w0 : (!rows, tensor<4x4xf32>) -> !rows
  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x4xf32>, !routing) -> !rows
  %y1 = graph.matmul %x1, %w1 : (!rows, tensor<4x4xf32>) -> !rows
  %y = graph.combine %r, %y0, %y1 : (!routing, !rows, !rows) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// Rows combined twice: the second sum gets copies, since the first one's buffer must keep its rows.
// CHECK-LABEL: func.func @combinedTwice(
// CHECK: kernel.combine
// CHECK: kernel.map {{.*}} offsets({{.*}} attributes {domain = 1 : i64, group = 0 : i64
// CHECK: kernel.combine
func.func @combinedTwice(%x: tensor<?x4xf32>, %i: tensor<?x2xi32>, %w: tensor<4x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %r, %counts = graph.route %i : tensor<?x2xi32> -> !routing, tensor<2xi64>
  %x0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x4xf32>, !routing) -> !rows
  %x1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x4xf32>, !routing) -> !rows
  %n1 = graph.neg %x1 : !rows -> !rows
  %y = graph.combine %r, %x0, %x1 : (!routing, !rows, !rows) -> tensor<?x4xf32>
  %z = graph.combine %r, %x0, %n1 : (!routing, !rows, !rows) -> tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// All experts' rows: one launch a step. A bias of each expert is read at the row's expert, a slot's value in every column.
// CHECK-LABEL: func.func @grouped(
// CHECK: kernel.empty #[[ROWS]] : tensor<?x4xf32>
// CHECK-NOT: group =
// CHECK: kernel.gemm {{.*}} b(%{{.*}} : tensor<2x4x4xf32>) offsets(
// CHECK: kernel.map ins(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<2x1x4xf32>) offsets({{.*}} indexing_maps = [#{{.*}}, #[[EXPERT]], #{{.*}}]
// CHECK: kernel.map ins(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x1xf32>) offsets({{.*}} indexing_maps = [#{{.*}}, #[[COLUMN]], #{{.*}}]
// CHECK: kernel.combine
func.func @grouped(%x: tensor<?x4xf32>, %i: tensor<?x2xi32>, %s: tensor<?x2xf32>, %w: tensor<2x4x4xf32>, %b: tensor<2x1x4xf32>) -> tensor<?x4xf32> {
  %r, %counts = graph.route %i : tensor<?x2xi32> -> !routing, tensor<2xi64>
  %rows = graph.dispatch %x, %r : (tensor<?x4xf32>, !routing) -> !all
  %p = graph.expert_matmul %rows, %w : (!all, tensor<2x4x4xf32>) -> !all
  %q = graph.add %p, %b : (!all, tensor<2x1x4xf32>) -> !all
  %slots = graph.dispatch_slot %s, %r : (tensor<?x2xf32>, !routing) -> !graph.ragged<2x?x1xf32>
  %m = graph.mul %q, %slots : (!all, !graph.ragged<2x?x1xf32>) -> !all
  %y = graph.combine %r, %m : (!routing, !all) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
