// RUN: epifold-opt %s --epifold-fold-experts | FileCheck %s --implicit-check-not=graph.expert_
// RUN: epifold-opt %s --epifold-fold-experts %{verify-remarks}

// What does not fold, each function named by the cause. The branches stay as they are written.

// CHECK-LABEL: func.func @anExpertIsMissing(
// CHECK-COUNT-2: graph.matmul
func.func @anExpertIsMissing(%x: tensor<?x4xf32>, %w: tensor<3x8x4xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // expected-remark@+1 {{does not fold: of 3 experts, expert 1 has no branch}}
  %w0 = graph.select %w {index = 0} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w2 = graph.select %w {index = 2} : tensor<3x8x4xf32> -> tensor<8x4xf32>
  %y2 = graph.matmul %x, %w2 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return %y0, %y2 : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @onlyOneExpert(
// CHECK: graph.matmul
func.func @onlyOneExpert(%x: tensor<?x4xf32>, %w: tensor<1x8x4xf32>) -> tensor<?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<1x8x4xf32> -> tensor<8x4xf32>
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return %y0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @differentDilations(
// CHECK-COUNT-2: graph.causal_conv1d
func.func @differentDilations(%x: tensor<?x8xf32>, %w: tensor<2x8x8x3xf32>) -> tensor<2x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x8x3xf32> -> tensor<8x8x3xf32>
  // expected-remark@+1 {{, which has other attributes}}
  %y0 = graph.causal_conv1d %x, %w0 : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x8x3xf32> -> tensor<8x8x3xf32>
  %y1 = graph.causal_conv1d %x, %w1 {dilation = 2} : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// One expert keeps its accumulator, the other rounds it.
// CHECK-LABEL: func.func @differentRounding(
// CHECK-COUNT-2: graph.matmul
func.func @differentRounding(%x: tensor<?x4xbf16>, %w: tensor<2x8x4xbf16>) -> (tensor<?x8xf32>, tensor<?x8xbf16>) {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  // expected-remark@+1 {{, which has another type}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
  return %y0, %y1 : tensor<?x8xf32>, tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @inputsOfProductsDiffer(
// CHECK-COUNT-2: graph.matmul
func.func @inputsOfProductsDiffer(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %w: tensor<2x8x4xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{, which takes another operand 0}}
  %y0 = graph.matmul %a, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %y1 = graph.matmul %b, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return %y0, %y1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// A convolution over all experts has one input.
// CHECK-LABEL: func.func @inputsOfConvolutionsDiffer(
// CHECK-COUNT-2: graph.causal_conv1d
func.func @inputsOfConvolutionsDiffer(%x: tensor<2x?x8xf32>, %w: tensor<2x8x8x3xf32>) -> tensor<2x?x8xf32> {
  %x0 = graph.select %x {index = 0} : tensor<2x?x8xf32> -> tensor<?x8xf32>
  %w0 = graph.select %w {index = 0} : tensor<2x8x8x3xf32> -> tensor<8x8x3xf32>
  // expected-remark@+1 {{does not fold: the experts' inputs differ}}
  %y0 = graph.causal_conv1d %x0, %w0 : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %x1 = graph.select %x {index = 1} : tensor<2x?x8xf32> -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x8x3xf32> -> tensor<8x8x3xf32>
  %y1 = graph.causal_conv1d %x1, %w1 : (tensor<?x8xf32>, tensor<8x8x3xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// The experts' weights are crossed with another stack's: expert 0 of one belongs to expert 1 of the other.
// CHECK-LABEL: func.func @expertsAreCrossed(
// CHECK-COUNT-2: graph.mul
func.func @expertsAreCrossed(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a0 = graph.select %a {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  %a1 = graph.select %a {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  %b0 = graph.select %b {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  %b1 = graph.select %b {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: it takes values of expert 0 and of expert 1}}
  %y0 = graph.mul %a0, %b1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: it takes values of expert 0 and of expert 1}}
  %y1 = graph.mul %a1, %b0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y0, %y1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @eachExpertHasItsOwnScale(
// CHECK-COUNT-2: graph.rms_norm
func.func @eachExpertHasItsOwnScale(%x: tensor<?x8xf32>, %g: tensor<2x8xf32>) -> tensor<2x?x8xf32> {
  %g0 = graph.select %g {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: each expert has its own scale}}
  %y0 = graph.rms_norm %x, %g0 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %g1 = graph.select %g {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  %y1 = graph.rms_norm %x, %g1 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// The weights come from two parameters, so no value holds all experts'.
// CHECK-LABEL: func.func @weightsAreNotStacked(
// CHECK-COUNT-2: graph.matmul
func.func @weightsAreNotStacked(%x: tensor<?x4xf32>, %w0: tensor<8x4xf32>, %w1: tensor<8x4xf32>) -> tensor<2x?x8xf32> {
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// Only expert 0's result is clamped.
// CHECK-LABEL: func.func @oneExpertDoesMore(
// CHECK: graph.relu
func.func @oneExpertDoesMore(%a: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a0 = graph.select %a {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  %a1 = graph.select %a {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: expert 1 has none}}
  %y0 = graph.relu %a0 : tensor<8xf32> -> tensor<8xf32>
  return %y0, %a1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @numbersOfExpertsDiffer(
// CHECK-COUNT-2: graph.mul
func.func @numbersOfExpertsDiffer(%a: tensor<2x8xf32>, %b: tensor<3x8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a0 = graph.select %a {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  %a1 = graph.select %a {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  %b0 = graph.select %b {index = 0} : tensor<3x8xf32> -> tensor<8xf32>
  %b1 = graph.select %b {index = 1} : tensor<3x8xf32> -> tensor<8xf32>
  %b2 = graph.select %b {index = 2} : tensor<3x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: it takes values of one of 2 experts and of one of 3}}
  %y0 = graph.mul %a0, %b0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y1 = graph.mul %a1, %b1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y0, %y1, %b2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @eachExpertHasItsOwnBias(
// CHECK-COUNT-2: graph.layer_norm
func.func @eachExpertHasItsOwnBias(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<2x8xf32>) -> tensor<2x?x8xf32> {
  %b0 = graph.select %b {index = 0} : tensor<2x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: each expert has its own scale or bias}}
  %y0 = graph.layer_norm %x, %g, %b0 : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %b1 = graph.select %b {index = 1} : tensor<2x8xf32> -> tensor<8xf32>
  %y1 = graph.layer_norm %x, %g, %b1 : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// CHECK-LABEL: func.func @batchAndTimeAreDynamic(
// CHECK-COUNT-2: graph.matmul
func.func @batchAndTimeAreDynamic(%x: tensor<?x?x4xf32>, %w: tensor<2x8x4xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>) {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  // expected-remark@+1 {{does not fold: its input has several dynamic dimensions}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x?x4xf32>, tensor<8x4xf32>) -> tensor<?x?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<?x?x4xf32>, tensor<8x4xf32>) -> tensor<?x?x8xf32>
  return %y0, %y1 : tensor<?x?x8xf32>, tensor<?x?x8xf32>
}

// The rows of all experts are scaled once for each of two scales.
// CHECK-LABEL: func.func @rowsAreGroupedAlready(
// CHECK-COUNT-2: graph.mul
func.func @rowsAreGroupedAlready(%x: !graph.ragged<3x?x4xf32>, %s: tensor<2x4xf32>) -> (!graph.ragged<3x?x4xf32>, !graph.ragged<3x?x4xf32>) {
  %s0 = graph.select %s {index = 0} : tensor<2x4xf32> -> tensor<4xf32>
  // expected-remark@+1 {{does not fold: its rows are grouped already}}
  %y0 = graph.mul %x, %s0 : (!graph.ragged<3x?x4xf32>, tensor<4xf32>) -> !graph.ragged<3x?x4xf32>
  %s1 = graph.select %s {index = 1} : tensor<2x4xf32> -> tensor<4xf32>
  %y1 = graph.mul %x, %s1 : (!graph.ragged<3x?x4xf32>, tensor<4xf32>) -> !graph.ragged<3x?x4xf32>
  return %y0, %y1 : !graph.ragged<3x?x4xf32>, !graph.ragged<3x?x4xf32>
}

// The third expert's place in the sum has another value.
// CHECK-LABEL: func.func @sumLeavesAnExpertOut(
// CHECK-COUNT-2: graph.add
func.func @sumLeavesAnExpertOut(%a: tensor<3x8xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a0 = graph.select %a {index = 0} : tensor<3x8xf32> -> tensor<8xf32>
  %a1 = graph.select %a {index = 1} : tensor<3x8xf32> -> tensor<8xf32>
  %a2 = graph.select %a {index = 2} : tensor<3x8xf32> -> tensor<8xf32>
  // expected-remark@+1 {{does not fold: the sum does not take expert 2 where its turn is}}
  %s = graph.add %a0, %a1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = graph.add %s, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y, %a2 : tensor<8xf32>, tensor<8xf32>
}
