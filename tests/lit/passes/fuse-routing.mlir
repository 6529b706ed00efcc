// RUN: epifold-opt %s --epifold-fuse-routing | FileCheck %s
// RUN: epifold-opt %s --epifold-fuse-routing %{verify-remarks}

// Routings that become one launch, then those that do not, each function named by the cause.

#slots = affine_map<()[s0] -> (s0 * 2)>
#choices = affine_map<()[s0] -> (s0, 2)>
#experts = affine_map<()[s0] -> (s0, 8)>
#chunks = affine_map<()[s0] -> ((s0 * 2) ceildiv 1024, 8)>
#column = affine_map<()[s0] -> (s0 * 2, 1)>
#zero = affine_map<() -> (0)>
#own = affine_map<(r, k) -> (r, k)>
#ofRow = affine_map<(r, k) -> (r, 0)>

// CHECK-LABEL: func.func @normalized(
// CHECK-SAME: %[[LOGITS:[a-z0-9]+]]: tensor<?x8xf32>
// CHECK-DAG: %[[WEIGHTS:.*]] = kernel.empty #{{.*}} : tensor<?x2xf32>
// CHECK-DAG: %[[HISTOGRAM:.*]] = kernel.empty #{{.*}} : tensor<128x8xi32>
// CHECK: %[[R:.*]]:8 = kernel.route ins(%[[LOGITS]] : tensor<?x8xf32>) outs(%[[WEIGHTS]], {{.*}}, %[[HISTOGRAM]] : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<8xi64>, tensor<9xi64>, tensor<128x8xi32>) {normalize, softmax = 1 : i32}
// CHECK-NOT: kernel.{{softmax|top_k|map|row_reduce|route_|gather_rows|view}}
// CHECK: return %[[R]]#4, %[[R]]#3, %[[R]]#6 : tensor<?x1xf32>, tensor<?xi32>, tensor<9xi64>
func.func @normalized(%logits: tensor<?x8xf32>) -> (tensor<?x1xf32>, tensor<?xi32>, tensor<9xi64>) attributes {kernel.symbols = [[0, 0]]} {
  %p0 = kernel.empty #experts : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %p = kernel.softmax ins(%logits : tensor<?x8xf32>) outs(%p0 : tensor<?x8xf32>) {accuracy = 1 : i32} -> tensor<?x8xf32>
  %v0 = kernel.empty #choices : tensor<?x2xf32>
  %i0 = kernel.empty #choices : tensor<?x2xi32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %v, %i = kernel.top_k ins(%p : tensor<?x8xf32>) outs(%v0, %i0 : tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x2xf32>, tensor<?x2xi32>
  %s0 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?xf32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %sum = kernel.row_reduce ins(%v : tensor<?x2xf32>) outs(%s0 : tensor<?xf32>) -> tensor<?xf32>
  %sums = kernel.view %sum at #zero as affine_map<()[s0] -> (s0, 1)> : tensor<?xf32> -> tensor<?x1xf32>
  %w0 = kernel.empty #choices : tensor<?x2xf32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %w = kernel.map ins(%v, %sums : tensor<?x2xf32>, tensor<?x1xf32>) outs(%w0 : tensor<?x2xf32>) attributes {domain = 2 : i64, indexing_maps = [#own, #ofRow, #own]} {
  ^bb0(%value: f32, %total: f32):
    %q = arith.divf %value, %total : f32
    kernel.yield %q : f32
  } -> tensor<?x2xf32>
  %slots = kernel.view %i at #zero as #slots : tensor<?x2xi32> -> tensor<?xi32>
  %h0 = kernel.empty #chunks : tensor<?x8xi32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %h = kernel.route_histogram ins(%slots : tensor<?xi32>) outs(%h0 : tensor<?x8xi32>) -> tensor<?x8xi32>
  %b0 = kernel.empty #chunks : tensor<?x8xi32>
  %c0 = kernel.empty affine_map<() -> (8)> : tensor<8xi64>
  // expected-remark@+1 {{is computed in kernel.route}}
  %before, %counts = kernel.route_scan ins(%h : tensor<?x8xi32>) outs(%b0, %c0 : tensor<?x8xi32>, tensor<8xi64>) -> tensor<?x8xi32>, tensor<8xi64>
  %r0 = kernel.empty #slots : tensor<?xi32>
  %o0 = kernel.empty affine_map<() -> (9)> : tensor<9xi64>
  // expected-remark@+1 {{is computed in kernel.route}}
  %slot, %row, %begins = kernel.route_scatter ins(%slots, %before, %counts : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>) outs(%r0, %r0, %o0 : tensor<?xi32>, tensor<?xi32>, tensor<9xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  %column = kernel.view %w at #zero as #column : tensor<?x2xf32> -> tensor<?x1xf32>
  %g0 = kernel.empty #column : tensor<?x1xf32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %g = kernel.gather_rows src(%column : tensor<?x1xf32>) index(%slot : tensor<?xi32>) offsets(%begins : tensor<9xi64>) outs(%g0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  return %g, %row, %begins : tensor<?x1xf32>, tensor<?xi32>, tensor<9xi64>
}

// Probabilities that something else reads are kept; without a division the chosen ones are the weights.
// CHECK-LABEL: func.func @probabilitiesAreNeeded(
// CHECK: %[[R:.*]]:9 = kernel.route {{.*}} {keeps_probabilities, softmax = 0 : i32}
// CHECK: return %[[R]]#8, %[[R]]#0, %[[R]]#4
func.func @probabilitiesAreNeeded(%logits: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>, tensor<?x1xf32>) attributes {kernel.symbols = [[0, 0]]} {
  %p0 = kernel.empty #experts : tensor<?x8xf32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %p = kernel.softmax ins(%logits : tensor<?x8xf32>) outs(%p0 : tensor<?x8xf32>) {accuracy = 0 : i32} -> tensor<?x8xf32>
  %v0 = kernel.empty #choices : tensor<?x2xf32>
  %i0 = kernel.empty #choices : tensor<?x2xi32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %v, %i = kernel.top_k ins(%p : tensor<?x8xf32>) outs(%v0, %i0 : tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x2xf32>, tensor<?x2xi32>
  %slots = kernel.view %i at #zero as #slots : tensor<?x2xi32> -> tensor<?xi32>
  %h0 = kernel.empty #chunks : tensor<?x8xi32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %h = kernel.route_histogram ins(%slots : tensor<?xi32>) outs(%h0 : tensor<?x8xi32>) -> tensor<?x8xi32>
  %b0 = kernel.empty #chunks : tensor<?x8xi32>
  %c0 = kernel.empty affine_map<() -> (8)> : tensor<8xi64>
  // expected-remark@+1 {{is computed in kernel.route}}
  %before, %counts = kernel.route_scan ins(%h : tensor<?x8xi32>) outs(%b0, %c0 : tensor<?x8xi32>, tensor<8xi64>) -> tensor<?x8xi32>, tensor<8xi64>
  %r0 = kernel.empty #slots : tensor<?xi32>
  %o0 = kernel.empty affine_map<() -> (9)> : tensor<9xi64>
  // expected-remark@+1 {{is computed in kernel.route}}
  %slot, %row, %begins = kernel.route_scatter ins(%slots, %before, %counts : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>) outs(%r0, %r0, %o0 : tensor<?xi32>, tensor<?xi32>, tensor<9xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  %column = kernel.view %v at #zero as #column : tensor<?x2xf32> -> tensor<?x1xf32>
  %g0 = kernel.empty #column : tensor<?x1xf32>
  // expected-remark@+1 {{is computed in kernel.route}}
  %g = kernel.gather_rows src(%column : tensor<?x1xf32>) index(%slot : tensor<?xi32>) offsets(%begins : tensor<9xi64>) outs(%g0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  return %p, %v, %g : tensor<?x8xf32>, tensor<?x2xf32>, tensor<?x1xf32>
}

// CHECK-LABEL: func.func @weightsAreNotGathered(
// CHECK: kernel.route_scatter
// CHECK: return
func.func @weightsAreNotGathered(%logits: tensor<?x8xf32>) -> tensor<?xi32> attributes {kernel.symbols = [[0, 0]]} {
  %v0 = kernel.empty #choices : tensor<?x2xf32>
  %i0 = kernel.empty #choices : tensor<?x2xi32>
  %v, %i = kernel.top_k ins(%logits : tensor<?x8xf32>) outs(%v0, %i0 : tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x2xf32>, tensor<?x2xi32>
  %slots = kernel.view %i at #zero as #slots : tensor<?x2xi32> -> tensor<?xi32>
  %h0 = kernel.empty #chunks : tensor<?x8xi32>
  %h = kernel.route_histogram ins(%slots : tensor<?xi32>) outs(%h0 : tensor<?x8xi32>) -> tensor<?x8xi32>
  %b0 = kernel.empty #chunks : tensor<?x8xi32>
  %c0 = kernel.empty affine_map<() -> (8)> : tensor<8xi64>
  %before, %counts = kernel.route_scan ins(%h : tensor<?x8xi32>) outs(%b0, %c0 : tensor<?x8xi32>, tensor<8xi64>) -> tensor<?x8xi32>, tensor<8xi64>
  %r0 = kernel.empty #slots : tensor<?xi32>
  %o0 = kernel.empty affine_map<() -> (9)> : tensor<9xi64>
  // expected-remark@+1 {{the chosen weights are not gathered for the rows of all experts}}
  %slot, %row, %begins = kernel.route_scatter ins(%slots, %before, %counts : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>) outs(%r0, %r0, %o0 : tensor<?xi32>, tensor<?xi32>, tensor<9xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  return %slot : tensor<?xi32>
}

// CHECK-LABEL: func.func @logitsAreNotF32(
// CHECK: kernel.route_scatter
// CHECK: return
func.func @logitsAreNotF32(%logits: tensor<?x8xbf16>) -> tensor<?xi32> attributes {kernel.symbols = [[0, 0]]} {
  %v0 = kernel.empty #choices : tensor<?x2xbf16>
  %i0 = kernel.empty #choices : tensor<?x2xi32>
  %v, %i = kernel.top_k ins(%logits : tensor<?x8xbf16>) outs(%v0, %i0 : tensor<?x2xbf16>, tensor<?x2xi32>) -> tensor<?x2xbf16>, tensor<?x2xi32>
  %slots = kernel.view %i at #zero as #slots : tensor<?x2xi32> -> tensor<?xi32>
  %h0 = kernel.empty #chunks : tensor<?x8xi32>
  %h = kernel.route_histogram ins(%slots : tensor<?xi32>) outs(%h0 : tensor<?x8xi32>) -> tensor<?x8xi32>
  %b0 = kernel.empty #chunks : tensor<?x8xi32>
  %c0 = kernel.empty affine_map<() -> (8)> : tensor<8xi64>
  %before, %counts = kernel.route_scan ins(%h : tensor<?x8xi32>) outs(%b0, %c0 : tensor<?x8xi32>, tensor<8xi64>) -> tensor<?x8xi32>, tensor<8xi64>
  %r0 = kernel.empty #slots : tensor<?xi32>
  %o0 = kernel.empty affine_map<() -> (9)> : tensor<9xi64>
  // expected-remark@+1 {{the logits, or what is chosen from, are not f32}}
  %slot, %row, %begins = kernel.route_scatter ins(%slots, %before, %counts : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>) outs(%r0, %r0, %o0 : tensor<?xi32>, tensor<?xi32>, tensor<9xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  return %slot : tensor<?xi32>
}

// CHECK-LABEL: func.func @expertsAreGiven(
// CHECK: kernel.route_scatter
// CHECK: return
func.func @expertsAreGiven(%slots: tensor<?xi32>) -> tensor<?xi32> attributes {kernel.symbols = [[0, 0]]} {
  %h0 = kernel.empty affine_map<()[s0] -> (s0 ceildiv 1024, 8)> : tensor<?x8xi32>
  %h = kernel.route_histogram ins(%slots : tensor<?xi32>) outs(%h0 : tensor<?x8xi32>) -> tensor<?x8xi32>
  %b0 = kernel.empty affine_map<()[s0] -> (s0 ceildiv 1024, 8)> : tensor<?x8xi32>
  %c0 = kernel.empty affine_map<() -> (8)> : tensor<8xi64>
  %before, %counts = kernel.route_scan ins(%h : tensor<?x8xi32>) outs(%b0, %c0 : tensor<?x8xi32>, tensor<8xi64>) -> tensor<?x8xi32>, tensor<8xi64>
  %r0 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?xi32>
  %o0 = kernel.empty affine_map<() -> (9)> : tensor<9xi64>
  // expected-remark@+1 {{the experts are not chosen by top_k}}
  %slot, %row, %begins = kernel.route_scatter ins(%slots, %before, %counts : tensor<?xi32>, tensor<?x8xi32>, tensor<8xi64>) outs(%r0, %r0, %o0 : tensor<?xi32>, tensor<?xi32>, tensor<9xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<9xi64>
  return %slot : tensor<?xi32>
}
