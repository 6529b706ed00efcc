// RUN: epifold-opt %s --verify-diagnostics --split-input-file

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @no_b(%a: tensor<?x8xf32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op needs at least one B}}
  %0 = "kernel.gemm"(%a, %o) <{indexing_maps = [#rn], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 1>}> ({
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }) : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @other_depth(%a: tensor<?x8xf32>, %b: tensor<4x6xf32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op A has 8 columns but B has 6}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b : tensor<4x6xf32>) outs(%o : tensor<?x4xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @different_b(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>, %c: tensor<5x8xf32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op B operands differ in type: 'tensor<5x8xf32>' and 'tensor<4x8xf32>'}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b, %c : tensor<4x8xf32>, tensor<5x8xf32>) outs(%o : tensor<?x4xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32, %other: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @different_elements(%a: tensor<?x8xf16>, %b: tensor<4x8xbf16>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op A is 'f16' but B is 'bf16'}}
  %0 = kernel.gemm a(%a : tensor<?x8xf16>) b(%b : tensor<4x8xbf16>) outs(%o : tensor<?x4xf32>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @convolution_without_batch(%a: tensor<?x8xf32>, %b: tensor<3x4x8xf32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op a convolution takes A as [batch, time, channels] without offsets}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b : tensor<3x4x8xf32>) outs(%o : tensor<?x4xf32>)
      attributes {dilation = 1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @convolution_of_routed_rows(%a: tensor<1x?x8xf32>, %b: tensor<2x3x4x8xf32>, %offsets: tensor<3xi64>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op a convolution takes A as [batch, time, channels] without offsets}}
  %0 = kernel.gemm a(%a : tensor<1x?x8xf32>) b(%b : tensor<2x3x4x8xf32>) offsets(%offsets : tensor<3xi64>) outs(%o : tensor<?x4xf32>)
      attributes {dilation = 1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @gather_without_offsets(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>, %slots: tensor<?xi32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op 'gather' needs 'offsets'}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b : tensor<4x8xf32>) gather(%slots : tensor<?xi32>) outs(%o : tensor<?x4xf32>)
      attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @offsets_of_other_experts(%a: tensor<?x8xf32>, %b: tensor<3x4x8xf32>, %offsets: tensor<5xi64>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op B has 3 groups but offsets are for 4}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b : tensor<3x4x8xf32>) offsets(%offsets : tensor<5xi64>) outs(%o : tensor<?x4xf32>)
      attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

#rn = affine_map<(g, r, n) -> (r, n)>
func.func @group_outside(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>, %offsets: tensor<5xi64>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op group -1 is outside the 4 experts of 'offsets'}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b : tensor<4x8xf32>) offsets(%offsets : tensor<5xi64>) outs(%o : tensor<?x4xf32>)
      attributes {group = -1 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

func.func @map_over_rows_and_columns(%a: tensor<?x8xf32>, %b: tensor<4x8xf32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{'kernel.gemm' op indexing map affine_map<(d0, d1) -> (d0, d1)> must take 3 dimensions and at most one symbol}}
  %0 = kernel.gemm a(%a : tensor<?x8xf32>) b(%b : tensor<4x8xf32>) outs(%o : tensor<?x4xf32>)
      attributes {indexing_maps = [affine_map<(r, n) -> (r, n)>]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x4xf32>
  return
}

// -----

// The accumulator of bf16 operands is f32.
#rn = affine_map<(g, r, n) -> (r, n)>
func.func @accumulator_of_other_type(%a: tensor<?x8xbf16>, %b: tensor<4x8xbf16>, %o: tensor<?x4xbf16>) {
  // expected-error @+1 {{'kernel.gemm' op region takes ('bf16') but must take ('f32')}}
  %0 = kernel.gemm a(%a : tensor<?x8xbf16>) b(%b : tensor<4x8xbf16>) outs(%o : tensor<?x4xbf16>) attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: bf16):
    kernel.yield %acc : bf16
  } -> tensor<?x4xbf16>
  return
}
