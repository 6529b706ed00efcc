// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops of the kernel dialect: one op is one launch, its glue is scalar code in its region.

#ifndef EPIFOLD_IR_KERNEL_KERNELOPS_TD
#define EPIFOLD_IR_KERNEL_KERNELOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "ir/CommonAttrs.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::epifold::kernel";
  let summary = "One op, one launch";
  let description = [{
    The level between the graph and a target. Values are dense row-major tensors; an op writes its `outs` operands, each
    of which its result replaces (destination passing), so that the parts of one buffer written by several launches form
    a chain. Ragged rows are plain rows of a bounded buffer plus an `offsets` operand: expert e owns the rows
    `offsets[e] … offsets[e+1]`; with the attribute `group` a launch covers that expert's rows only, without it all.

    Dynamic sizes are affine expressions over the graph's symbols (s0 is the first dynamic dimension of its arguments).
    Glue is scalar code of the `arith` dialect and `kernel.math`; every op of it rounds once to its own type.
  }];
  let hasOperationAttrVerify = 0;
}

def Kernel_MathFunctionAttr : I32EnumAttr<"MathFunction", "a portable scalar function", [
    I32EnumAttrCase<"Exp", 0, "exp">, I32EnumAttrCase<"Log", 1, "log">, I32EnumAttrCase<"Erf", 2, "erf">,
    I32EnumAttrCase<"Tanh", 3, "tanh">, I32EnumAttrCase<"Sigmoid", 4, "sigmoid">, I32EnumAttrCase<"Silu", 5, "silu">,
    I32EnumAttrCase<"GeluErf", 6, "gelu_erf">, I32EnumAttrCase<"GeluTanh", 7, "gelu_tanh">,
    I32EnumAttrCase<"Rsqrt", 8, "rsqrt">, I32EnumAttrCase<"Sqrt", 9, "sqrt">]> {
  let cppNamespace = "::epifold::kernel";
}
def Kernel_AccuracyAttr : I32EnumAttr<"Accuracy", "accuracy of a portable function", [
    I32EnumAttrCase<"BF16", 0, "bf16">, I32EnumAttrCase<"F32", 1, "f32">, I32EnumAttrCase<"F64", 2, "f64">]> {
  let cppNamespace = "::epifold::kernel";
}

def Kernel_Tensor : RankedTensorOf<[F64, F32, BF16, F16, I32, I64, I8, I1]>;
def Kernel_FloatTensor : RankedTensorOf<[F64, F32, BF16, F16]>;
def Kernel_IndexTensor : RankedTensorOf<[I32, I64]>;

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

// A launch: ins, outs, one result per out.
class Kernel_LaunchOp<string mnemonic, list<Trait> traits = []> : Kernel_Op<mnemonic, !listconcat([Pure,
    DestinationStyleOpInterface, AttrSizedOperandSegments], traits)> {
  let results = (outs Variadic<Kernel_Tensor>:$results);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
}

//===--- Values and scalar code ----------------------------------------------------------------------------------===//

def Kernel_EmptyOp : Kernel_Op<"empty", [Pure]> {
  let summary = "A buffer whose contents are not yet written";
  let description = [{`sizes` gives every dimension: `affine_map<()[s0] -> (s0 * 8, 64)>`. No launch.}];
  let arguments = (ins AffineMapAttr:$sizes);
  let results = (outs Kernel_Tensor:$result);
  let assemblyFormat = "$sizes attr-dict `:` type($result)";
}

def Kernel_ViewOp : Kernel_Op<"view", [Pure]> {
  let summary = "A contiguous part of a buffer, or all of it, in another shape";
  let description = [{
    The elements `offset … offset + product(sizes)` of the row-major input, with shape `sizes`; `offset` counts elements.
    No launch and no copy.
  }];
  let arguments = (ins Kernel_Tensor:$input, AffineMapAttr:$offset, AffineMapAttr:$sizes);
  let results = (outs Kernel_Tensor:$result);
  let assemblyFormat = "$input `at` $offset `as` $sizes attr-dict `:` type($input) `->` type($result)";
}

def Kernel_MathOp : Kernel_Op<"math", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "A portable scalar function";
  let description = [{Built from add, mul and fma alone (sqrt and rsqrt use the IEEE root and division), the same sequence on every target.}];
  let arguments = (ins Kernel_MathFunctionAttr:$function, Kernel_AccuracyAttr:$accuracy, AnyTypeOf<[F32, F64]>:$input);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = "$function $accuracy $input attr-dict `:` type($result)";
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator]> {
  let summary = "Ends a region with one value per out: a scalar, or the tensor that a launch of several has written";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let hasVerifier = 0;
  let builders = [OpBuilder<(ins), [{}]>];
}

//===--- Launches ------------------------------------------------------------------------------------------------===//

def Kernel_MapOp : Kernel_LaunchOp<"map", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Elementwise work with broadcast, permutation, slicing and cast";
  let description = [{
    For each point of the iteration space the region gets one element of each of `ins` and yields one of each of `outs`
    (in their element types). `indexing_maps` (ins, then outs) turn the point into element indices; results are plain
    dimensions, constants, or dimension plus constant. The space is the shape of operand number `domain` (counting ins
    and outs), whose map is the identity.

    With `offsets` dimension 0 runs over an expert's rows (`group`) or all experts' rows; the symbol s0 of a map is then
    the row's expert.
  }];
  let arguments = (ins Variadic<Kernel_Tensor>:$ins, Optional<Kernel_IndexTensor>:$offsets, Variadic<Kernel_Tensor>:$outs,
                   AffineMapArrayAttr:$indexing_maps, Epifold_I64Attr:$domain, OptionalAttr<Epifold_I64Attr>:$group);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $ins^ `:` type($ins) `)`)? (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict-with-keyword $body `->` type($results)
  }];
}

def Kernel_GemmOp : Kernel_LaunchOp<"gemm", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Matrix products that share A, with glue on the accumulators";
  let description = [{
    For each group g, row r and column n: accumulator j is `Σ_τ Σ_k A(g, r, τ)[k] · B_j[g, τ, n, k]` in the contract's
    order; the epilogue region gets the accumulators (f32, or f64 for f64), then one element of each of `extras`, and
    yields one element of each of `outs`.

    * A: `[m, k]` shared by the groups, `[g, m, k]` one per group. With `dilation`, a causal convolution: A is
      `[batch, time, k]`, row r is (b, t) flattened, tap τ of `taps` reads row `(b, t − dilation·(taps−1−τ))`, zero before the start.
    * B_j: `[n, k]` (one group) or `[g, n, k]`; with `dilation` `[taps, n, k]` or `[g, taps, n, k]`. With `columns`, only that
      many of its rows from `b_begins[j]` on: the gate and the up part of one weight.
    * `offsets` `[experts+1]`: rows of group g are `offsets[g] … offsets[g+1]` of A, extras and outs (all of them `m`-row
      buffers). With `group` the launch covers that expert's rows only and B_j is that expert's own `[n, k]`.
    * `gather` (with `offsets`): A's row for row r is `gather[r] floordiv gather_divisor`.

    `indexing_maps` (extras, then outs) map (g, r, n) to element indices; r is the absolute row.
  }];
  let arguments = (ins Kernel_FloatTensor:$a, Variadic<Kernel_FloatTensor>:$b, Optional<Kernel_IndexTensor>:$gather,
                   Optional<Kernel_IndexTensor>:$offsets, Variadic<Kernel_Tensor>:$extras, Variadic<Kernel_Tensor>:$outs,
                   AffineMapArrayAttr:$indexing_maps, OptionalAttr<Epifold_I64Attr>:$dilation, OptionalAttr<Epifold_I64Attr>:$group,
                   DefaultValuedAttr<Epifold_I64Attr, "1">:$gather_divisor, OptionalAttr<Epifold_I64Attr>:$columns,
                   OptionalAttr<DenseI64ArrayAttr>:$b_begins);
  let regions = (region SizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `a` `(` $a `:` type($a) `)` `b` `(` $b `:` type($b) `)` (`gather` `(` $gather^ `:` type($gather) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)? (`extras` `(` $extras^ `:` type($extras) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict-with-keyword $epilogue `->` type($results)
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    bool isConvolution() { return getDilation().has_value(); }
    bool isRagged() { return static_cast<bool>(getOffsets()); }
    /// Taps of a convolution, 1 for a plain product.
    int64_t getTaps();
    /// Groups covered by this launch: B's leading dimension, or 1.
    int64_t getGroups();
    /// Columns of the result, rows of each tap of B (no fewer), and reduction length (k, per tap); static.
    int64_t getResultColumns();
    int64_t getRowsOfB();
    /// First row of B_j that is used.
    int64_t getBegin(unsigned j);
    int64_t getDepth();
    /// f64 for f64 operands, f32 otherwise.
    ::mlir::Type getAccumulatorType();
  }];
}

def Kernel_GatherRowsOp : Kernel_LaunchOp<"gather_rows"> {
  let summary = "Rows of a table by index";
  let description = [{
    `out[r, :] = src[index[r] floordiv divisor, :]`. With `offsets`, only an expert's rows or all experts'. With `report`
    an index outside the table gives NaN and is reported.
  }];
  let arguments = (ins Kernel_FloatTensor:$src, Kernel_IndexTensor:$index, Optional<Kernel_IndexTensor>:$offsets,
                   Variadic<Kernel_Tensor>:$outs, DefaultValuedAttr<Epifold_I64Attr, "1">:$divisor, OptionalAttr<Epifold_I64Attr>:$group,
                   UnitAttr:$report);
  let assemblyFormat = [{
    `src` `(` $src `:` type($src) `)` `index` `(` $index `:` type($index) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)? `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($results)
  }];
}

class Kernel_SimpleLaunchOp<string mnemonic, string text, dag extra> : Kernel_LaunchOp<mnemonic> {
  let summary = text;
  let arguments = !con((ins Variadic<Kernel_Tensor>:$ins, Variadic<Kernel_Tensor>:$outs), extra);
  let assemblyFormat = [{
    `ins` `(` $ins `:` type($ins) `)` `outs` `(` $outs `:` type($outs) `)` attr-dict `->` type($results)
  }];
}

def Kernel_SoftmaxOp : Kernel_SimpleLaunchOp<"softmax", "Softmax of each row of `[r, c]`", (ins Kernel_AccuracyAttr:$accuracy)>;
def Kernel_RowReduceOp : Kernel_SimpleLaunchOp<"row_reduce",
    "Row-sum tree over each row of `[r, c]` (of squares with `square`, divided by c with `mean`) into `[r]`, computed in f32 or f64",
    (ins UnitAttr:$square, UnitAttr:$mean)>;
def Kernel_OrderedSumOp : Kernel_SimpleLaunchOp<"ordered_sum",
    "`[a, s, c]` → `[a, c]`, s ascending from element 0, in f32 or f64, rounded once", (ins)>;
def Kernel_LeafStatsOp : Kernel_SimpleLaunchOp<"leaf_stats",
    "`[b, r, c]` → `[b, groups, ⌈r/64⌉, ⌈c/groups/64⌉, 3]`: (count, mean, M2) of each 64×64 leaf", (ins Epifold_I64Attr:$groups)>;
def Kernel_MergeStatsOp : Kernel_SimpleLaunchOp<"merge_stats",
    "`[b, groups, lr, lc, 3]` → `[b, groups, 2]`: (mean, 1/√(variance + epsilon)) by the pairwise tree", (ins F64Attr:$epsilon)>;
def Kernel_RowStatsOp : Kernel_SimpleLaunchOp<"row_stats",
    "`[r, c]` → `[r, 2]`: (mean, 1/√(variance + epsilon)) of each row", (ins F64Attr:$epsilon)>;
def Kernel_TopKOp : Kernel_SimpleLaunchOp<"top_k",
    "`[r, e]` → values `[r, k]` and indices `[r, k]`; reports rows with NaN (values NaN, indices −1)", (ins)>;
def Kernel_RouteHistogramOp : Kernel_SimpleLaunchOp<"route_histogram",
    "indices `[s]` → i32 `[⌈s/1024⌉, experts]`: how often each expert occurs in each chunk of 1024 slots", (ins)>;
def Kernel_RouteScanOp : Kernel_SimpleLaunchOp<"route_scan",
    "histogram `[chunks, experts]` → how often an expert occurs before each chunk `[chunks, experts]`, and in all chunks `[experts]`", (ins)>;
def Kernel_RouteScatterOp : Kernel_SimpleLaunchOp<"route_scatter",
    "indices `[s]`, occurrences before each chunk, counts → i32 slot of each row `[s]`, row of each slot `[s]` (−1: none), offsets `[experts+1]`; reports indices outside", (ins)>;
def Kernel_RouteOp : Kernel_SimpleLaunchOp<"route", "From router logits `[t, e]` in f32 to the tables of a routing",
    (ins OptionalAttr<Kernel_AccuracyAttr>:$softmax, UnitAttr:$normalize, UnitAttr:$keeps_probabilities, UnitAttr:$keeps_values)> {
  let description = [{
    One launch for what `softmax` (with that accuracy; without the attribute the logits are taken as they are), `top_k`, a
    division of each row's values by their `row_reduce` (with `normalize`), `route_histogram`, `route_scan`, `route_scatter`
    and `gather_rows` do one after the other, to the bit. Its outs, for k choices a token and s = t·k slots:

    - weights `[t, k]` and i32 indices `[t, k]` (NaN and −1 in a row with NaN, which is reported),
    - i32 slot of each row `[s]` and row of each slot `[s]` (−1: none), weight of each row `[s, 1]`,
    - how many rows each expert has `[e]`, and where they begin `[e + 1]`,
    - a buffer `[128, e]` of i32, of which nothing is promised: in it the blocks tell one another what they counted,
    - with `keeps_probabilities` the softmax `[t, e]`; with `keeps_values` what `normalize` divided `[t, k]`.
  }];
}
def Kernel_CombineOp : Kernel_SimpleLaunchOp<"combine",
    "rows `[s, c]`, row of each slot `[s]` → `[t, c]` with s = t·slots: slots ascending in f32 or f64, rounded once; NaN where a slot has no row",
    (ins Epifold_I64Attr:$slots)>;
def Kernel_RowNllOp : Kernel_SimpleLaunchOp<"row_nll",
    "logits `[r, v]`, targets `[r]` → `[r]`: (ln Σexp(x − m) + m) − x[target]; reports targets outside", (ins Kernel_AccuracyAttr:$accuracy)>;

def Kernel_PersistentOp : Kernel_LaunchOp<"persistent", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Several launches in one";
  let description = [{
    The region's arguments are `ins`, then `outs`; it holds launches and views, which take effect in order, and yields for
    each out what became of it. Every out of a launch inside is one of `outs` or what a launch before made of it, so a value
    that only the region needs has a buffer too: the launches' blocks hand their results on through memory.

    On a device the blocks stay for the whole launch and wait for one another where a launch reads what one before it wrote.
  }];
  let arguments = (ins Variadic<Kernel_Tensor>:$ins, Variadic<Kernel_Tensor>:$outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $ins^ `:` type($ins) `)`)? `outs` `(` $outs `:` type($outs) `)` attr-dict-with-keyword $body `->` type($results)
  }];
}

def Kernel_CascadeOp : Kernel_LaunchOp<"cascade", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A launch whose blocks go on with what they have made";
  let description = [{
    A region as `kernel.persistent` has it, but no block waits for another: what a launch reads of the one before it, the
    block that reads it has written itself, or computes anew, or it is the last one to come. Values that nothing else needs are
    `kernel.empty` inside and have no buffer. It holds two or three launches:

    * a product or an elementwise launch over whole rows, and the `leaf_stats` of its result: each block adds the statistics of
      the leaves it wrote;
    * `merge_stats` and an elementwise launch that reads (mean, 1/deviation) of one group a sample: each block merges the leaves
      of its sample;
    * an elementwise launch, perhaps after `merge_stats`, and a product of few columns over its rows: each block multiplies
      the rows it wrote;
    * `row_nll` and the `row_reduce` over all its losses: the block that comes last sums them.
  }];
  let arguments = (ins Variadic<Kernel_Tensor>:$ins, Variadic<Kernel_Tensor>:$outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $ins^ `:` type($ins) `)`)? `outs` `(` $outs `:` type($outs) `)` attr-dict-with-keyword $body `->` type($results)
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// The launches; the third is null where there are two.
    ::mlir::Operation *getFirst() { return getLaunch(0); }
    ::mlir::Operation *getSecond() { return getLaunch(1); }
    ::mlir::Operation *getThird() { return getLaunch(2); }
    ::mlir::Operation *getLaunch(unsigned number);
    /// The operand whose element the region's `value` is, or what a launch inside made of it; none for a buffer of the
    /// region's own.
    std::optional<unsigned> findOperand(::mlir::Value value);
  }];
}

#endif
