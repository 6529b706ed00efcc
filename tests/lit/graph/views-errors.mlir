// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @constant_too_large() {
  // expected-error @+1 {{'graph.constant' op holds 65537 elements, more than 65536; make it a parameter}}
  %0 = "graph.constant"() {value = dense_resource<weights> : tensor<65537xi8>} : () -> tensor<65537xi8>
  return
}

// -----

func.func @select_outside_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.select' op dim 2 is outside a tensor of rank 2}}
  %0 = graph.select %x {dim = 2, index = 0} : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @select_from_dynamic(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.select' op selects from dynamic dimension 0 of 'tensor<?x8xf32>'}}
  %0 = graph.select %x {index = 0} : tensor<?x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @select_outside_dimension(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.select' op index 4 is outside dimension 0 of size 4}}
  %0 = graph.select %x {index = 4} : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @select_negative(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.select' op index -1 is outside dimension 0 of size 4}}
  %0 = graph.select %x {index = -1} : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @select_changes_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.select' op result must hold 'f32', got 'tensor<8xf64>'}}
  %0 = graph.select %x {index = 1} : tensor<4x8xf32> -> tensor<8xf64>
  return
}

// -----

func.func @select_keeps_dimension(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{'graph.select' op result must have shape [?], got 'tensor<1x?xf32>'}}
  %0 = graph.select %x {index = 1} : tensor<4x?xf32> -> tensor<1x?xf32>
  return
}

// -----

func.func @slice_outside_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op dim -1 is outside a tensor of rank 2}}
  %0 = graph.slice %x {dim = -1, end = 2} : tensor<4x8xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @slice_past_the_end(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op range 2 to 9 is outside dimension 1 of size 8}}
  %0 = graph.slice %x {dim = 1, begin = 2, end = 9} : tensor<4x8xf32> -> tensor<4x7xf32>
  return
}

// -----

func.func @slice_backwards(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op range 5 to 4 is outside dimension 1 of size 8}}
  %0 = graph.slice %x {dim = 1, begin = 5, end = -4} : tensor<4x8xf32> -> tensor<4x0xf32>
  return
}

// -----

func.func @slice_of_other_size(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op result must have shape [4, 7], got 'tensor<4x8xf32>'}}
  %0 = graph.slice %x {dim = 1, begin = 1} : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_changes_type(%x: tensor<4x8xi64>) {
  // expected-error @+1 {{'graph.slice' op result must hold 'i64', got 'tensor<4x7xi32>'}}
  %0 = graph.slice %x {dim = 1, begin = 1} : tensor<4x8xi64> -> tensor<4x7xi32>
  return
}

// -----

func.func @reshape_loses_elements(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.reshape' op turns 32 elements into 30}}
  %0 = graph.reshape %x : tensor<4x8xf32> -> tensor<30xf32>
  return
}

// -----

func.func @reshape_to_two_dynamic(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reshape' op result 'tensor<?x?x4xf32>' may have one dynamic dimension at most}}
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<?x?x4xf32>
  return
}

// -----

func.func @reshape_makes_dynamic(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.reshape' op result 'tensor<?x8xf32>' is dynamic but the input is not}}
  %0 = graph.reshape %x : tensor<4x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @reshape_changes_type(%x: tensor<4x8xbf16>) {
  // expected-error @+1 {{'graph.reshape' op result must hold 'bf16', got 'tensor<32xf16>'}}
  %0 = graph.reshape %x : tensor<4x8xbf16> -> tensor<32xf16>
  return
}

// -----

func.func @transpose_of_other_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op permutation has 3 entries for rank 2}}
  %0 = graph.transpose %x {permutation = array<i64: 0, 1, 2>} : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @transpose_outside_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op dim 2 is outside a tensor of rank 2}}
  %0 = graph.transpose %x {permutation = array<i64: 2, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @transpose_twice_the_same(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op permutation names dimension 1 twice}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 1>} : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @transpose_of_other_shape(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{'graph.transpose' op result must have shape [?, 4], got 'tensor<?x8xf32>'}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x?xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @transpose_changes_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op result must hold 'f32', got 'tensor<8x4xf64>'}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf64>
  return
}

// -----

func.func @stack_of_nothing() {
  // expected-error @+1 {{'graph.stack' op needs at least one input}}
  %0 = graph.stack : () -> tensor<0x8xf32>
  return
}

// -----

func.func @stack_of_different(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.stack' op inputs differ: 'tensor<?x8xf32>' and 'tensor<4x8xf32>'}}
  %0 = graph.stack %a, %b : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @stack_to_other_shape(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'graph.stack' op result must have shape [2, 8], got 'tensor<16xf32>'}}
  %0 = graph.stack %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @stack_changes_type(%a: tensor<8xf32>) {
  // expected-error @+1 {{'graph.stack' op result must hold 'f32', got 'tensor<1x8xbf16>'}}
  %0 = graph.stack %a : (tensor<8xf32>) -> tensor<1x8xbf16>
  return
}

// -----

func.func @concat_of_nothing() {
  // expected-error @+1 {{'graph.concat' op needs at least one input}}
  %0 = graph.concat {dim = 0} : () -> tensor<0x8xf32>
  return
}

// -----

func.func @concat_outside_rank(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.concat' op dim 2 is outside a tensor of rank 2}}
  %0 = graph.concat %a {dim = 2} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_of_different_types(%a: tensor<4x8xf32>, %b: tensor<4x8xbf16>) {
  // expected-error @+1 {{'graph.concat' op inputs differ outside dimension 0: 'tensor<4x8xf32>' and 'tensor<4x8xbf16>'}}
  %0 = graph.concat %a, %b {dim = 0} : (tensor<4x8xf32>, tensor<4x8xbf16>) -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_to_other_shape(%a: tensor<4x8xf32>, %b: tensor<2x8xf32>) {
  // expected-error @+1 {{'graph.concat' op result must have shape [6, 8], got 'tensor<8x8xf32>'}}
  %0 = graph.concat %a, %b {dim = 0} : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  return
}
