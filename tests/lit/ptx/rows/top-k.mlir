// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s

// A warp a row; values and indices travel together; NaN rows are found by a vote and reported.
// CHECK-LABEL: // kernel top_k
// CHECK: parameters: operand0 operand1 operand2 dim0.0 dim1.0 dim2.0 status
// CHECK: grid ()[s0] -> (s0 ceildiv 8, 1, 1) over 0.0
// CHECK: vote.sync.ballot.b32
// CHECK-DAG: redux.sync.max.s32
// CHECK-DAG: redux.sync.min.s32
// CHECK-DAG: atom{{.*}}.or.b64
// CHECK-DAG: atom{{.*}}.min.s64
func.func @experts512(%a0: tensor<?x512xf32>, %a1: tensor<?x10xf32>, %a2: tensor<?x10xi32>) {
  %r:2 = kernel.top_k ins(%a0 : tensor<?x512xf32>)
    outs(%a1, %a2 : tensor<?x10xf32>, tensor<?x10xi32>) -> tensor<?x10xf32>, tensor<?x10xi32>
  return
}

// Rows too long for registers are read again for each pick.
// CHECK-LABEL: // kernel top_k
// CHECK: vote.sync.ballot.b32
func.func @longRows(%a0: tensor<?x5000xbf16>, %a1: tensor<?x64xbf16>, %a2: tensor<?x64xi64>) {
  %r:2 = kernel.top_k ins(%a0 : tensor<?x5000xbf16>)
    outs(%a1, %a2 : tensor<?x64xbf16>, tensor<?x64xi64>) -> tensor<?x64xbf16>, tensor<?x64xi64>
  return
}
