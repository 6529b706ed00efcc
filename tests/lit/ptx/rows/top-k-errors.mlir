// RUN: not kernel-to-ptx %s --target=sm_90a 2>&1 | FileCheck %s

// CHECK: error: 'kernel.top_k' op picks 9 of 8 elements a row; pick at most all
func.func @tooMany(%a0: tensor<?x8xf32>, %a1: tensor<?x9xf32>, %a2: tensor<?x9xi32>) {
  %r:2 = kernel.top_k ins(%a0 : tensor<?x8xf32>)
    outs(%a1, %a2 : tensor<?x9xf32>, tensor<?x9xi32>) -> tensor<?x9xf32>, tensor<?x9xi32>
  return
}
