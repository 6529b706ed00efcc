// RUN: not kernel-to-ptx %s --target=sm_90a 2>&1 | FileCheck %s

// CHECK: error: 'kernel.route_histogram' op counts at most 4096 experts, a static number; got 'tensor<?x5000xi32>'
func.func @tooMany(%a0: tensor<?xi32>, %a1: tensor<?x5000xi32>) {
  %r = kernel.route_histogram ins(%a0 : tensor<?xi32>)
    outs(%a1 : tensor<?x5000xi32>) -> tensor<?x5000xi32>
  return
}

// CHECK: error: 'kernel.route' op routes f32 logits of at most 512 experts, a static number; got 'tensor<?x600xf32>'
func.func @tooManyToRoute(%logits: tensor<?x600xf32>, %w: tensor<?x2xf32>, %i: tensor<?x2xi32>, %s: tensor<?xi32>, %g: tensor<?x1xf32>,
                          %c: tensor<600xi64>, %o: tensor<601xi64>, %h: tensor<128x600xi32>) {
  %0:8 = kernel.route ins(%logits : tensor<?x600xf32>)
    outs(%w, %i, %s, %s, %g, %c, %o, %h : tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<600xi64>, tensor<601xi64>, tensor<128x600xi32>)
    -> tensor<?x2xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x1xf32>, tensor<600xi64>, tensor<601xi64>, tensor<128x600xi32>
  return
}
