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

// A block for each 32 experts, whose eight warps share the chunks.
// CHECK-LABEL: // kernel route_scan
// CHECK: grid () -> (128, 1, 1)
// CHECK: block 256 1 1
// CHECK: bar.sync
func.func @scan(%a0: tensor<?x4096xi32>, %a1: tensor<?x4096xi32>, %a2: tensor<4096xi64>) {
  %r:2 = kernel.route_scan ins(%a0 : tensor<?x4096xi32>)
    outs(%a1, %a2 : tensor<?x4096xi32>, tensor<4096xi64>) -> tensor<?x4096xi32>, tensor<4096xi64>
  return
}

// Warps take rows in turn, without atomics; there is a block for the offsets even when there are no slots.
// CHECK-LABEL: // kernel route_scatter
// CHECK: parameters: operand0 operand1 operand2 operand3 operand4 operand5 dim0.0 dim1.0 dim3.0 dim4.0 status
// CHECK: grid ()[s0] -> ((s0 + 1) ceildiv 1024, 1, 1) over 0.0
// CHECK-NOT: atom{{.*}}.shared
// CHECK: match.any.sync.b32
func.func @scatter(%a0: tensor<?xi32>, %a1: tensor<?x40xi32>, %a2: tensor<40xi64>, %a3: tensor<?xi32>, %a4: tensor<?xi32>, %a5: tensor<41xi64>) {
  %r:3 = kernel.route_scatter ins(%a0, %a1, %a2 : tensor<?xi32>, tensor<?x40xi32>, tensor<40xi64>)
    outs(%a3, %a4, %a5 : tensor<?xi32>, tensor<?xi32>, tensor<41xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<41xi64>
  return
}
