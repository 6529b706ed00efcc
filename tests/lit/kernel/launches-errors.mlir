// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @gather_from_a_stack(%x: tensor<2x?x8xf32>, %i: tensor<?xi32>, %o: tensor<?x8xf32>) {
  // expected-error @+1 {{'kernel.gather_rows' op takes src [rows, width], index [m] and an out [m, width]}}
  %0 = kernel.gather_rows src(%x : tensor<2x?x8xf32>) index(%i : tensor<?xi32>) outs(%o : tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @gather_changes_type(%x: tensor<?x8xf32>, %i: tensor<?xi32>, %o: tensor<?x8xbf16>) {
  // expected-error @+1 {{'kernel.gather_rows' op changes the element type}}
  %0 = kernel.gather_rows src(%x : tensor<?x8xf32>) index(%i : tensor<?xi32>) outs(%o : tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return
}

// -----

func.func @gather_of_a_group_without_offsets(%x: tensor<?x8xf32>, %i: tensor<?xi32>, %o: tensor<?x8xf32>) {
  // expected-error @+1 {{'kernel.gather_rows' op 'group' needs 'offsets'}}
  %0 = kernel.gather_rows src(%x : tensor<?x8xf32>) index(%i : tensor<?xi32>) outs(%o : tensor<?x8xf32>) {group = 0 : i64} -> tensor<?x8xf32>
  return
}

// -----

func.func @softmax_of_two(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>) {
  // expected-error @+1 {{'kernel.softmax' op takes 1 ins, got 2}}
  %0 = kernel.softmax ins(%x, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) {accuracy = 1 : i32} -> tensor<?x8xf32>
  return
}

// -----

func.func @softmax_of_a_cube(%x: tensor<2x?x8xf32>, %o: tensor<?x8xf32>) {
  // expected-error @+1 {{'kernel.softmax' op takes ins of rank 2, got 'tensor<2x?x8xf32>'}}
  %0 = kernel.softmax ins(%x : tensor<2x?x8xf32>) outs(%o : tensor<?x8xf32>) {accuracy = 1 : i32} -> tensor<?x8xf32>
  return
}

// -----

func.func @reduce_keeps_the_dimension(%x: tensor<?x8xf32>, %o: tensor<?x1xf32>) {
  // expected-error @+1 {{'kernel.row_reduce' op takes outs of rank 1, got 'tensor<?x1xf32>'}}
  %0 = kernel.row_reduce ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x1xf32>) -> tensor<?x1xf32>
  return
}

// -----

func.func @ordered_sum_of_rows(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @+1 {{'kernel.ordered_sum' op takes ins of rank 3, got 'tensor<4x8xf32>'}}
  %0 = kernel.ordered_sum ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @leaves_without_groups(%x: tensor<1x100x64xf32>, %o: tensor<1x2x1x3xf32>) {
  // expected-error @+1 {{'kernel.leaf_stats' op takes outs of rank 5, got 'tensor<1x2x1x3xf32>'}}
  %0 = kernel.leaf_stats ins(%x : tensor<1x100x64xf32>) outs(%o : tensor<1x2x1x3xf32>) {groups = 1 : i64} -> tensor<1x2x1x3xf32>
  return
}

// -----

func.func @merge_of_samples(%x: tensor<1x100x64xf32>, %o: tensor<1x1x2xf32>) {
  // expected-error @+1 {{'kernel.merge_stats' op takes ins of rank 5, got 'tensor<1x100x64xf32>'}}
  %0 = kernel.merge_stats ins(%x : tensor<1x100x64xf32>) outs(%o : tensor<1x1x2xf32>) {epsilon = 0.5 : f64} -> tensor<1x1x2xf32>
  return
}

// -----

func.func @row_stats_as_two_vectors(%x: tensor<?x8xf32>, %m: tensor<?xf32>) {
  // expected-error @+1 {{'kernel.row_stats' op takes 1 outs, got 2}}
  %0:2 = kernel.row_stats ins(%x : tensor<?x8xf32>) outs(%m, %m : tensor<?xf32>, tensor<?xf32>) {epsilon = 0.5 : f64} -> tensor<?xf32>, tensor<?xf32>
  return
}

// -----

func.func @top_k_without_indices(%x: tensor<?x8xf32>, %v: tensor<?x2xf32>) {
  // expected-error @+1 {{'kernel.top_k' op takes 2 outs, got 1}}
  %0 = kernel.top_k ins(%x : tensor<?x8xf32>) outs(%v : tensor<?x2xf32>) -> tensor<?x2xf32>
  return
}

// -----

func.func @histogram_of_tokens(%i: tensor<?x2xi32>, %h: tensor<?x8xi32>) {
  // expected-error @+1 {{'kernel.route_histogram' op takes ins of rank 1, got 'tensor<?x2xi32>'}}
  %0 = kernel.route_histogram ins(%i : tensor<?x2xi32>) outs(%h : tensor<?x8xi32>) -> tensor<?x8xi32>
  return
}

// -----

func.func @scan_without_counts(%h: tensor<?x8xi32>) {
  // expected-error @+1 {{'kernel.route_scan' op takes 2 outs, got 1}}
  %0 = kernel.route_scan ins(%h : tensor<?x8xi32>) outs(%h : tensor<?x8xi32>) -> tensor<?x8xi32>
  return
}

// -----

func.func @scatter_without_counts(%i: tensor<?xi32>) {
  // expected-error @+1 {{'kernel.route_scatter' op takes 3 ins, got 1}}
  %0:2 = kernel.route_scatter ins(%i : tensor<?xi32>) outs(%i, %i : tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @combine_by_tokens(%rows: tensor<?x8xf32>, %slots: tensor<?x2xi32>, %o: tensor<?x8xf32>) {
  // expected-error @+1 {{'kernel.combine' op takes ins of rank 1, got 'tensor<?x2xi32>'}}
  %0 = kernel.combine ins(%rows, %slots : tensor<?x8xf32>, tensor<?x2xi32>) outs(%o : tensor<?x8xf32>) {slots = 2 : i64} -> tensor<?x8xf32>
  return
}

// -----

func.func @nll_to_one_loss(%x: tensor<?x8xf32>, %t: tensor<?xi64>, %o: tensor<f32>) {
  // expected-error @+1 {{'kernel.row_nll' op takes outs of rank 1, got 'tensor<f32>'}}
  %0 = kernel.row_nll ins(%x, %t : tensor<?x8xf32>, tensor<?xi64>) outs(%o : tensor<f32>) {accuracy = 1 : i32} -> tensor<f32>
  return
}

// -----

func.func @result_of_other_type(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>) {
  // expected-error @+1 {{'kernel.softmax' op result type 'tensor<?x8xbf16>' differs from its out's 'tensor<?x8xf32>'}}
  %0 = kernel.softmax ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) {accuracy = 1 : i32} -> tensor<?x8xbf16>
  return
}

// -----

func.func @route_without_softmax(%x: tensor<?x8xf32>, %w: tensor<?x2xf32>, %i: tensor<?x2xi32>, %s: tensor<?xi32>, %g: tensor<?x1xf32>, %c: tensor<8xi64>, %o: tensor<9xi64>, %h: tensor<128x8xi32>) {
  // expected-error @+1 {{'kernel.route' op has no probabilities to keep without 'softmax'}}
  %0:9 = kernel.route ins(%x : tensor<?x8xf32>) outs(%w, %i, %s, %s, %g, %c, %o, %h, %x : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<9xi64>, tensor<128x8xi32>, tensor<?x8xf32>) {keeps_probabilities} -> tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<9xi64>, tensor<128x8xi32>, tensor<?x8xf32>
  return
}

// -----

func.func @route_to_other_experts(%x: tensor<?x8xf32>, %w: tensor<?x2xf32>, %i: tensor<?x2xi32>, %s: tensor<?xi32>, %g: tensor<?x1xf32>, %c: tensor<8xi64>, %o: tensor<8xi64>, %h: tensor<128x8xi32>) {
  // expected-error @+1 {{'kernel.route' op routes to 8 experts but has out 6 'tensor<8xi64>'}}
  %0:8 = kernel.route ins(%x : tensor<?x8xf32>) outs(%w, %i, %s, %s, %g, %c, %o, %h : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<8xi64>, tensor<128x8xi32>) -> tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<8xi64>, tensor<128x8xi32>
  return
}

// -----

func.func @route_keeps_weights_twice(%x: tensor<?x8xf32>, %w: tensor<?x2xf32>, %i: tensor<?x2xi32>, %s: tensor<?xi32>, %g: tensor<?x1xf32>, %c: tensor<8xi64>, %o: tensor<9xi64>, %h: tensor<128x8xi32>) {
  // expected-error @+1 {{'kernel.route' op keeps values that are the weights without 'normalize'}}
  %0:9 = kernel.route ins(%x : tensor<?x8xf32>) outs(%w, %i, %s, %s, %g, %c, %o, %h, %w : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<9xi64>, tensor<128x8xi32>, tensor<?x2xf32>) {keeps_values} -> tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<9xi64>, tensor<128x8xi32>, tensor<?x2xf32>
  return
}
