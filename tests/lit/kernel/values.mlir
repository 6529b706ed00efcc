// RUN: epifold-opt %s | epifold-opt | FileCheck %s
// RUN: epifold-opt %s --mlir-print-op-generic | epifold-opt | FileCheck %s

// Buffers, views of them, and scalar functions: what no launch belongs to.

// CHECK-DAG: #[[ROWS:[a-z0-9]+]] = affine_map<()[s0] -> (s0 * 8, 64)>
// CHECK-DAG: #[[NARROW:[a-z0-9]+]] = affine_map<()[s0] -> (s0 * 8, 8)>
// CHECK-DAG: #[[MIDDLE:[a-z0-9]+]] = affine_map<()[s0] -> (s0 * 32)>
// CHECK-DAG: #[[START:[a-z0-9]+]] = affine_map<() -> (0)>
// CHECK-DAG: #[[SCALAR:[a-z0-9]+]] = affine_map<() -> ()>

// CHECK-LABEL: func.func @buffers
func.func @buffers(%x: tensor<?x64xbf16>) -> tensor<?x8xbf16> {
  // CHECK: kernel.empty #[[ROWS]] : tensor<?x64xbf16>
  %0 = kernel.empty affine_map<()[s0] -> (s0 * 8, 64)> : tensor<?x64xbf16>
  // CHECK: kernel.empty #[[SCALAR]] : tensor<f32>
  %1 = kernel.empty affine_map<() -> ()> : tensor<f32>
  // CHECK: kernel.view %{{.*}} at #[[START]] as #[[NARROW]] : tensor<?x64xbf16> -> tensor<?x8xbf16>
  %2 = kernel.view %x at affine_map<() -> (0)> as affine_map<()[s0] -> (s0 * 8, 8)> : tensor<?x64xbf16> -> tensor<?x8xbf16>
  // CHECK: kernel.view %{{.*}} at #[[MIDDLE]] as #{{.*}} : tensor<?x64xbf16> -> tensor<64xbf16>
  %3 = kernel.view %x at affine_map<()[s0] -> (s0 * 32)> as affine_map<() -> (64)> : tensor<?x64xbf16> -> tensor<64xbf16>
  return %2 : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @math
func.func @math(%x: f32, %d: f64) -> (f32, f64) {
  // CHECK: kernel.math exp bf16 %{{.*}} : f32
  %0 = kernel.math exp bf16 %x : f32
  // CHECK: kernel.math log f32
  %1 = kernel.math log f32 %0 : f32
  // CHECK: kernel.math erf f32
  %2 = kernel.math erf f32 %1 : f32
  // CHECK: kernel.math tanh f32
  %3 = kernel.math tanh f32 %2 : f32
  // CHECK: kernel.math sigmoid f32
  %4 = kernel.math sigmoid f32 %3 : f32
  // CHECK: kernel.math silu f32
  %5 = kernel.math silu f32 %4 : f32
  // CHECK: kernel.math gelu_erf f64 %{{.*}} : f64
  %6 = kernel.math gelu_erf f64 %d : f64
  // CHECK: kernel.math gelu_tanh f64
  %7 = kernel.math gelu_tanh f64 %6 : f64
  // CHECK: kernel.math rsqrt f64
  %8 = kernel.math rsqrt f64 %7 : f64
  // CHECK: kernel.math sqrt f64
  %9 = kernel.math sqrt f64 %8 : f64
  return %5, %9 : f32, f64
}
