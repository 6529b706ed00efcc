// RUN: epifold-opt %s --verify-diagnostics --split-input-file

func.func @region_of_other_types(%x: tensor<4x8xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.cascade' op region takes ('tensor<4xf32>') but must take ('tensor<4x8xf32>', 'tensor<4xf32>')}}
  %0 = kernel.cascade ins(%x : tensor<4x8xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @holds_one(%x: tensor<4x8xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.cascade' op holds 1 launches but takes two or three}}
  %0 = kernel.cascade ins(%x : tensor<4x8xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4xf32>):
    %1 = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %1 : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @holds_scalar_code(%o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.cascade' op holds an op that is neither a launch nor a view}}
  %0 = kernel.cascade outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    // expected-note @+1 {{'arith.constant' is here}}
    %c = arith.constant 1.0 : f32
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @writes_an_in(%x: tensor<4x8xf32>, %i: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.cascade' op holds a launch whose out is none of its outs}}
  %0 = kernel.cascade ins(%x, %i : tensor<4x8xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    // expected-note @+1 {{'kernel.row_reduce' is here}}
    %s = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
    %t = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %t : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @yields_its_own_buffer(%x: tensor<4x8xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'kernel.cascade' op yields for out 0 a value that is kept elsewhere}}
  %0 = kernel.cascade ins(%x : tensor<4x8xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %c: tensor<4xf32>):
    %own = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
    %s = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%own : tensor<4xf32>) -> tensor<4xf32>
    %t = kernel.row_reduce ins(%a : tensor<4x8xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %s : tensor<4xf32>
  } -> tensor<4xf32>
  return
}
