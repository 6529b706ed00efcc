// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @operand_of_other_type(%a: tensor<4xf32>, %b: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.add' op operand is 'tensor<4xbf16>' but the result holds 'f32'; insert graph.cast}}
  %0 = graph.add %a, %b : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}

// -----

func.func @result_of_other_type(%a: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.exp' op operand is 'tensor<4xbf16>' but the result holds 'f32'; insert graph.cast}}
  %0 = graph.exp %a : tensor<4xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @no_broadcast(%a: tensor<4x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'graph.mul' op operands do not broadcast: 'tensor<4x3xf32>' 'tensor<4xf32>'}}
  %0 = graph.mul %a, %b : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @result_of_other_shape(%a: tensor<4x1xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'graph.mul' op operands broadcast to [4, 3] but the result is 'tensor<4x1xf32>'}}
  %0 = graph.mul %a, %b : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @result_of_other_rank(%a: tensor<4xf32>) {
  // expected-error @+1 {{'graph.neg' op operands broadcast to [4] but the result is 'tensor<1x4xf32>'}}
  %0 = graph.neg %a : tensor<4xf32> -> tensor<1x4xf32>
  return
}

// -----

func.func @ragged_to_dense(%r: !graph.ragged<?x8xf32>) {
  // expected-error @+1 {{'graph.neg' op result 'tensor<?x8xf32>' must be ragged as its operand is}}
  %0 = graph.neg %r : !graph.ragged<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @dense_to_ragged(%x: tensor<1x8xf32>) {
  // expected-error @+1 {{'graph.neg' op result '!graph.ragged<?x8xf32>' is ragged but no operand is}}
  %0 = graph.neg %x : tensor<1x8xf32> -> !graph.ragged<?x8xf32>
  return
}

// -----

// Rows of a dense tensor are tokens, those of ragged rows are not.
func.func @dense_rows_beside_ragged(%r: !graph.ragged<?x8xf32>, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.add' op operand 'tensor<?x8xf32>' has its own rows and cannot be combined with ragged rows '!graph.ragged<?x8xf32>'}}
  %0 = graph.add %r, %x : (!graph.ragged<?x8xf32>, tensor<?x8xf32>) -> !graph.ragged<?x8xf32>
  return
}

// -----

// One bias per expert has size 1 in the row dimension: [4, 1, 8].
func.func @bias_without_row_dimension(%r: !graph.ragged<4x?x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.add' op operand 'tensor<4x8xf32>' has its own rows and cannot be combined with ragged rows}}
  %0 = graph.add %r, %b : (!graph.ragged<4x?x8xf32>, tensor<4x8xf32>) -> !graph.ragged<4x?x8xf32>
  return
}

// -----

func.func @biases_of_other_experts(%r: !graph.ragged<4x?x8xf32>, %b: tensor<3x1x8xf32>) {
  // expected-error @+1 {{'graph.add' op operands do not broadcast: '!graph.ragged<4x?x8xf32>' 'tensor<3x1x8xf32>'}}
  %0 = graph.add %r, %b : (!graph.ragged<4x?x8xf32>, tensor<3x1x8xf32>) -> !graph.ragged<4x?x8xf32>
  return
}

// -----

func.func @cast_to_other_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.cast' op operands broadcast to [4, 8] but the result is 'tensor<8x4xbf16>'}}
  %0 = graph.cast %x : tensor<4x8xf32> -> tensor<8x4xbf16>
  return
}

// -----

func.func @cast_of_integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{'graph.cast' op operand #0 must be float tensor or ragged rows}}
  %0 = graph.cast %x : tensor<4xi32> -> tensor<4xf32>
  return
}
