// RUN: epifold-opt %s --epifold-convert-graph-to-kernel --verify-diagnostics --split-input-file

// Graphs that verify but cannot be lowered.

// expected-error @+1 {{argument 0 must be a ranked tensor, got '!graph.ragged<?x4xf32>'}}
func.func @ragged_argument(%x: !graph.ragged<?x4xf32>) -> tensor<f32> {
  %0 = graph.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @ragged_result(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>) -> !graph.ragged<2x?x4xf32> {
  %r, %counts = graph.route %i : tensor<?x1xi32> -> !graph.routing<experts = 2, topk = 1>, tensor<2xi64>
  %0 = graph.dispatch %x, %r : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<2x?x4xf32>
  // expected-error @+1 {{returns '!graph.ragged<2x?x4xf32>'; a graph's results are tensors (use graph.combine)}}
  return %0 : !graph.ragged<2x?x4xf32>
}

// -----

// One symbol cannot be both n and n − 1.
func.func @sizes_disagree(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = graph.slice %x {dim = 0, begin = 1} : tensor<?xf32> -> tensor<?xf32>
  // expected-error @+1 {{'graph.add' op needs sizes}}
  %1 = graph.add %x, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

func.func @slice_from_a_dynamic_end(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // expected-error @+1 {{'graph.slice' op begins at -3 from the end of a dynamic dimension, which no view and no copy can express here; make the dimension static or the outermost of rows}}
  %0 = graph.slice %x {dim = 1, begin = -3} : tensor<2x?xf32> -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

func.func @concat_after_dynamic(%x: tensor<?x4xf32>, %y: tensor<2x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'graph.concat' op joins after an input of dynamic size in dimension 0; only the last may be dynamic}}
  %0 = graph.concat %x, %y {dim = 0} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @rows_of_different_experts(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>) -> tensor<?x4xf32> {
  %r, %counts = graph.route %i : tensor<?x1xi32> -> !graph.routing<experts = 2, topk = 1>, tensor<2xi64>
  %0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xf32>
  // expected-note @+1 {{one operand is made here}}
  %1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xf32>
  // expected-error @+1 {{'graph.add' op combines rows of different routings or experts}}
  %2 = graph.add %0, %1 : (!graph.ragged<?x4xf32>, !graph.ragged<?x4xf32>) -> !graph.ragged<?x4xf32>
  %3 = graph.combine %r, %0, %2 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x4xf32>, !graph.ragged<?x4xf32>) -> tensor<?x4xf32>
  return %3 : tensor<?x4xf32>
}

// -----

func.func @experts_in_another_order(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>) -> tensor<?x4xf32> {
  %r, %counts = graph.route %i : tensor<?x1xi32> -> !graph.routing<experts = 2, topk = 1>, tensor<2xi64>
  %0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xf32>
  %1 = graph.dispatch %x, %r {expert = 1} : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<?x4xf32>
  // expected-error @+1 {{'graph.combine' op input 0 holds the rows of expert 1; give expert 0 first}}
  %2 = graph.combine %r, %1, %0 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<?x4xf32>, !graph.ragged<?x4xf32>) -> tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}

// -----

func.func @rows_of_another_routing(%x: tensor<?x4xf32>, %i: tensor<?x1xi32>, %j: tensor<?x1xi32>) -> tensor<?x4xf32> {
  %r, %counts = graph.route %i : tensor<?x1xi32> -> !graph.routing<experts = 2, topk = 1>, tensor<2xi64>
  %s, %others = graph.route %j : tensor<?x1xi32> -> !graph.routing<experts = 2, topk = 1>, tensor<2xi64>
  %0 = graph.dispatch %x, %r : (tensor<?x4xf32>, !graph.routing<experts = 2, topk = 1>) -> !graph.ragged<2x?x4xf32>
  // expected-error @+1 {{'graph.combine' op input 0 holds rows of another routing}}
  %1 = graph.combine %s, %0 : (!graph.routing<experts = 2, topk = 1>, !graph.ragged<2x?x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

// With two tokens a row of 3 would be left over.
func.func @reshape_may_leave_a_rest(%x: tensor<?x4xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{'graph.reshape' op makes rows of 3 elements of s0 * 4, which may leave a rest; let a static size before the reshape hold the factor}}
  %0 = graph.reshape %x : tensor<?x4xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
