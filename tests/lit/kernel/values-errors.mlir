// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @empty_of_other_rank() {
  // expected-error @+1 {{'kernel.empty' op 'sizes' must give 2 sizes without dimensions}}
  %0 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?x8xf32>
  return
}

// -----

func.func @empty_over_dimensions() {
  // expected-error @+1 {{'kernel.empty' op 'sizes' must give 2 sizes without dimensions}}
  %0 = kernel.empty affine_map<(d0) -> (d0, 8)> : tensor<?x8xf32>
  return
}

// -----

func.func @empty_of_other_size() {
  // expected-error @+1 {{'kernel.empty' op 'sizes' affine_map<()[s0] -> (s0, 4)> contradicts the type 'tensor<?x8xf32>'}}
  %0 = kernel.empty affine_map<()[s0] -> (s0, 4)> : tensor<?x8xf32>
  return
}

// -----

func.func @empty_static_for_symbol() {
  // expected-error @+1 {{'kernel.empty' op 'sizes' affine_map<()[s0] -> (s0)> contradicts the type 'tensor<8xf32>'}}
  %0 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<8xf32>
  return
}

// -----

func.func @empty_dynamic_for_constant() {
  // expected-error @+1 {{'kernel.empty' op 'sizes' affine_map<() -> (8)> contradicts the type 'tensor<?xf32>'}}
  %0 = kernel.empty affine_map<() -> (8)> : tensor<?xf32>
  return
}

// -----

func.func @view_at_two_offsets(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'kernel.view' op 'offset' must be one expression}}
  %0 = kernel.view %x at affine_map<() -> (0, 0)> as affine_map<() -> (8)> : tensor<8x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @view_of_other_rank(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'kernel.view' op 'sizes' must give 1 sizes}}
  %0 = kernel.view %x at affine_map<() -> (0)> as affine_map<() -> (8, 8)> : tensor<8x8xf32> -> tensor<64xf32>
  return
}

// -----

func.func @view_changes_type(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'kernel.view' op changes the element type from 'f32' to 'i32'}}
  %0 = kernel.view %x at affine_map<() -> (0)> as affine_map<() -> (64)> : tensor<8x8xf32> -> tensor<64xi32>
  return
}

// -----

func.func @math_too_coarse_for_f64(%x: f64) {
  // expected-error @+1 {{'kernel.math' op accuracy f32 does not fit 'f64'}}
  %0 = kernel.math exp f32 %x : f64
  return
}

// -----

func.func @math_too_fine_for_f32(%x: f32) {
  // expected-error @+1 {{'kernel.math' op accuracy f64 does not fit 'f32'}}
  %0 = kernel.math exp f64 %x : f32
  return
}

// -----

func.func @math_of_bf16(%x: bf16) {
  // expected-error @+1 {{'kernel.math' op operand #0 must be 32-bit float or 64-bit float, but got 'bf16'}}
  %0 = kernel.math exp bf16 %x : bf16
  return
}
