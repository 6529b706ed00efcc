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

def FuseElementwiseChainsPass : Pass<"epifold-fuse-elementwise-chains", "::mlir::func::FuncOp"> {
  let summary = "Makes elementwise launches that feed one another one launch";
  let description = [{
    A `kernel.map` whose value only one other map reads is computed there instead. Each value is still rounded to its type,
    so no bit changes. Refused where the value is needed elsewhere, where it covers other rows, and where it would be
    computed more than once at a cost (a broadcast value with a division or a transcendental).

    ```mlir
    // before
    %c = kernel.map ins(%a : tensor<?x8xbf16>) outs(%0 : tensor<?x8xf32>) … {
    ^bb0(%x: bf16):
      %1 = arith.extf %x : bf16 to f32
      kernel.yield %1 : f32
    } -> tensor<?x8xf32>
    %d = kernel.map ins(%c, %b : tensor<?x8xf32>, tensor<8xf32>) outs(%2 : tensor<?x8xf32>) … {
    ^bb0(%x: f32, %y: f32):
      %3 = arith.addf %x, %y : f32
      kernel.yield %3 : f32
    } -> tensor<?x8xf32>
    // after
    %d = kernel.map ins(%a, %b : tensor<?x8xbf16>, tensor<8xf32>) outs(%2 : tensor<?x8xf32>) … {
    ^bb0(%x: bf16, %y: f32):
      %1 = arith.extf %x : bf16 to f32
      %3 = arith.addf %1, %y : f32
      kernel.yield %3 : f32
    } -> tensor<?x8xf32>
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseGlueIntoEpiloguePass : Pass<"epifold-fuse-glue-into-epilogue", "::mlir::func::FuncOp"> {
  let summary = "Moves elementwise launches into the epilogues of products";
  let description = [{
    A `kernel.map` over the result of a `kernel.gemm` that nothing else reads becomes part of the gemm's epilogue: bias,
    activation, residual, scale by a routing weight, casts. Where the map joins the results of several products over one
    input (gate and up), these become one product with several B's first. The accumulators' order does not change, and
    every value is still rounded to its type.

    ```mlir
    // before
    %g = kernel.gemm a(%x) b(%wg) outs(%0) … { ^bb0(%acc: f32): kernel.yield %acc : f32 }
    %u = kernel.gemm a(%x) b(%wu) outs(%1) … { ^bb0(%acc: f32): kernel.yield %acc : f32 }
    %h = kernel.map ins(%g, %u) outs(%2) … { ^bb0(%a: f32, %b: f32): … arith.mulf … }
    // after
    %h = kernel.gemm a(%x) b(%wg, %wu) outs(%2) … { ^bb0(%a: f32, %b: f32): … arith.mulf … }
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseGroupSumsPass : Pass<"epifold-fuse-group-sums", "::mlir::func::FuncOp"> {
  let summary = "Lets one product's epilogue add what a product's groups have made";
  let description = [{
    A `kernel.gemm` of a few groups over one A, whose results a `kernel.map` alone reads side by side (the sum over dense
    experts), becomes one product with a B for each group: a thread then has all groups' accumulators of a row and column, and
    the map is part of the epilogue. What the groups made is never stored. Refused where tiles that narrow would take longer than
    what they save.

    ```mlir
    // before
    %y = kernel.gemm a(%x : tensor<512x64xbf16>) b(%w : tensor<2x64x64xbf16>) outs(%0 : tensor<2x512x64xbf16>) …
    %s = kernel.map ins(%y, %y) outs(%1 : tensor<512x64xbf16>) attributes {
      indexing_maps = [affine_map<(r, n) -> (0, r, n)>, affine_map<(r, n) -> (1, r, n)>, …]} …
    // after
    %w0 = kernel.view %w … : tensor<2x64x64xbf16> -> tensor<64x64xbf16>
    %w1 = kernel.view %w … : tensor<2x64x64xbf16> -> tensor<64x64xbf16>
    %s = kernel.gemm a(%x : tensor<512x64xbf16>) b(%w0, %w1 : …) outs(%1 : tensor<512x64xbf16>) …
    ```
  }];
  let options = [
    Option<"mostGroups", "most-groups", "int64_t", "2", "The most groups, of which a thread holds the accumulators">
  ];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseSoftmaxIntoEpiloguePass : Pass<"epifold-fuse-softmax-into-epilogue", "::mlir::func::FuncOp"> {
  let summary = "Computes the softmax of a few columns in the epilogue that reads it";
  let description = [{
    A `kernel.softmax` of at most eight columns that a `kernel.gemm` alone reads, by its own rows, disappears: the epilogue
    reads the logits, and each thread computes the exponentials of its rows, in the same order.

    ```mlir
    // before
    %p = kernel.softmax ins(%l : tensor<512x2xf32>) outs(%0 : tensor<512x2xf32>) {accuracy = 1 : i32}
    %y = kernel.gemm a(%x) b(%w) extras(%p) outs(%1) … { ^bb0(%acc: f32, %g: f32): … }
    // after
    %y = kernel.gemm a(%x) b(%w) extras(%l, %l, %l) outs(%1) … {
    ^bb0(%acc: f32, %own: f32, %l0: f32, %l1: f32):
      %m = arith.maximumf %l0, %l1 : f32
      …
    }
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect", "::mlir::arith::ArithDialect"];
}

def FuseCastsIntoReadersPass : Pass<"epifold-fuse-casts-into-readers", "::mlir::func::FuncOp"> {
  let summary = "Stores values as narrow as they were rounded";
  let description = [{
    A launch whose last step widens a rounded value stores the narrow value, and the elementwise launches and epilogues that
    read it widen it: half the bytes both ways, and the same bits. Refused where something reads the wide type itself, as the
    operand of a product, and where the launch writes a part of a buffer.

    ```mlir
    // before
    %y = kernel.gemm a(%x) b(%w) outs(%0 : tensor<?x8xf32>) … {
    ^bb0(%acc: f32):
      %1 = arith.truncf %acc : f32 to bf16
      %2 = arith.extf %1 : bf16 to f32
      kernel.yield %2 : f32
    }
    %z = kernel.map ins(%y : tensor<?x8xf32>) … { ^bb0(%a: f32): … }
    // after
    %y = kernel.gemm a(%x) b(%w) outs(%0 : tensor<?x8xbf16>) … {
    ^bb0(%acc: f32):
      %1 = arith.truncf %acc : f32 to bf16
      kernel.yield %1 : bf16
    }
    %z = kernel.map ins(%y : tensor<?x8xbf16>) … { ^bb0(%a: bf16): %2 = arith.extf %a : bf16 to f32 … }
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect", "::mlir::arith::ArithDialect"];
}

def FuseGatherIntoProductPass : Pass<"epifold-fuse-gather-into-product", "::mlir::func::FuncOp"> {
  let summary = "Lets products gather the rows they read";
  let description = [{
    A `kernel.gather_rows` of routed rows that one `kernel.gemm` alone reads disappears: the gemm reads each row where it
    is, through the same index.

    ```mlir
    // before
    %rows = kernel.gather_rows src(%x) index(%slot) offsets(%o) outs(%0) {divisor = 2 : i64}
    %y = kernel.gemm a(%rows) b(%w) offsets(%o) outs(%1) …
    // after
    %y = kernel.gemm a(%x) b(%w) gather(%slot) offsets(%o) outs(%1) attributes {gather_divisor = 2 : i64} …
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseNormStatisticsPass : Pass<"epifold-fuse-norm-statistics", "::mlir::func::FuncOp"> {
  let summary = "Lets launches that write a norm's input give its statistics, and launches that normalise merge them";
  let description = [{
    The blocks of a product or of an elementwise launch add the statistics of the 64×64 leaves that they wrote, so that no
    `kernel.leaf_stats` reads the rows again; each block of a launch that normalises merges its sample's leaves, by the same
    tree, before it begins. Either pair becomes one `kernel.cascade`. Leaves and their order stay, and so do all bits. Refused
    where tiles are no whole leaves: samples that do not begin at a multiple of 64 rows, groups at one of 64 channels, rows of
    several groups; and where the statistics are needed elsewhere, or a block would merge too many leaves.

    ```mlir
    // before
    %y = kernel.gemm a(%x) b(%w) outs(%0 : tensor<512x1536xbf16>) …
    %v = kernel.view %y …
    %l = kernel.leaf_stats ins(%v : tensor<1x512x1536xbf16>) outs(%1 : tensor<1x1x8x24x3xf32>) {groups = 1 : i64}
    %s = kernel.merge_stats ins(%l : tensor<1x1x8x24x3xf32>) outs(%2 : tensor<1x1x2xf32>) {epsilon = 1.0e-05 : f64}
    %n = kernel.map ins(%y, %s, %s) outs(%3) …
    // after
    %y, %l = kernel.cascade ins(%x, %w) outs(%0, %1) {
    ^bb0(…):
      %4 = kernel.gemm …
      %5 = kernel.view %4 …
      %6 = kernel.leaf_stats ins(%5) …
      kernel.yield %4, %6 : …
    }
    %n = kernel.cascade ins(%l, %y) outs(%3) {
    ^bb0(…):
      %7 = kernel.empty …
      %8 = kernel.merge_stats ins(…) outs(%7) …
      %9 = kernel.map ins(…, %8, %8) …
      kernel.yield %9 : …
    }
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseNarrowProductsPass : Pass<"epifold-fuse-narrow-products", "::mlir::func::FuncOp"> {
  let summary = "Lets elementwise launches multiply the rows they write by a router's weight";
  let description = [{
    A `kernel.gemm` of at most 32 columns in bf16 or f16 whose rows an elementwise launch writes, perhaps after it has merged
    a norm's statistics, becomes the last part of a `kernel.cascade`: each block multiplies its rows while it has them, step
    by step as the product does. A launch by itself would wait for its few long reductions. Refused where rows and weight do not
    fit a block's shared memory.

    ```mlir
    // before
    %y = kernel.map ins(%x) outs(%0 : tensor<512x1536xbf16>) …
    %l = kernel.gemm a(%y) b(%w : tensor<2x1536xbf16>) outs(%1 : tensor<512x2xf32>) …
    // after
    %y, %l = kernel.cascade ins(%x, %w) outs(%0, %1) {
    ^bb0(…):
      %2 = kernel.map …
      %3 = kernel.gemm a(%2) …
      kernel.yield %2, %3 : …
    }
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseLossMeanPass : Pass<"epifold-fuse-loss-mean", "::mlir::func::FuncOp"> {
  let summary = "Lets the launch of rows' losses sum them, too";
  let description = [{
    A `kernel.row_reduce` over all losses of a `kernel.row_nll` that nothing else reads becomes the second part of a
    `kernel.cascade`: the block that comes last sums, by the same tree.

    ```mlir
    // before
    %l = kernel.row_nll ins(%x, %t) outs(%0 : tensor<512xf32>) {accuracy = 1 : i32}
    %v = kernel.view %l … : tensor<512xf32> -> tensor<1x512xf32>
    %m = kernel.row_reduce ins(%v) outs(%1 : tensor<1xf32>) {mean}
    // after
    %l, %m = kernel.cascade ins(%x, %t) outs(%0, %1) {
    ^bb0(…):
      %2 = kernel.row_nll …
      %3 = kernel.view %2 …
      %4 = kernel.row_reduce ins(%3) …
      kernel.yield %2, %4 : …
    }
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseRoutingPass : Pass<"epifold-fuse-routing", "::mlir::func::FuncOp"> {
  let summary = "Makes everything between a router's logits and the tables of its routing one launch";
  let description = [{
    Softmax, top-k, the division of the weights by their sum, the three launches that order slots by expert, and the gather
    of the weights become one `kernel.route`, in which a row is handled in registers and blocks wait for one another once.
    What other launches read of it stays available. Refused for logits that are not f32, for more than 512 experts or 32
    choices, where the experts' number is not known at compile time, and where the weights of all rows are not gathered.

    ```mlir
    // before
    %p = kernel.softmax ins(%logits : tensor<?x8xf32>) outs(%0 : tensor<?x8xf32>) …
    %v, %i = kernel.top_k ins(%p : tensor<?x8xf32>) outs(%1, %2 : tensor<?x2xf32>, tensor<?x2xi32>) …
    %h = kernel.route_histogram ins(%slots : tensor<?xi32>) …
    %before, %counts = kernel.route_scan ins(%h : tensor<?x8xi32>) …
    %slot, %row, %offsets = kernel.route_scatter ins(%slots, %before, %counts : …) …
    %w = kernel.gather_rows src(%column : tensor<?x1xf32>) index(%slot : tensor<?xi32>) offsets(%offsets : tensor<9xi64>) …
    // after
    %v, %i, %slot, %row, %w, %counts, %offsets, %h = kernel.route ins(%logits : tensor<?x8xf32>) outs(…) {softmax = 1 : i32} -> …
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def FuseSmallLaunchesPass : Pass<"epifold-fuse-small-launches", "::mlir::func::FuncOp"> {
  let summary = "Makes neighbouring small launches one";
  let description = [{
    Starting a kernel costs more than a small launch needs for its work. Elementwise launches, row reductions and the tables
    of a routing that stand between two products become one `kernel.persistent`: launches are reordered, as far as what
    they read and write allows, so that few groups remain. What each of them computes does not change. Refused for products
    of more than a router's columns and for launches that move more than `most-bytes` (a size that is not known at compile
    time counts as 4096): those keep the device busy by themselves. Refused, too, for launches each of which waits for the one
    before: blocks that wait for one another cost more than a launch that overlaps the one before it.

    ```mlir
    // before
    %s = kernel.row_reduce ins(%v : tensor<?x2xf32>) outs(%0 : tensor<?xf32>) …
    %h = kernel.route_histogram ins(%i : tensor<?xi32>) outs(%1 : tensor<?x8xi32>) …
    // after
    %s, %h = kernel.persistent ins(%v, %i : tensor<?x2xf32>, tensor<?xi32>) outs(%0, %1 : …) {
    ^bb0(%a: tensor<?x2xf32>, %b: tensor<?xi32>, %c: tensor<?xf32>, %d: tensor<?x8xi32>):
      %2 = kernel.row_reduce ins(%a : tensor<?x2xf32>) outs(%c : tensor<?xf32>) …
      %3 = kernel.route_histogram ins(%b : tensor<?xi32>) outs(%d : tensor<?x8xi32>) …
      kernel.yield %2, %3 : …
    } -> …
    ```
  }];
  let options = [
    Option<"mostBytes", "most-bytes", "int64_t", "16777216", "The most memory that a launch of a group may read and write">,
    Option<"mostColumns", "most-columns", "int64_t", "64", "The most columns of a product in a group">,
    Option<"groupChains", "group-chains", "bool", "false", "Join launches, too, that all wait for one another">,
    Option<"mostLaunches", "most-launches", "int64_t", "16", "The most launches of a group">
  ];
  let statistics = [
    Statistic<"joinedGroups", "groups-joined", "Launches that hold several">,
    Statistic<"joinedLaunches", "launches-joined", "Launches that became part of another">
  ];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

def PlanEarlyReadsPass : Pass<"epifold-plan-early-reads", "::mlir::func::FuncOp"> {
  let summary = "Says what a product may read while the launch before it still runs";
  let description = [{
    A launch may start before the one right before it has ended. What that one writes it must wait for; its weights, and where
    its groups begin, are mostly older. The attribute `kernel.settled` lists which of a product's B's and offsets are, by
    their numbers as operands. It holds for this order of launches, so nothing may move them afterwards.

    ```mlir
    // before
    %h = kernel.gemm a(%x : …) b(%gate : …) gather(%slot : …) offsets(%begins : …) …
    %y = kernel.gemm a(%h : …) b(%down : …) offsets(%begins : …) … attributes {indexing_maps = [#rows]}
    // after
    %y = kernel.gemm a(%h : …) b(%down : …) offsets(%begins : …) … attributes {indexing_maps = [#rows], kernel.settled = array<i64: 1, 2>}
    ```
  }];
  let dependentDialects = ["::epifold::kernel::KernelDialect"];
}

#endif
