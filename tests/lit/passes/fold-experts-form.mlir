// RUN: epifold-opt %s --epifold-fold-experts=form=single-product | FileCheck %s
// RUN: not epifold-opt %s --epifold-fold-experts=form=wide 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: epifold-opt %s --epifold-fold-experts=form=single-product %{verify-remarks}

// UNKNOWN: error: form 'wide' is neither 'experts' nor 'single-product'

// Products over one input become one product as wide as all experts; their results are the columns.
// CHECK-LABEL: func.func @products(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xbf16>, %[[W:.*]]: tensor<2x8x4xbf16>
// CHECK: %[[WIDE:.*]] = graph.reshape %[[W]] : tensor<2x8x4xbf16> -> tensor<16x4xbf16>
// CHECK: %[[ALL:.*]] = graph.matmul %[[X]], %[[WIDE]] : (tensor<?x4xbf16>, tensor<16x4xbf16>) -> tensor<?x16xf32>
// CHECK: %[[SPLIT:.*]] = graph.reshape %[[ALL]] : tensor<?x16xf32> -> tensor<?x2x8xf32>
// CHECK: %[[Y:.*]] = graph.transpose %[[SPLIT]] {permutation = array<i64: 1, 0, 2>} : tensor<?x2x8xf32> -> tensor<2x?x8xf32>
// CHECK: return %[[Y]]
func.func @products(%x: tensor<?x4xbf16>, %w: tensor<2x8x4xbf16>) -> tensor<2x?x8xf32> {
  %w0 = graph.select %w {index = 0} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  // expected-remark@+2 {{of 2 experts becomes one op}}
  // expected-remark@+1 {{becomes one plain product over its shared input}}
  %y0 = graph.matmul %x, %w0 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  %w1 = graph.select %w {index = 1} : tensor<2x8x4xbf16> -> tensor<8x4xbf16>
  %y1 = graph.matmul %x, %w1 : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xf32>
  %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// CHECK-LABEL: func.func @convolutions(
// CHECK: %[[WIDE:.*]] = graph.reshape %{{.*}} : tensor<2x6x8x3xf32> -> tensor<12x8x3xf32>
// CHECK: %[[ALL:.*]] = graph.causal_conv1d %{{.*}}, %[[WIDE]] {dilation = 2 : i64} : (tensor<4x?x8xf32>, tensor<12x8x3xf32>) -> tensor<4x?x12xf32>
// CHECK: %[[SPLIT:.*]] = graph.reshape %[[ALL]] : tensor<4x?x12xf32> -> tensor<4x?x2x6xf32>
// CHECK: graph.transpose %[[SPLIT]] {permutation = array<i64: 2, 0, 1, 3>} : tensor<4x?x2x6xf32> -> tensor<2x4x?x6xf32>
func.func @convolutions(%x: tensor<4x?x8xf32>, %w: tensor<2x6x8x3xf32>) -> tensor<2x4x?x6xf32> {
  // expected-remark@+1 {{becomes one plain product over its shared input}}
  %y = graph.expert_causal_conv1d %x, %w {dilation = 2} : (tensor<4x?x8xf32>, tensor<2x6x8x3xf32>) -> tensor<2x4x?x6xf32>
  return %y : tensor<2x4x?x6xf32>
}

// Where the experts' inputs differ there is no shared tile to read once.
// CHECK-LABEL: func.func @inputsDiffer(
// CHECK: graph.expert_matmul %{{.*}} : (tensor<2x?x4xf32>, tensor<2x8x4xf32>)
// CHECK: graph.expert_matmul %{{.*}} : (!graph.ragged<2x?x4xf32>, tensor<2x8x4xf32>)
// CHECK-NOT: graph.matmul
func.func @inputsDiffer(%x: tensor<2x?x4xf32>, %r: !graph.ragged<2x?x4xf32>, %w: tensor<2x8x4xf32>)
    -> (tensor<2x?x8xf32>, !graph.ragged<2x?x8xf32>) {
  // expected-remark@+1 {{the experts' inputs differ}}
  %y = graph.expert_matmul %x, %w : (tensor<2x?x4xf32>, tensor<2x8x4xf32>) -> tensor<2x?x8xf32>
  // expected-remark@+1 {{the experts' inputs differ}}
  %z = graph.expert_matmul %r, %w : (!graph.ragged<2x?x4xf32>, tensor<2x8x4xf32>) -> !graph.ragged<2x?x8xf32>
  return %y, %z : tensor<2x?x8xf32>, !graph.ragged<2x?x8xf32>
}

// Two dynamic sizes cannot be told apart after the reshape.
// CHECK-LABEL: func.func @batchAndTimeAreDynamic(
// CHECK: graph.expert_causal_conv1d
func.func @batchAndTimeAreDynamic(%x: tensor<?x?x8xf32>, %w: tensor<2x6x8x3xf32>) -> tensor<2x?x?x6xf32> {
  // expected-remark@+1 {{batch and time are both dynamic}}
  %y = graph.expert_causal_conv1d %x, %w : (tensor<?x?x8xf32>, tensor<2x6x8x3xf32>) -> tensor<2x?x?x6xf32>
  return %y : tensor<2x?x?x6xf32>
}
