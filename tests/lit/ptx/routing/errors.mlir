// RUN: not kernel-to-ptx %s --target=sm_90a 2>&1 | FileCheck %s

// CHECK: error: 'kernel.route_histogram' op counts at most 4096 experts, a static number; got 'tensor<?x5000xi32>'
func.func @tooMany(%a0: tensor<?xi32>, %a1: tensor<?x5000xi32>) {
  %r = kernel.route_histogram ins(%a0 : tensor<?xi32>)
    outs(%a1 : tensor<?x5000xi32>) -> tensor<?x5000xi32>
  return
}
