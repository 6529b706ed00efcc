// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

#id = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#moved = affine_map<(r, c) -> (r, c + 3)>

// A bias for each column, added in f32 and rounded once.
// CHECK-LABEL: func.func @addBias
// CHECK: kernel.map ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8xf32>) outs(%{{.*}} : tensor<?x8xbf16>)
// CHECK-SAME: domain = 2 : i64
// CHECK-NEXT: ^bb0(%{{.*}}: bf16, %{{.*}}: f32):
// CHECK: kernel.yield %{{.*}} : bf16
// CHECK: -> tensor<?x8xbf16>
func.func @addBias(%x: tensor<?x8xbf16>, %b: tensor<8xf32>, %o: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %0 = kernel.map ins(%x, %b : tensor<?x8xbf16>, tensor<8xf32>) outs(%o : tensor<?x8xbf16>)
    attributes {domain = 2 : i64, indexing_maps = [#id, #column, #id]} {
  ^bb0(%a: bf16, %c: f32):
    %1 = arith.extf %a : bf16 to f32
    %2 = arith.addf %1, %c : f32
    %3 = arith.truncf %2 : f32 to bf16
    kernel.yield %3 : bf16
  } -> tensor<?x8xbf16>
  return %0 : tensor<?x8xbf16>
}

// Two outs, written from one reading; the domain may be an input, and an out may be written at an offset.
// CHECK-LABEL: func.func @split
// CHECK: kernel.map ins(%{{.*}}) outs(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x16xf32>)
// CHECK: kernel.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: -> tensor<?x8xf32>, tensor<?x16xf32>
func.func @split(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %p: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0:2 = kernel.map ins(%x : tensor<?x8xf32>) outs(%o, %p : tensor<?x8xf32>, tensor<?x16xf32>)
    attributes {domain = 0 : i64, indexing_maps = [#id, #id, #moved]} {
  ^bb0(%a: f32):
    %1 = arith.negf %a : f32
    kernel.yield %a, %1 : f32, f32
  } -> tensor<?x8xf32>, tensor<?x16xf32>
  return %0#1 : tensor<?x16xf32>
}

// Without ins it fills.
// CHECK-LABEL: func.func @fill
// CHECK: kernel.map outs(%{{.*}} : tensor<4xi64>)
func.func @fill(%o: tensor<4xi64>) -> tensor<4xi64> {
  %0 = kernel.map outs(%o : tensor<4xi64>) attributes {domain = 0 : i64, indexing_maps = [affine_map<(i) -> (i)>]} {
    %c = arith.constant 7 : i64
    kernel.yield %c : i64
  } -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// The rows of expert 1 only, and those of all experts with a bias for each (s0 is the row's expert).
// CHECK-LABEL: func.func @rows
// CHECK: kernel.map {{.*}}offsets(%{{.*}} : tensor<5xi64>)
// CHECK-SAME: group = 1 : i64
// CHECK: kernel.map {{.*}}offsets(%{{.*}} : tensor<5xi64>)
// CHECK-NOT: group
func.func @rows(%x: tensor<?x8xf32>, %b: tensor<4x8xf32>, %offsets: tensor<5xi64>, %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = kernel.map ins(%x : tensor<?x8xf32>) offsets(%offsets : tensor<5xi64>) outs(%o : tensor<?x8xf32>)
    attributes {domain = 1 : i64, group = 1 : i64, indexing_maps = [#id, #id]} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  } -> tensor<?x8xf32>
  %1 = kernel.map ins(%x, %b : tensor<?x8xf32>, tensor<4x8xf32>) offsets(%offsets : tensor<5xi64>) outs(%0 : tensor<?x8xf32>)
    attributes {domain = 2 : i64, indexing_maps = [#id, affine_map<(r, c)[e] -> (e, c)>, #id]} {
  ^bb0(%a: f32, %c: f32):
    %2 = arith.addf %a, %c : f32
    kernel.yield %2 : f32
  } -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
