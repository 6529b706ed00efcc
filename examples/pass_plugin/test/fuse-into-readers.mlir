// RUN: epifold-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(func.func(fuse-into-readers))' | FileCheck %s
// RUN: epifold-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(func.func(fuse-into-readers))' -o /dev/null \
// RUN:   --remarks-filter=.* --remark-format=emitRemark --verify-diagnostics

// Cheap elementwise launches are there once for each launch that reads them.

#id = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#turned = affine_map<(r, c) -> (c, r)>
#product = affine_map<(g, r, n) -> (r, n)>

// CHECK-LABEL: func.func @eachReaderHasItsOwn(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>)
// CHECK-DAG: %[[A:.*]] = kernel.map ins(%[[X]] : tensor<4x8xbf16>)
// CHECK-DAG: %[[B:.*]] = kernel.map ins(%[[X]] : tensor<4x8xbf16>)
// CHECK-DAG: kernel.map ins(%[[A]] : tensor<4x8xf32>)
// CHECK-DAG: kernel.map ins(%[[B]] : tensor<4x8xf32>)
// CHECK: return
func.func @eachReaderHasItsOwn(%x: tensor<4x8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{is computed by each of its 2 readers}}
  %1 = kernel.map ins(%x : tensor<4x8xbf16>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Launches that are there once, each function named by the cause.

// CHECK-LABEL: func.func @launchWritesAPartOfABuffer(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @launchWritesAPartOfABuffer(%x: tensor<4x8xbf16>, %o: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // expected-remark@+1 {{the launch writes a part of a buffer}}
  %0 = kernel.map ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %1 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %2 = kernel.map ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %3 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %4 = kernel.map ins(%0 : tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %2, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @launchRepeatsElements(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @launchRepeatsElements(%x: tensor<8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the launch only repeats elements}}
  %1 = kernel.map ins(%x : tensor<8xbf16>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#column, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @valueIsCostly(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @valueIsCostly(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{cheaper to read than to compute}}
  %1 = kernel.map ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %e = kernel.math exp f32 %a : f32
    kernel.yield %e : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @launchReadsMoreThanItWrites(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @launchReadsMoreThanItWrites(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{cheaper to read than to compute}}
  %1 = kernel.map ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) attributes {domain = 2 : i64, indexing_maps = [#id, #id, #id]} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    kernel.yield %s : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @launchCanJoinAProduct(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @launchCanJoinAProduct(%x: tensor<4x3xbf16>, %w: tensor<8x3xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %p = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xbf16>
  %q = kernel.gemm a(%x : tensor<4x3xbf16>) b(%w : tensor<8x3xbf16>) outs(%p : tensor<4x8xbf16>) attributes {indexing_maps = [#product]} {
  ^bb0(%acc: f32):
    %t = arith.truncf %acc : f32 to bf16
    kernel.yield %t : bf16
  } -> tensor<4x8xbf16>
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the launch can join a product}}
  %1 = kernel.map ins(%q : tensor<4x8xbf16>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @valueIsNeededInMemory(
// CHECK-COUNT-2: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @valueIsNeededInMemory(%x: tensor<4x8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the value is needed in memory}}
  %1 = kernel.map ins(%x : tensor<4x8xbf16>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.softmax ins(%1 : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) {accuracy = 1 : i32} -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @readerWritesIntoTheValue(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @readerWritesIntoTheValue(%x: tensor<4x8xbf16>) -> tensor<4x8xf32> {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the value is needed in memory}}
  %1 = kernel.map ins(%x : tensor<4x8xbf16>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.map ins(%3 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @readerCoversOtherRows(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @readerCoversOtherRows(%x: tensor<4x8xbf16>, %offsets: tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  // expected-remark@+1 {{the reader covers other rows}}
  %1 = kernel.map ins(%x : tensor<4x8xbf16>) outs(%0 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<4x8xf32>
  %2 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %3 = kernel.map ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  %4 = kernel.empty affine_map<() -> (4, 8)> : tensor<4x8xf32>
  %5 = kernel.map ins(%1 : tensor<4x8xf32>) offsets(%offsets : tensor<4xi64>) outs(%4 : tensor<4x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @readerReadsAtAnotherPlace(
// CHECK-COUNT-3: kernel.map
// CHECK-NOT: kernel.map
// CHECK: return
func.func @readerReadsAtAnotherPlace(%x: tensor<8x8xbf16>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  // expected-remark@+1 {{the reader reads at another place}}
  %1 = kernel.map ins(%x : tensor<8x8xbf16>) outs(%0 : tensor<8x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    kernel.yield %f : f32
  } -> tensor<8x8xf32>
  %2 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %3 = kernel.map ins(%1 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<8x8xf32>
  %4 = kernel.empty affine_map<() -> (8, 8)> : tensor<8x8xf32>
  %5 = kernel.map ins(%1 : tensor<8x8xf32>) outs(%4 : tensor<8x8xf32>) attributes {domain = 1 : i64, indexing_maps = [#turned, #id]} {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kernel.yield %n : f32
  } -> tensor<8x8xf32>
  return %3, %5 : tensor<8x8xf32>, tensor<8x8xf32>
}
