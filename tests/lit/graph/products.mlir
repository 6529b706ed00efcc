// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Products and convolutions, plain and over all experts.

// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<?x64xbf16>, %batched: tensor<2x?x64xbf16>, %w: tensor<32x64xbf16>, %rows: !graph.ragged<?x64xbf16>,
                  %all: !graph.ragged<8x?x64xbf16>) {
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : (tensor<?x64xbf16>, tensor<32x64xbf16>) -> tensor<?x32xbf16>
  %0 = graph.matmul %x, %w : (tensor<?x64xbf16>, tensor<32x64xbf16>) -> tensor<?x32xbf16>
  // The accumulator unrounded.
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : (tensor<2x?x64xbf16>, tensor<32x64xbf16>) -> tensor<2x?x32xf32>
  %1 = graph.matmul %batched, %w : (tensor<2x?x64xbf16>, tensor<32x64xbf16>) -> tensor<2x?x32xf32>
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : (!graph.ragged<?x64xbf16>, tensor<32x64xbf16>) -> !graph.ragged<?x32xf32>
  %2 = graph.matmul %rows, %w : (!graph.ragged<?x64xbf16>, tensor<32x64xbf16>) -> !graph.ragged<?x32xf32>
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : (!graph.ragged<8x?x64xbf16>, tensor<32x64xbf16>) -> !graph.ragged<8x?x32xbf16>
  %3 = graph.matmul %all, %w : (!graph.ragged<8x?x64xbf16>, tensor<32x64xbf16>) -> !graph.ragged<8x?x32xbf16>
  return
}

// CHECK-LABEL: func.func @expertMatmul
func.func @expertMatmul(%shared: tensor<?x64xf32>, %own: tensor<8x?x64xf32>, %rows: !graph.ragged<8x?x64xf32>, %w: tensor<8x32x64xf32>) {
  // CHECK: graph.expert_matmul %{{.*}}, %{{.*}} : (tensor<?x64xf32>, tensor<8x32x64xf32>) -> tensor<8x?x32xf32>
  %0 = graph.expert_matmul %shared, %w : (tensor<?x64xf32>, tensor<8x32x64xf32>) -> tensor<8x?x32xf32>
  // CHECK: graph.expert_matmul %{{.*}}, %{{.*}} : (tensor<8x?x64xf32>, tensor<8x32x64xf32>) -> tensor<8x?x32xf32>
  %1 = graph.expert_matmul %own, %w : (tensor<8x?x64xf32>, tensor<8x32x64xf32>) -> tensor<8x?x32xf32>
  // CHECK: graph.expert_matmul %{{.*}}, %{{.*}} : (!graph.ragged<8x?x64xf32>, tensor<8x32x64xf32>) -> !graph.ragged<8x?x32xf32>
  %2 = graph.expert_matmul %rows, %w : (!graph.ragged<8x?x64xf32>, tensor<8x32x64xf32>) -> !graph.ragged<8x?x32xf32>
  return
}

// CHECK-LABEL: func.func @causalConv1d
func.func @causalConv1d(%x: tensor<?x16xf16>, %batched: tensor<?x?x16xf16>, %w: tensor<24x16x3xf16>) {
  // CHECK: graph.causal_conv1d %{{.*}}, %{{.*}} : (tensor<?x16xf16>, tensor<24x16x3xf16>) -> tensor<?x24xf16>
  %0 = graph.causal_conv1d %x, %w : (tensor<?x16xf16>, tensor<24x16x3xf16>) -> tensor<?x24xf16>
  // CHECK: graph.causal_conv1d %{{.*}}, %{{.*}} {dilation = 4 : i64} : (tensor<?x?x16xf16>, tensor<24x16x3xf16>) -> tensor<?x?x24xf32>
  %1 = graph.causal_conv1d %batched, %w {dilation = 4} : (tensor<?x?x16xf16>, tensor<24x16x3xf16>) -> tensor<?x?x24xf32>
  return
}

// CHECK-LABEL: func.func @expertCausalConv1d
func.func @expertCausalConv1d(%x: tensor<?x16xf64>, %batched: tensor<2x?x16xf64>, %w: tensor<30x24x16x3xf64>) {
  // CHECK: graph.expert_causal_conv1d %{{.*}}, %{{.*}} : (tensor<?x16xf64>, tensor<30x24x16x3xf64>) -> tensor<30x?x24xf64>
  %0 = graph.expert_causal_conv1d %x, %w : (tensor<?x16xf64>, tensor<30x24x16x3xf64>) -> tensor<30x?x24xf64>
  // CHECK: graph.expert_causal_conv1d %{{.*}} {dilation = 2 : i64} : {{.*}} -> tensor<30x2x?x24xf64>
  %1 = graph.expert_causal_conv1d %batched, %w {dilation = 2} : (tensor<2x?x16xf64>, tensor<30x24x16x3xf64>) -> tensor<30x2x?x24xf64>
  return
}
