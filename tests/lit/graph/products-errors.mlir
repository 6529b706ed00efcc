// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @matmul_of_different_types(%x: tensor<?x8xbf16>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.matmul' op rhs must hold 'bf16', got 'tensor<4x8xf32>'}}
  %0 = graph.matmul %x, %w : (tensor<?x8xbf16>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @matmul_rounds_to_another_type(%x: tensor<?x8xbf16>, %w: tensor<4x8xbf16>) {
  // expected-error @+1 {{'graph.matmul' op result must hold 'bf16' or 'f32', got 'f16'}}
  %0 = graph.matmul %x, %w : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xf16>
  return
}

// -----

func.func @matmul_of_a_vector(%x: tensor<8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.matmul' op takes lhs [..., m, k] and rhs [n, k], got 'tensor<8xf32>' and 'tensor<4x8xf32>'}}
  %0 = graph.matmul %x, %w : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_by_a_stack(%x: tensor<?x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.matmul' op takes lhs [..., m, k] and rhs [n, k], got 'tensor<?x8xf32>' and 'tensor<2x4x8xf32>'}}
  %0 = graph.matmul %x, %w : (tensor<?x8xf32>, tensor<2x4x8xf32>) -> tensor<2x?x4xf32>
  return
}

// -----

func.func @matmul_by_dynamic(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.matmul' op rhs 'tensor<?x8xf32>' must have static sizes}}
  %0 = graph.matmul %x, %w : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
  return
}

// -----

// The weight is [n, k] as in PyTorch's Linear, not [k, n].
func.func @matmul_by_transposed_weight(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'graph.matmul' op contracts 8 columns of lhs with 4 of rhs}}
  %0 = graph.matmul %x, %w : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @matmul_to_other_shape(%x: tensor<2x?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.matmul' op result must have shape [2, ?, 4], got 'tensor<?x4xf32>'}}
  %0 = graph.matmul %x, %w : (tensor<2x?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @matmul_makes_ragged(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.matmul' op result '!graph.ragged<?x4xf32>' must be ragged exactly when lhs is}}
  %0 = graph.matmul %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> !graph.ragged<?x4xf32>
  return
}

// -----

func.func @expert_matmul_of_different_types(%x: tensor<?x8xf16>, %w: tensor<2x4x8xbf16>) {
  // expected-error @+1 {{'graph.expert_matmul' op rhs must hold 'f16', got 'tensor<2x4x8xbf16>'}}
  %0 = graph.expert_matmul %x, %w : (tensor<?x8xf16>, tensor<2x4x8xbf16>) -> tensor<2x?x4xf16>
  return
}

// -----

func.func @expert_matmul_by_one_weight(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op takes rhs [experts, n, k] of static sizes, got 'tensor<4x8xf32>'}}
  %0 = graph.expert_matmul %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<2x?x4xf32>
  return
}

// -----

func.func @expert_matmul_of_rank_four(%x: tensor<2x3x?x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op takes lhs [m, k], [experts, m, k] or grouped rows, got 'tensor<2x3x?x8xf32>'}}
  %0 = graph.expert_matmul %x, %w : (tensor<2x3x?x8xf32>, tensor<2x4x8xf32>) -> tensor<2x3x?x4xf32>
  return
}

// -----

func.func @expert_matmul_of_one_experts_rows(%x: !graph.ragged<?x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op takes the rows of all experts, got one expert's: '!graph.ragged<?x8xf32>'}}
  %0 = graph.expert_matmul %x, %w : (!graph.ragged<?x8xf32>, tensor<2x4x8xf32>) -> !graph.ragged<2x?x4xf32>
  return
}

// -----

func.func @expert_matmul_of_other_experts(%x: !graph.ragged<3x?x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op lhs is for 3 experts, rhs for 2}}
  %0 = graph.expert_matmul %x, %w : (!graph.ragged<3x?x8xf32>, tensor<2x4x8xf32>) -> !graph.ragged<3x?x4xf32>
  return
}

// -----

func.func @expert_matmul_of_other_depth(%x: tensor<?x6xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op contracts 6 columns of lhs with 8 of rhs}}
  %0 = graph.expert_matmul %x, %w : (tensor<?x6xf32>, tensor<2x4x8xf32>) -> tensor<2x?x4xf32>
  return
}

// -----

func.func @expert_matmul_to_other_shape(%x: tensor<?x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op result must have shape [2, ?, 4], got 'tensor<?x8xf32>'}}
  %0 = graph.expert_matmul %x, %w : (tensor<?x8xf32>, tensor<2x4x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @expert_matmul_to_dense(%x: !graph.ragged<2x?x8xf32>, %w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.expert_matmul' op result 'tensor<2x?x4xf32>' must be ragged exactly when lhs is}}
  %0 = graph.expert_matmul %x, %w : (!graph.ragged<2x?x8xf32>, tensor<2x4x8xf32>) -> tensor<2x?x4xf32>
  return
}

// -----

func.func @conv_by_a_matrix(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.causal_conv1d' op takes a weight [o, ci, K] of static sizes, got 'tensor<4x8xf32>'}}
  %0 = graph.causal_conv1d %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @conv_of_a_vector(%x: tensor<8xf32>, %w: tensor<4x8x3xf32>) {
  // expected-error @+1 {{'graph.causal_conv1d' op takes an input [t, ci] or [b, t, ci], got 'tensor<8xf32>'}}
  %0 = graph.causal_conv1d %x, %w : (tensor<8xf32>, tensor<4x8x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @conv_without_dilation(%x: tensor<?x8xf32>, %w: tensor<4x8x3xf32>) {
  // expected-error @+1 {{'graph.causal_conv1d' op dilation must be at least 1, got 0}}
  %0 = graph.causal_conv1d %x, %w {dilation = 0} : (tensor<?x8xf32>, tensor<4x8x3xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @conv_of_other_channels(%x: tensor<?x8xf32>, %w: tensor<4x6x3xf32>) {
  // expected-error @+1 {{'graph.causal_conv1d' op input has 8 channels, the weight 6}}
  %0 = graph.causal_conv1d %x, %w : (tensor<?x8xf32>, tensor<4x6x3xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @conv_of_different_types(%x: tensor<?x8xf32>, %w: tensor<4x8x3xf64>) {
  // expected-error @+1 {{'graph.causal_conv1d' op rhs must hold 'f32', got 'tensor<4x8x3xf64>'}}
  %0 = graph.causal_conv1d %x, %w : (tensor<?x8xf32>, tensor<4x8x3xf64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @conv_to_other_shape(%x: tensor<2x?x8xf32>, %w: tensor<4x8x3xf32>) {
  // expected-error @+1 {{'graph.causal_conv1d' op result must have shape [2, ?, 4], got 'tensor<2x?x8xf32>'}}
  %0 = graph.causal_conv1d %x, %w : (tensor<2x?x8xf32>, tensor<4x8x3xf32>) -> tensor<2x?x8xf32>
  return
}

// -----

func.func @expert_conv_by_one_weight(%x: tensor<?x8xf32>, %w: tensor<4x8x3xf32>) {
  // expected-error @+1 {{'graph.expert_causal_conv1d' op takes a weight [experts, o, ci, K] of static sizes, got 'tensor<4x8x3xf32>'}}
  %0 = graph.expert_causal_conv1d %x, %w : (tensor<?x8xf32>, tensor<4x8x3xf32>) -> tensor<2x?x4xf32>
  return
}

// -----

func.func @expert_conv_to_other_shape(%x: tensor<?x8xf32>, %w: tensor<2x4x8x3xf32>) {
  // expected-error @+1 {{'graph.expert_causal_conv1d' op result must have shape [2, ?, 4], got 'tensor<?x4xf32>'}}
  %0 = graph.expert_causal_conv1d %x, %w : (tensor<?x8xf32>, tensor<2x4x8x3xf32>) -> tensor<?x4xf32>
  return
}
