// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every pass: what it does, before and after, options and statistics.

#ifndef EPIFOLD_PASSES_PASSES_TD
#define EPIFOLD_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldExpertsPass : Pass<"epifold-fold-experts", "::mlir::func::FuncOp"> {
  let summary = "Folds the isomorphic branches of E experts into one op each";
  let description = [{
    Starts at the places where branches begin (`graph.select` of each expert's weights, `graph.dispatch` of each expert's
    rows), and follows the branches op by op: E ops that differ in nothing but the expert become one op with an expert
    dimension. The folded ops keep each expert's order of accumulation, so no bit changes. `graph.stack`, `graph.combine` and
    an ascending chain of `graph.add` over all experts end the branches and take the folded value.

    ```mlir
    // before
    %w0 = graph.select %w {index = 0} : tensor<2x8x4xf32> -> tensor<8x4xf32>
    %w1 = graph.select %w {index = 1} : tensor<2x8x4xf32> -> tensor<8x4xf32>
    %y0 = graph.matmul %x, %w0 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y1 = graph.matmul %x, %w1 : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y = graph.stack %y0, %y1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x?x8xf32>
    // after
    %y = graph.expert_matmul %x, %w : (tensor<?x4xf32>, tensor<2x8x4xf32>) -> tensor<2x?x8xf32>
    ```

    `form = single-product` turns products over one shared input into one plain product with the experts' outputs side by
    side, so that each tile of the input is read once for all experts:

    ```mlir
    %wide = graph.reshape %w : tensor<2x8x4xf32> -> tensor<16x4xf32>
    %all = graph.matmul %x, %wide : (tensor<?x4xf32>, tensor<16x4xf32>) -> tensor<?x16xf32>
    %split = graph.reshape %all : tensor<?x16xf32> -> tensor<?x2x8xf32>
    %y = graph.transpose %split {permutation = array<i64: 1, 0, 2>} : tensor<?x2x8xf32> -> tensor<2x?x8xf32>
    ```
  }];
  let options = [
    Option<"form", "form", "std::string", "\"experts\"",
           "'experts': one op with an expert dimension; 'single-product': one plain product where the input is shared">
  ];
  let statistics = [Statistic<"foldedOps", "ops-folded", "Ops that folding removed">];
  let dependentDialects = ["::epifold::graph::GraphDialect"];
}

def ConvertGraphToKernelPass : Pass<"epifold-convert-graph-to-kernel", "::mlir::ModuleOp"> {
  let summary = "Lowers each graph op to launches of its own";
  let description = [{
    Every function of graph ops becomes one of kernel ops. One graph op gives one launch, or the few that a tree or a routing
    table needs; nothing is fused. Sizes become affine expressions over the function's symbols (`kernel.symbols`), weights
    of convolutions get the tap-major layout that kernels stream (`kernel.layout`), and the rows of all experts share one buffer.

    ```mlir
    // before
    %y = graph.add %a, %b : (tensor<?x8xbf16>, tensor<8xbf16>) -> tensor<?x8xbf16>
    // after
    %out = kernel.empty affine_map<()[s0] -> (s0, 8)> : tensor<?x8xbf16>
    %y = kernel.map ins(%a, %b : tensor<?x8xbf16>, tensor<8xbf16>) outs(%out : tensor<?x8xbf16>) attributes {
      domain = 2, indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]} {
    ^bb0(%x: bf16, %z: bf16):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %z : bf16 to f32
      %2 = arith.addf %0, %1 : f32
      %3 = arith.truncf %2 : f32 to bf16
      kernel.yield %3 : bf16
    } -> tensor<?x8xbf16>
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
