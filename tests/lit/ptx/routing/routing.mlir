// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

// A block a chunk; the counts are integers in shared memory.
// CHECK-LABEL: // kernel route_histogram
// CHECK: grid ()[s0] -> (s0, 1, 1) over 1.0
// CHECK: block 256 1 1
// CHECK: {{atom|red}}{{.*}}.shared.add
func.func @histogram(%a0: tensor<?xi32>, %a1: tensor<?x40xi32>) {
  %r = kernel.route_histogram ins(%a0 : tensor<?xi32>)
    outs(%a1 : tensor<?x40xi32>) -> tensor<?x40xi32>
  return
}

// One block, in 32 KiB of shared memory at most.
// CHECK-LABEL: // kernel route_scan
// CHECK: grid () -> (1, 1, 1)
// CHECK: block 1024 1 1
// CHECK: shfl.sync.up.b32
func.func @scan(%a0: tensor<?x4096xi32>, %a1: tensor<?x4096xi64>, %a2: tensor<4097xi64>, %a3: tensor<4096xi64>) {
  %r:3 = kernel.route_scan ins(%a0 : tensor<?x4096xi32>)
    outs(%a1, %a2, %a3 : tensor<?x4096xi64>, tensor<4097xi64>, tensor<4096xi64>) -> tensor<?x4096xi64>, tensor<4097xi64>, tensor<4096xi64>
  return
}

// Ranks come from counting, not from atomics; -1 is written where a row or a slot has no partner.
// CHECK-LABEL: // kernel route_scatter
// CHECK: parameters: operand0 operand1 operand2 operand3 dim0.0 dim1.0 dim2.0 dim3.0 status
// CHECK-NOT: atom{{.*}}.shared
// CHECK: ld.shared.v4.b32
func.func @scatter(%a0: tensor<?xi32>, %a1: tensor<?x40xi64>, %a2: tensor<?xi32>, %a3: tensor<?xi32>) {
  %r:2 = kernel.route_scatter ins(%a0, %a1 : tensor<?xi32>, tensor<?x40xi64>)
    outs(%a2, %a3 : tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>, tensor<?xi32>
  return
}
