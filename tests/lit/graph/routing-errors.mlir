// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @top_k_larger_than_row(%p: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.top_k' op k = 5 must be between 1 and the 4 elements of a row}}
  %v, %i = graph.top_k %p {k = 5} : tensor<?x4xf32> -> tensor<?x5xf32>, tensor<?x5xi32>
  return
}

// -----

func.func @top_k_of_none(%p: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.top_k' op k = 0 must be between 1 and the 4 elements of a row}}
  %v, %i = graph.top_k %p {k = 0} : tensor<?x4xf32> -> tensor<?x0xf32>, tensor<?x0xi32>
  return
}

// -----

func.func @top_k_of_dynamic_rows(%p: tensor<4x?xf32>) {
  // expected-error @+1 {{'graph.top_k' op needs rows of a static, positive length, got 'tensor<4x?xf32>'}}
  %v, %i = graph.top_k %p {k = 1} : tensor<4x?xf32> -> tensor<4x1xf32>, tensor<4x1xi32>
  return
}

// -----

func.func @top_k_changes_type(%p: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.top_k' op values must hold 'f32', got 'tensor<?x2xbf16>'}}
  %v, %i = graph.top_k %p {k = 2} : tensor<?x4xf32> -> tensor<?x2xbf16>, tensor<?x2xi32>
  return
}

// -----

func.func @top_k_with_wide_indices(%p: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.top_k' op indices must hold 'i32', got 'tensor<?x2xi64>'}}
  %v, %i = graph.top_k %p {k = 2} : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi64>
  return
}

// -----

func.func @top_k_to_other_shape(%p: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.top_k' op indices must have shape [?, 2], got 'tensor<?x4xi32>'}}
  %v, %i = graph.top_k %p {k = 2} : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x4xi32>
  return
}

// -----

func.func @route_without_experts(%i: tensor<?x2xi32>) {
  // expected-error @+1 {{'graph.route' op needs at least one expert and one slot, got '!graph.routing<experts = 0, topk = 2>'}}
  %r, %c = graph.route %i : tensor<?x2xi32> -> !graph.routing<experts = 0, topk = 2>, tensor<0xi64>
  return
}

// -----

func.func @route_of_wide_indices(%i: tensor<?x2xi64>) {
  // expected-error @+1 {{'graph.route' op indices must hold 'i32', got 'tensor<?x2xi64>'}}
  %r, %c = graph.route %i : tensor<?x2xi64> -> !graph.routing<experts = 4, topk = 2>, tensor<4xi64>
  return
}

// -----

func.func @route_of_other_slots(%i: tensor<?x3xi32>) {
  // expected-error @+1 {{'graph.route' op indices must have shape [?, 2], got 'tensor<?x3xi32>'}}
  %r, %c = graph.route %i : tensor<?x3xi32> -> !graph.routing<experts = 4, topk = 2>, tensor<4xi64>
  return
}

// -----

func.func @route_counts_of_other_experts(%i: tensor<?x2xi32>) {
  // expected-error @+1 {{'graph.route' op counts must have shape [4], got 'tensor<8xi64>'}}
  %r, %c = graph.route %i : tensor<?x2xi32> -> !graph.routing<experts = 4, topk = 2>, tensor<8xi64>
  return
}

// -----

func.func @route_counts_are_narrow(%i: tensor<?x2xi32>) {
  // expected-error @+1 {{'graph.route' op counts must hold 'i64', got 'tensor<4xi32>'}}
  %r, %c = graph.route %i : tensor<?x2xi32> -> !graph.routing<experts = 4, topk = 2>, tensor<4xi32>
  return
}

// -----

func.func @dispatch_to_unknown_expert(%x: tensor<?x8xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch' op expert 4 is outside the 4 experts}}
  %0 = graph.dispatch %x, %r {expert = 4} : (tensor<?x8xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<?x8xf32>
  return
}

// -----

func.func @dispatch_of_dynamic_width(%x: tensor<?x?xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch' op takes [tokens, width] with a static width, got 'tensor<?x?xf32>'}}
  %0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x?xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<?x8xf32>
  return
}

// -----

func.func @dispatch_changes_type(%x: tensor<?x8xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch' op result must hold 'f32', got '!graph.ragged<?x8xbf16>'}}
  %0 = graph.dispatch %x, %r {expert = 0} : (tensor<?x8xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<?x8xbf16>
  return
}

// -----

func.func @dispatch_to_all_makes_one(%x: tensor<?x8xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch' op result must have shape [4, ?, 8], got '!graph.ragged<?x8xf32>'}}
  %0 = graph.dispatch %x, %r : (tensor<?x8xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<?x8xf32>
  return
}

// -----

func.func @dispatch_to_one_makes_all(%x: tensor<?x8xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch' op result must have shape [?, 8], got '!graph.ragged<4x?x8xf32>'}}
  %0 = graph.dispatch %x, %r {expert = 1} : (tensor<?x8xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<4x?x8xf32>
  return
}

// -----

func.func @dispatch_slot_of_other_slots(%w: tensor<?x3xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch_slot' op input must have shape [?, 2], got 'tensor<?x3xf32>'}}
  %0 = graph.dispatch_slot %w, %r {expert = 0} : (tensor<?x3xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<?x1xf32>
  return
}

// -----

func.func @dispatch_slot_of_all_slots(%w: tensor<?x2xf32>, %r: !graph.routing<experts = 4, topk = 2>) {
  // expected-error @+1 {{'graph.dispatch_slot' op result must have shape [?, 1], got '!graph.ragged<?x2xf32>'}}
  %0 = graph.dispatch_slot %w, %r {expert = 0} : (tensor<?x2xf32>, !graph.routing<experts = 4, topk = 2>) -> !graph.ragged<?x2xf32>
  return
}

// -----

func.func @combine_of_nothing(%r: !graph.routing<experts = 2, topk = 2>) {
  // expected-error @+1 {{'graph.combine' op needs the experts' rows}}
  %0 = "graph.combine"(%r) : (!graph.routing<experts = 2, topk = 2>) -> tensor<?x8xf32>
  return
}

// -----

func.func @combine_of_different(%r: !graph.routing<experts = 2, topk = 2>, %a: !graph.ragged<?x8xf32>, %b: !graph.ragged<?x4xf32>) {
  // expected-error @+1 {{'graph.combine' op inputs differ: '!graph.ragged<?x8xf32>' and '!graph.ragged<?x4xf32>'}}
  %0 = graph.combine %r, %a, %b : (!graph.routing<experts = 2, topk = 2>, !graph.ragged<?x8xf32>, !graph.ragged<?x4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @combine_misses_an_expert(%r: !graph.routing<experts = 2, topk = 2>, %a: !graph.ragged<?x8xf32>) {
  // expected-error @+1 {{'graph.combine' op takes one value per expert (2) or one grouped value, got 1 of '!graph.ragged<?x8xf32>'}}
  %0 = graph.combine %r, %a : (!graph.routing<experts = 2, topk = 2>, !graph.ragged<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @combine_of_other_experts(%r: !graph.routing<experts = 2, topk = 2>, %a: !graph.ragged<3x?x8xf32>) {
  // expected-error @+1 {{'graph.combine' op takes one value per expert (2) or one grouped value, got 1 of '!graph.ragged<3x?x8xf32>'}}
  %0 = graph.combine %r, %a : (!graph.routing<experts = 2, topk = 2>, !graph.ragged<3x?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @combine_to_other_width(%r: !graph.routing<experts = 2, topk = 2>, %a: !graph.ragged<2x?x8xf32>) {
  // expected-error @+1 {{'graph.combine' op result must have shape [?, 8], got 'tensor<?x4xf32>'}}
  %0 = graph.combine %r, %a : (!graph.routing<experts = 2, topk = 2>, !graph.ragged<2x?x8xf32>) -> tensor<?x4xf32>
  return
}
