// RUN: epifold-opt %s --verify-diagnostics --split-input-file

// expected-error @+1 {{ragged rows are [?, width] or [experts, ?, width], got 1 dimensions}}
func.func @ragged_of_rank_one(%r: !graph.ragged<?xf32>) {
  return
}

// -----

// expected-error @+1 {{ragged rows are [?, width] or [experts, ?, width], got 4 dimensions}}
func.func @ragged_of_rank_four(%r: !graph.ragged<2x3x?x8xf32>) {
  return
}

// -----

// expected-error @+1 {{the row count of ragged rows must be '?', got 12}}
func.func @ragged_with_static_rows(%r: !graph.ragged<12x8xf32>) {
  return
}

// -----

// expected-error @+1 {{only the row count of ragged rows may be dynamic}}
func.func @ragged_with_dynamic_width(%r: !graph.ragged<?x?xf32>) {
  return
}

// -----

// expected-error @+1 {{only the row count of ragged rows may be dynamic}}
func.func @ragged_with_dynamic_experts(%r: !graph.ragged<?x?x8xf32>) {
  return
}

// -----

// expected-error @+1 {{ragged rows hold floats, got 'i32'}}
func.func @ragged_of_integers(%r: !graph.ragged<?x8xi32>) {
  return
}

// -----

// expected-error @+1 {{'graph.inputs' is not an argument attribute of the graph dialect; it has 'graph.input' and 'graph.param'}}
func.func @misspelt_argument(%x: tensor<4xf32> {graph.inputs = "in.x"}) {
  return
}

// -----

// expected-error @+1 {{'graph.result' is not an argument attribute of the graph dialect}}
func.func @result_name_on_argument(%x: tensor<4xf32> {graph.result = "out.x"}) {
  return
}

// -----

// expected-error @+1 {{'graph.input' must be a non-empty string, got 3}}
func.func @argument_name_is_a_number(%x: tensor<4xf32> {graph.input = 3}) {
  return
}

// -----

// expected-error @+1 {{'graph.param' must be a non-empty string, got ""}}
func.func @empty_argument_name(%x: tensor<4xf32> {graph.param = ""}) {
  return
}

// -----

// expected-error @+1 {{'graph.input' is not a result attribute of the graph dialect; it has 'graph.result'}}
func.func @input_name_on_result(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.input = "in.x"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'graph.result' must be a non-empty string, got unit}}
func.func @result_without_name(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.result}) {
  return %x : tensor<4xf32>
}
