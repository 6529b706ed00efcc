// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_90a | FileCheck %s
// RUN: kernel-to-ptx %s --ptxas=%ptxas --target=sm_80 | FileCheck %s

// One block for few tokens, which waits for no other; then 128 parts, whose blocks all have a place.
// CHECK-LABEL: // kernel route
// CHECK: grid ()[s0] -> (1, 1, 1) over 0.0
// CHECK: block 1024 1 1, dynamic shared 5888
// CHECK: for s0 up to 64
// CHECK: redux.sync.max.s32
// CHECK: div.rn.f32
// CHECK: match.any.sync.b32
// CHECK-LABEL: // kernel route
// CHECK: grid () -> (128, 1, 1)
// CHECK: block 1024 1 1
// CHECK: {{atom|red}}.{{.*}}shared{{.*}}add
// CHECK: ld.relaxed.gpu
// CHECK: match.any.sync.b32
func.func @route(%logits: tensor<?x40xf32>, %w: tensor<?x3xf32>, %i: tensor<?x3xi32>, %s: tensor<?xi32>, %r: tensor<?xi32>,
                 %g: tensor<?x1xf32>, %c: tensor<40xi64>, %o: tensor<41xi64>, %h: tensor<128x40xi32>, %v: tensor<?x3xf32>) {
  %0:9 = kernel.route ins(%logits : tensor<?x40xf32>)
    outs(%w, %i, %s, %r, %g, %c, %o, %h, %v : tensor<?x3xf32>, tensor<?x3xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<40xi64>, tensor<41xi64>, tensor<128x40xi32>, tensor<?x3xf32>)
    {softmax = 1 : i32, normalize, keeps_values}
    -> tensor<?x3xf32>, tensor<?x3xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<40xi64>, tensor<41xi64>, tensor<128x40xi32>, tensor<?x3xf32>
  return
}
