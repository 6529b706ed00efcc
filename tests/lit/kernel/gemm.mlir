// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

#rn = affine_map<(g, r, n) -> (r, n)>
#grn = affine_map<(g, r, n) -> (g, r, n)>
#n = affine_map<(g, r, n) -> (n)>

// The accumulator of bf16 operands is f32 and rounded by the epilogue.
// CHECK-LABEL: func.func @plain
// CHECK: kernel.gemm a(%{{.*}} : tensor<?x64xbf16>) b(%{{.*}} : tensor<32x64xbf16>) outs(%{{.*}} : tensor<?x32xbf16>)
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
func.func @plain(%a: tensor<?x64xbf16>, %b: tensor<32x64xbf16>, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %0 = kernel.gemm a(%a : tensor<?x64xbf16>) b(%b : tensor<32x64xbf16>) outs(%o : tensor<?x32xbf16>)
    attributes {indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    %1 = arith.truncf %acc : f32 to bf16
    kernel.yield %1 : bf16
  } -> tensor<?x32xbf16>
  return %0 : tensor<?x32xbf16>
}

// Gate and up share A; a bias comes as an extra; both products leave as one value.
// CHECK-LABEL: func.func @gateUp
// CHECK: b(%{{.*}}, %{{.*}} : tensor<32x64xf64>, tensor<32x64xf64>) extras(%{{.*}} : tensor<32xf64>)
// CHECK-NEXT: ^bb0(%{{.*}}: f64, %{{.*}}: f64, %{{.*}}: f64):
func.func @gateUp(%a: tensor<?x64xf64>, %gate: tensor<32x64xf64>, %up: tensor<32x64xf64>, %bias: tensor<32xf64>, %o: tensor<?x32xf64>)
    -> tensor<?x32xf64> {
  %0 = kernel.gemm a(%a : tensor<?x64xf64>) b(%gate, %up : tensor<32x64xf64>, tensor<32x64xf64>) extras(%bias : tensor<32xf64>)
    outs(%o : tensor<?x32xf64>) attributes {indexing_maps = [#n, #rn]} {
  ^bb0(%g: f64, %u: f64, %c: f64):
    %1 = arith.addf %g, %c : f64
    %2 = kernel.math silu f64 %1 : f64
    %3 = arith.mulf %2, %u : f64
    kernel.yield %3 : f64
  } -> tensor<?x32xf64>
  return %0 : tensor<?x32xf64>
}

// Thirty convolutions of two samples over one input.
// CHECK-LABEL: func.func @convolutions
// CHECK: kernel.gemm a(%{{.*}} : tensor<2x?x16xf32>) b(%{{.*}} : tensor<30x3x24x16xf32>)
// CHECK-SAME: dilation = 2 : i64
func.func @convolutions(%a: tensor<2x?x16xf32>, %b: tensor<30x3x24x16xf32>, %o: tensor<30x?x24xf32>) -> tensor<30x?x24xf32> {
  %0 = kernel.gemm a(%a : tensor<2x?x16xf32>) b(%b : tensor<30x3x24x16xf32>) outs(%o : tensor<30x?x24xf32>)
    attributes {dilation = 2 : i64, indexing_maps = [#grn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<30x?x24xf32>
  return %0 : tensor<30x?x24xf32>
}

// The rows of all experts, read from the tokens through the routing table; then those of one.
// CHECK-LABEL: func.func @routed
// CHECK: gather(%{{.*}} : tensor<?xi32>) offsets(%{{.*}} : tensor<9xi64>)
// CHECK-SAME: gather_divisor = 2 : i64
// CHECK: kernel.gemm {{.*}} offsets(%{{.*}} : tensor<9xi64>)
// CHECK-SAME: group = 7 : i64
func.func @routed(%x: tensor<?x64xf16>, %w: tensor<8x32x64xf16>, %w7: tensor<32x64xf16>, %slots: tensor<?xi32>, %offsets: tensor<9xi64>,
                  %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = kernel.gemm a(%x : tensor<?x64xf16>) b(%w : tensor<8x32x64xf16>) gather(%slots : tensor<?xi32>) offsets(%offsets : tensor<9xi64>)
    outs(%o : tensor<?x32xf32>) attributes {gather_divisor = 2 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x32xf32>
  %1 = kernel.gemm a(%x : tensor<?x64xf16>) b(%w7 : tensor<32x64xf16>) offsets(%offsets : tensor<9xi64>)
    outs(%0 : tensor<?x32xf32>) attributes {group = 7 : i64, indexing_maps = [#rn]} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } -> tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}
