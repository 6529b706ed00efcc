// RUN: kernel-to-ptx %s --target=sm_80 --ptxas=%ptxas | FileCheck %s
// RUN: kernel-to-ptx %s --target=sm_90a --ptxas=%ptxas | FileCheck %s

#id = affine_map<(r, c) -> (r, c)>

// Fast math takes the special-function unit; at accuracy bf16 a reciprocal is shorter as a polynomial.
// CHECK-LABEL: // kernel map_vector
// CHECK-NOT: rcp.approx
// CHECK: ex2.approx.ftz.f32
// CHECK-NOT: rcp.approx
// CHECK: st.global
func.func @silu(%x: tensor<64x1024xf32>, %o: tensor<64x1024xf32>) attributes {graph.math = "fast"} {
  %0 = kernel.map ins(%x : tensor<64x1024xf32>) outs(%o : tensor<64x1024xf32>)
    attributes {indexing_maps = [#id, #id], domain = 1 : i64} {
  ^bb0(%a: f32):
    %y = kernel.math silu bf16 %a : f32
    kernel.yield %y : f32
  } -> tensor<64x1024xf32>
  return
}

// CHECK-LABEL: // kernel map_vector
// CHECK-DAG: ex2.approx.ftz.f32
// CHECK-DAG: lg2.approx.ftz.f32
// CHECK-DAG: tanh.approx.f32
// CHECK-DAG: rcp.approx.ftz.f32
// CHECK-DAG: rsqrt.approx.ftz.f32
// CHECK-DAG: sqrt.approx.ftz.f32
// CHECK: st.global
func.func @each(%x: tensor<64x1024xf32>, %o: tensor<64x1024xf32>) attributes {graph.math = "fast"} {
  %0 = kernel.map ins(%x : tensor<64x1024xf32>) outs(%o : tensor<64x1024xf32>)
    attributes {indexing_maps = [#id, #id], domain = 1 : i64} {
  ^bb0(%a: f32):
    %b = kernel.math exp f32 %a : f32
    %c = kernel.math log f32 %b : f32
    %d = kernel.math tanh f32 %c : f32
    %e = kernel.math sigmoid f32 %d : f32
    %f = kernel.math rsqrt f32 %e : f32
    %y = kernel.math sqrt f32 %f : f32
    kernel.yield %y : f32
  } -> tensor<64x1024xf32>
  return
}

// f64 has no approximations, the error function no shorter form; without the attribute nothing is approximate.
// CHECK-LABEL: // kernel map_vector
// CHECK-NOT: .approx.
func.func @f64(%x: tensor<64x1024xf64>, %o: tensor<64x1024xf64>) attributes {graph.math = "fast"} {
  %0 = kernel.map ins(%x : tensor<64x1024xf64>) outs(%o : tensor<64x1024xf64>)
    attributes {indexing_maps = [#id, #id], domain = 1 : i64} {
  ^bb0(%a: f64):
    %y = kernel.math tanh f64 %a : f64
    kernel.yield %y : f64
  } -> tensor<64x1024xf64>
  return
}
func.func @erf(%x: tensor<64x1024xf32>, %o: tensor<64x1024xf32>) attributes {graph.math = "fast"} {
  %0 = kernel.map ins(%x : tensor<64x1024xf32>) outs(%o : tensor<64x1024xf32>)
    attributes {indexing_maps = [#id, #id], domain = 1 : i64} {
  ^bb0(%a: f32):
    %y = kernel.math erf bf16 %a : f32
    %z = kernel.math gelu_erf f32 %y : f32
    kernel.yield %z : f32
  } -> tensor<64x1024xf32>
  return
}
func.func @portable(%x: tensor<64x1024xf32>, %o: tensor<64x1024xf32>) {
  %0 = kernel.map ins(%x : tensor<64x1024xf32>) outs(%o : tensor<64x1024xf32>)
    attributes {indexing_maps = [#id, #id], domain = 1 : i64} {
  ^bb0(%a: f32):
    %y = kernel.math tanh f32 %a : f32
    kernel.yield %y : f32
  } -> tensor<64x1024xf32>
  return
}
