// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @region_of_other_types(%x: tensor<4x8xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.persistent' op region takes ('tensor<4xf32>') but must take ('tensor<4x8xf32>', 'tensor<4xf32>')}}
  %0 = kernel.persistent ins(%x : tensor<4x8xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @holds_scalar_code(%o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.persistent' op holds an op that is neither a launch nor a view}}
  %0 = kernel.persistent outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    // expected-note @+1 {{'arith.constant' is here}}
    %c = arith.constant 1.0 : f32
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @holds_another(%o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.persistent' op holds an op that is neither a launch nor a view}}
  %0 = kernel.persistent outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    // expected-note @+1 {{'kernel.persistent' is here}}
    %1 = kernel.persistent outs(%a : tensor<4xf32>) {
    ^bb0(%b: tensor<4xf32>):
      kernel.yield %b : tensor<4xf32>
    } -> tensor<4xf32>
    kernel.yield %1 : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @writes_an_in(%x: tensor<4x8xf32>, %i: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.persistent' op holds a launch whose out is none of its outs}}
  %0 = kernel.persistent ins(%x, %i : tensor<4x8xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    // expected-note @+1 {{'kernel.row_reduce' is here}}
    %s = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %c : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @yields_too_few(%o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.persistent' op yields 0 values for 1 outs}}
  %0 = kernel.persistent outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield
  } -> tensor<4xf32>
  return
}

// -----

func.func @yields_another_out(%x: tensor<4x8xf32>, %o: tensor<4xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.persistent' op yields for out 0 a value that is kept elsewhere}}
  %0:2 = kernel.persistent ins(%x : tensor<4x8xf32>) outs(%o, %p : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %s = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %c, %s : tensor<4xf32>, tensor<4xf32>
  } -> tensor<4xf32>, tensor<4xf32>
  return
}
