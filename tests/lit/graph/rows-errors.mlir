// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @embedding_in_a_stack(%i: tensor<?xi64>, %t: tensor<2x16x8xf32>) {
  // expected-error @+1 {{'graph.embedding' op takes a table [rows, width] of static sizes, got 'tensor<2x16x8xf32>'}}
  %0 = graph.embedding %i, %t : (tensor<?xi64>, tensor<2x16x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_changes_type(%i: tensor<?xi64>, %t: tensor<16x8xbf16>) {
  // expected-error @+1 {{'graph.embedding' op result must hold 'bf16', got 'tensor<?x8xf32>'}}
  %0 = graph.embedding %i, %t : (tensor<?xi64>, tensor<16x8xbf16>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_to_other_shape(%i: tensor<2x?xi64>, %t: tensor<16x8xf32>) {
  // expected-error @+1 {{'graph.embedding' op result must have shape [2, ?, 8], got 'tensor<2x?x16xf32>'}}
  %0 = graph.embedding %i, %t : (tensor<2x?xi64>, tensor<16x8xf32>) -> tensor<2x?x16xf32>
  return
}

// -----

func.func @softmax_of_dynamic_rows(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{'graph.softmax' op needs rows of a static, positive length, got 'tensor<4x?xf32>'}}
  %0 = graph.softmax %x : tensor<4x?xf32> -> tensor<4x?xf32>
  return
}

// -----

func.func @softmax_of_empty_rows(%x: tensor<?x0xf32>) {
  // expected-error @+1 {{'graph.softmax' op needs rows of a static, positive length, got 'tensor<?x0xf32>'}}
  %0 = graph.softmax %x : tensor<?x0xf32> -> tensor<?x0xf32>
  return
}

// -----

func.func @softmax_changes_type(%x: tensor<?x8xbf16>) {
  // expected-error @+1 {{'graph.softmax' op result must hold 'bf16', got 'tensor<?x8xf32>'}}
  %0 = graph.softmax %x : tensor<?x8xbf16> -> tensor<?x8xf32>
  return
}

// -----

func.func @softmax_to_other_shape(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.softmax' op result must have shape [?, 8], got 'tensor<?x4xf32>'}}
  %0 = graph.softmax %x : tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @sum_outside_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' op dim 2 is outside a tensor of rank 2}}
  %0 = graph.reduce_sum %x {dim = 2} : tensor<?x8xf32> -> tensor<?xf32>
  return
}

// -----

func.func @sum_tree_over_first_dimension(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' op the tree sums the last dimension; use `order ascending` for dimension 0}}
  %0 = graph.reduce_sum %x {dim = 0} : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @sum_over_dynamic(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' op needs a static, positive size in dimension 0, got 'tensor<?x8xf32>'}}
  %0 = graph.reduce_sum %x order ascending {dim = 0} : tensor<?x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @sum_of_nothing(%x: tensor<?x0xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' op needs a static, positive size in dimension 1, got 'tensor<?x0xf32>'}}
  %0 = graph.reduce_sum %x {dim = 1} : tensor<?x0xf32> -> tensor<?xf32>
  return
}

// -----

func.func @sum_changes_type(%x: tensor<?x8xbf16>) {
  // expected-error @+1 {{'graph.reduce_sum' op result must hold 'bf16', got 'tensor<?xf32>'}}
  %0 = graph.reduce_sum %x {dim = 1} : tensor<?x8xbf16> -> tensor<?xf32>
  return
}

// -----

func.func @sum_without_keepdim(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' op result must have shape [?], got 'tensor<?x1xf32>'}}
  %0 = graph.reduce_sum %x {dim = 1} : tensor<?x8xf32> -> tensor<?x1xf32>
  return
}

// -----

func.func @group_norm_by_other_type(%x: tensor<?x8xbf16>, %g: tensor<8xf32>, %b: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.group_norm' op scale must hold 'bf16', got 'tensor<8xf32>'}}
  %0 = graph.group_norm %x, %g, %b : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xbf16>) -> tensor<?x8xbf16>
  return
}

// -----

func.func @group_norm_by_other_width(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'graph.group_norm' op bias must have shape [8], got 'tensor<4xf32>'}}
  %0 = graph.group_norm %x, %g, %b : (tensor<?x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @group_norm_of_a_vector(%x: tensor<8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'graph.group_norm' op takes an input [t, d] or [b, t, d], got 'tensor<8xf32>'}}
  %0 = graph.group_norm %x, %g, %g : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @group_norm_with_uneven_groups(%x: tensor<?x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'graph.group_norm' op cannot divide 8 channels into 3 groups}}
  %0 = graph.group_norm %x, %g, %g {groups = 3} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @group_norm_without_groups(%x: tensor<?x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'graph.group_norm' op cannot divide 8 channels into 0 groups}}
  %0 = graph.group_norm %x, %g, %g {groups = 0} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @layer_norm_of_dynamic_rows(%x: tensor<4x?xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op needs rows of a static, positive length, got 'tensor<4x?xf32>'}}
  %0 = graph.layer_norm %x, %g, %g : (tensor<4x?xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x?xf32>
  return
}

// -----

func.func @layer_norm_by_other_width(%x: tensor<?x8xf32>, %g: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op scale must have shape [8], got 'tensor<4xf32>'}}
  %0 = graph.layer_norm %x, %g, %b : (tensor<?x8xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @rms_norm_by_a_matrix(%x: tensor<2x8xf32>, %g: tensor<2x8xf32>) {
  // expected-error @+1 {{'graph.rms_norm' op scale must have shape [8], got 'tensor<2x8xf32>'}}
  %0 = graph.rms_norm %x, %g : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @rms_norm_changes_type(%x: tensor<?x8xbf16>, %g: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.rms_norm' op result must hold 'bf16', got 'tensor<?x8xf32>'}}
  %0 = graph.rms_norm %x, %g : (tensor<?x8xbf16>, tensor<8xbf16>) -> tensor<?x8xf32>
  return
}

// -----

func.func @cross_entropy_of_other_targets(%x: tensor<4x8xf32>, %t: tensor<5xi64>) {
  // expected-error @+1 {{'graph.cross_entropy' op targets must have shape [4], got 'tensor<5xi64>'}}
  %0 = graph.cross_entropy %x, %t : (tensor<4x8xf32>, tensor<5xi64>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_rounds(%x: tensor<?x8xbf16>, %t: tensor<?xi64>) {
  // expected-error @+1 {{'graph.cross_entropy' op result must hold 'f32', got 'tensor<bf16>'}}
  %0 = graph.cross_entropy %x, %t : (tensor<?x8xbf16>, tensor<?xi64>) -> tensor<bf16>
  return
}

// -----

func.func @cross_entropy_per_row(%x: tensor<?x8xf32>, %t: tensor<?xi64>) {
  // expected-error @+1 {{'graph.cross_entropy' op result must have shape [], got 'tensor<?xf32>'}}
  %0 = graph.cross_entropy %x, %t : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<?xf32>
  return
}
