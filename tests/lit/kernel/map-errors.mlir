// RUN: epifold-opt %s --verify-diagnostics --split-input-file

// These hold for every launch; a map shows them.

func.func @no_out(%x: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op needs at least one out}}
  "kernel.map"(%x) <{domain = 0 : i64, indexing_maps = [affine_map<(i) -> (i)>], operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%a: f32):
    kernel.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @outs_without_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op has 1 outs but 0 results}}
  "kernel.map"(%x) <{domain = 0 : i64, indexing_maps = [affine_map<(i) -> (i)>], operandSegmentSizes = array<i32: 0, 0, 1>}> ({
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @result_of_other_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op result type 'tensor<5xf32>' differs from its out's 'tensor<4xf32>'}}
  %0 = kernel.map outs(%x : tensor<4xf32>) attributes {domain = 0 : i64, indexing_maps = [affine_map<(i) -> (i)>]} {
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @group_without_offsets(%x: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op 'group' needs 'offsets'}}
  %0 = kernel.map outs(%x : tensor<4xf32>) attributes {domain = 0 : i64, group = 0 : i64, indexing_maps = [affine_map<(i) -> (i)>]} {
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  } -> tensor<4xf32>
  return
}

// -----

// Five offsets bound four experts.
func.func @group_outside(%x: tensor<?xf32>, %offsets: tensor<5xi64>) {
  // expected-error @+1 {{'kernel.map' op group 4 is outside the 4 experts of 'offsets'}}
  %0 = kernel.map offsets(%offsets : tensor<5xi64>) outs(%x : tensor<?xf32>)
      attributes {domain = 0 : i64, group = 4 : i64, indexing_maps = [affine_map<(i) -> (i)>]} {
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  } -> tensor<?xf32>
  return
}

// -----

func.func @domain_outside(%x: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op domain 1 names none of the 1 operands}}
  %0 = kernel.map outs(%x : tensor<4xf32>) attributes {domain = 1 : i64, indexing_maps = [affine_map<(i) -> (i)>]} {
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @domain_not_the_identity(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'kernel.map' op the domain operand's map must be the identity}}
  %0 = kernel.map outs(%x : tensor<4x4xf32>) attributes {domain = 0 : i64, indexing_maps = [affine_map<(r, c) -> (c, r)>]} {
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  } -> tensor<4x4xf32>
  return
}

// -----

func.func @too_few_maps(%x: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op has 1 indexing maps for 2 operands}}
  %0 = kernel.map ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>) attributes {domain = 0 : i64, indexing_maps = [affine_map<(i) -> (i)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @map_over_other_space(%x: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op indexing map affine_map<(d0, d1) -> (d0)> must take 1 dimensions and at most one symbol}}
  %0 = kernel.map ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>)
      attributes {domain = 1 : i64, indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @map_of_other_rank(%x: tensor<4x4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op indexing map affine_map<(d0) -> (d0)> does not index an operand of type 'tensor<4x4xf32>'}}
  %0 = kernel.map ins(%x : tensor<4x4xf32>) outs(%o : tensor<4xf32>)
      attributes {domain = 1 : i64, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4xf32>
  return
}

// -----

// The region gets elements as they are in memory; widening is its own step.
func.func @region_of_other_types(%x: tensor<4xbf16>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op region takes ('f32') but must take ('bf16')}}
  %0 = kernel.map ins(%x : tensor<4xbf16>) outs(%o : tensor<4xf32>)
      attributes {domain = 1 : i64, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @yields_too_many(%x: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.map' op yields 2 values for 1 outs}}
  %0 = kernel.map ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>)
      attributes {domain = 1 : i64, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%a: f32):
    kernel.yield %a, %a : f32, f32
  } -> tensor<4xf32>
  return
}

// -----

// Rounding to the out's type is written in the region.
func.func @yields_unrounded(%x: tensor<4xf32>, %o: tensor<4xbf16>) {
  // expected-error @+1 {{'kernel.map' op yields 'f32' for an out of 'bf16'}}
  %0 = kernel.map ins(%x : tensor<4xf32>) outs(%o : tensor<4xbf16>)
      attributes {domain = 1 : i64, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<4xbf16>
  return
}
