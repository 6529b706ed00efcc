// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops of the graph dialect, with their rounding and the order of their reductions.

#ifndef EPIFOLD_IR_GRAPH_GRAPHOPS_TD
#define EPIFOLD_IR_GRAPH_GRAPHOPS_TD

include "ir/graph/GraphBase.td"

//===--- Constants and views -------------------------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A small constant tensor";
  let description = [{
    Weights are named parameters, not constants; this op is for scalars and short vectors.
    ```mlir
    %half = graph.constant dense<0.5> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{ build($_builder, $_state, value.getType(), value); }]>];
  let hasFolder = 1;
}

def Graph_SelectOp : Graph_Op<"select", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "One index of one dimension, which disappears";
  let description = [{
    `w[3]` of PyTorch: the weights of expert 3, or the fourth column of a tensor with `dim = 1`.
    ```mlir
    %w3 = graph.select %w {dim = 0, index = 3} : tensor<8x64x32xbf16> -> tensor<64x32xbf16>
    ```
  }];
  let arguments = (ins Graph_AnyTensor:$input, DefaultValuedAttr<Epifold_I64Attr, "0">:$dim, Epifold_I64Attr:$index);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_SliceOp : Graph_Op<"slice", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "A contiguous range of one dimension";
  let description = [{
    `x[:, begin:end]` of Python for the dimension `dim`: a negative bound counts from the end, an absent `end` is the end.
    ```mlir
    %inputs = graph.slice %tokens {dim = 1, begin = 0, end = -1} : tensor<2x?xi64> -> tensor<2x?xi64>
    ```
  }];
  let arguments = (ins Graph_AnyTensor:$input, Epifold_I64Attr:$dim, DefaultValuedAttr<Epifold_I64Attr, "0">:$begin,
                   OptionalAttr<Epifold_I64Attr>:$end);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_ReshapeOp : Graph_Op<"reshape", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "The same elements in another shape";
  let description = [{Row-major order is kept. At most one dynamic dimension, whose size follows from the others.}];
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "Permutes the dimensions";
  let description = [{Result dimension i is input dimension `permutation[i]`.}];
  let arguments = (ins Graph_AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Graph_StackOp : Graph_Op<"stack"> {
  let summary = "Joins equal tensors along a new leading dimension";
  let arguments = (ins Variadic<Graph_AnyTensor>:$inputs);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
}

def Graph_ConcatOp : Graph_Op<"concat"> {
  let summary = "Joins tensors along an existing dimension";
  let arguments = (ins Variadic<Graph_AnyTensor>:$inputs, Epifold_I64Attr:$dim);
  let results = (outs Graph_AnyTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
}

//===--- Elementwise ---------------------------------------------------------------------------------------------===//

class Graph_ElementwiseOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic, !listconcat(traits, [
    DeclareOpInterfaceMethods<Graph_ElementwiseOpInterface>,
    DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>])> {
  code elementwiseDoc = [{
    Operands broadcast as in NumPy: dimensions are aligned from the last, a dimension of size 1 or an absent one is
    repeated. bf16 and f16 elements are extended to f32, the op is computed in f32 and rounded once.
  }];
  let results = (outs Graph_Value:$result);
}

class Graph_UnaryOp<string mnemonic, string text> : Graph_ElementwiseOp<mnemonic> {
  let summary = text;
  let description = elementwiseDoc;
  let arguments = (ins Graph_Value:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

class Graph_TranscendentalOp<string mnemonic, string text> : Graph_UnaryOp<mnemonic, text> {
  let description = elementwiseDoc # [{
    `accuracy` picks the portable sequence (`bf16`, `f32`, `f64`); it defaults to that of the compute type.
    ```mlir
    %y = graph.silu %x accuracy bf16 : tensor<?x64xf32> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Graph_Value:$input, OptionalAttr<Graph_AccuracyAttr>:$accuracy);
  let assemblyFormat = "$input (`accuracy` $accuracy^)? attr-dict `:` type($input) `->` type($result)";
}

def Graph_NegOp : Graph_UnaryOp<"neg", "−x">;
def Graph_AbsOp : Graph_UnaryOp<"abs", "|x|">;
def Graph_ReluOp : Graph_UnaryOp<"relu", "x where x > 0, else 0; NaN stays NaN">;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", "√x, IEEE">;
def Graph_ExpOp : Graph_TranscendentalOp<"exp", "eˣ">;
def Graph_LogOp : Graph_TranscendentalOp<"log", "ln x">;
def Graph_ErfOp : Graph_TranscendentalOp<"erf", "Error function">;
def Graph_TanhOp : Graph_TranscendentalOp<"tanh", "Hyperbolic tangent">;
def Graph_RsqrtOp : Graph_TranscendentalOp<"rsqrt", "1/√x by IEEE root and division">;
def Graph_SigmoidOp : Graph_TranscendentalOp<"sigmoid", "1/(1 + e⁻ˣ)">;
def Graph_SiluOp : Graph_TranscendentalOp<"silu", "x · sigmoid(x)">;
def Graph_GeluOp : Graph_TranscendentalOp<"gelu", "x/2 · (1 + erf(x/√2)), or its tanh form"> {
  let arguments = (ins Graph_Value:$input, DefaultValuedAttr<Graph_GeluKindAttr, "::epifold::graph::GeluKind::Erf">:$approximate,
                   OptionalAttr<Graph_AccuracyAttr>:$accuracy);
  let assemblyFormat = [{
    $input (`approximate` $approximate^)? (`accuracy` $accuracy^)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Graph_CastOp : Graph_ElementwiseOp<"cast"> {
  let summary = "Changes the float type, rounding to nearest even";
  let description = [{
    Narrowing from f64 to bf16 or f16 rounds twice, to f32 first, as every target does it.
  }];
  let arguments = (ins Graph_Value:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

class Graph_BinaryOp<string mnemonic, string text> : Graph_ElementwiseOp<mnemonic> {
  let summary = text;
  let description = elementwiseDoc;
  let arguments = (ins Graph_Value:$lhs, Graph_Value:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}
def Graph_AddOp : Graph_BinaryOp<"add", "a + b">;
def Graph_SubOp : Graph_BinaryOp<"sub", "a − b">;
def Graph_MulOp : Graph_BinaryOp<"mul", "a · b">;
def Graph_DivOp : Graph_BinaryOp<"div", "a / b, IEEE">;
def Graph_MaxOp : Graph_BinaryOp<"max", "The larger of a and b; NaN where either is">;
def Graph_MinOp : Graph_BinaryOp<"min", "The smaller of a and b; NaN where either is">;

def Graph_FmaOp : Graph_ElementwiseOp<"fma"> {
  let summary = "a · b + c with one rounding";
  let description = elementwiseDoc;
  let arguments = (ins Graph_Value:$a, Graph_Value:$b, Graph_Value:$c);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` functional-type(operands, $result)";
}

//===--- Products ------------------------------------------------------------------------------------------------===//


def Graph_MatmulOp : Graph_Op<"matmul", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "x · wᵀ, the product of a linear layer";
  let description = [{
    `lhs[…, m, k] · rhs[n, k] → result[…, m, n]`; the weight's layout is that of PyTorch's `Linear`. Ragged rows are
    welcome as `lhs`.

    k ascends into one accumulator that starts at +0: one fma a step for f32 and f64; for bf16 and f16 the matrix unit's
    steps of 16, the last one padded with zeros, accumulating in f32. The finished accumulator is rounded once to the
    result's element type (f32 keeps it as it is).
    ```mlir
    %logits = graph.matmul %x, %w : (tensor<?x64xbf16>, tensor<8x64xbf16>) -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_Value:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_Value:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def Graph_ExpertMatmulOp : Graph_Op<"expert_matmul"> {
  let summary = "One product per expert in one op";
  let description = [{
    `result[e] = lhs[e] · rhs[e]ᵀ` with `rhs[experts, n, k]`. `lhs` is `[m, k]` (shared by all experts),
    `[experts, m, k]`, or grouped ragged rows. Order and rounding are those of `graph.matmul`.
  }];
  let arguments = (ins Graph_Value:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_Value:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def Graph_CausalConv1dOp : Graph_Op<"causal_conv1d", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "Dilated causal convolution over time";
  let description = [{
    `y[b,t,o] = Σ_k Σ_ci w[o,ci,k] · x[b, t − dilation·(K−1−k), ci]`, zero before the first step; x is `[t, ci]` or
    `[b, t, ci]`, w is `[o, ci, K]` as in PyTorch's `Conv1d`. Tap by tap, k = 0 (the oldest) first, ci ascending inside a
    tap, each tap a run of its own (padded to the matrix unit's step for bf16 and f16) into the same accumulator.
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, DefaultValuedAttr<Epifold_I64Attr, "1">:$dilation);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, $result)";
}

def Graph_ExpertCausalConv1dOp : Graph_Op<"expert_causal_conv1d"> {
  let summary = "One causal convolution per expert over a shared input";
  let description = [{
    `w` is `[experts, o, ci, K]`, the result `[experts, t, o]` or `[experts, b, t, o]`. Order and rounding are those of
    `graph.causal_conv1d`.
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, DefaultValuedAttr<Epifold_I64Attr, "1">:$dilation);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, $result)";
}

//===--- Rows, norms, losses -------------------------------------------------------------------------------------===//

def Graph_EmbeddingOp : Graph_Op<"embedding"> {
  let summary = "Rows of a table by index";
  let description = [{An index outside the table gives a row of NaN and is reported in the status word.}];
  let arguments = (ins Graph_IndexTensor:$indices, Graph_FloatTensor:$table);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$indices `,` $table attr-dict `:` functional-type(operands, $result)";
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "Softmax over the last dimension";
  let description = [{
    Computed in f32 (f64 for f64): m = max, e = exp(x − m), s = Σe by the row-sum tree, p = e / s, rounded once. A row
    that holds a NaN is NaN throughout.
  }];
  let arguments = (ins Graph_FloatTensor:$input, OptionalAttr<Graph_AccuracyAttr>:$accuracy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input (`accuracy` $accuracy^)? attr-dict `:` type($input) `->` type($result)";
}

def Graph_ReduceSumOp : Graph_Op<"reduce_sum"> {
  let summary = "Sum over one dimension";
  let description = [{
    `order tree` (the default) sums the last dimension by the row-sum tree, which depends on the row's length alone;
    `order ascending` sums any dimension one element after the other, beginning with element 0. In f32 (f64 for f64),
    rounded once. The dimension stays with size 1 when `keepdim` is given.
    ```mlir
    %sum = graph.reduce_sum %terms order ascending {dim = 0} : tensor<8x?x64xf32> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Epifold_I64Attr:$dim, UnitAttr:$keepdim,
                   DefaultValuedAttr<Graph_SumOrderAttr, "::epifold::graph::SumOrder::Tree">:$order);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input (`order` $order^)? attr-dict `:` type($input) `->` type($result)";
}

def Graph_GroupNormOp : Graph_Op<"group_norm"> {
  let summary = "Normalises each sample over time and a group of channels";
  let description = [{
    Input `[t, d]` or `[b, t, d]`; statistics over all t and the group's channels as (count, mean, M2) of 64×64 leaves
    merged by one fixed tree. `y = ((x − mean) · rstd) · scale + bias`, each op rounded in f32, then once to the result.
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
                   DefaultValuedAttr<Epifold_I64Attr, "1">:$groups, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` $bias attr-dict `:` functional-type(operands, $result)";
}

def Graph_LayerNormOp : Graph_Op<"layer_norm", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "Normalises each row";
  let description = [{As `graph.group_norm` with the statistics of one row (leaves of 1×64).}];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
                   DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` $bias attr-dict `:` functional-type(operands, $result)";
}

def Graph_RmsNormOp : Graph_Op<"rms_norm", [DeclareOpInterfaceMethods<Graph_ExpertFoldableOpInterface>]> {
  let summary = "Scales each row by the inverse of its root mean square";
  let description = [{s = Σx² by the row-sum tree, r = 1/√(s/n + epsilon) with IEEE root and division, y = (x·r)·scale.}];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$scale, DefaultValuedAttr<F64Attr, "1.0e-6">:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale attr-dict `:` functional-type(operands, $result)";
}

def Graph_CrossEntropyOp : Graph_Op<"cross_entropy"> {
  let summary = "Mean cross entropy of integer targets";
  let description = [{
    Per row: (ln Σexp(x − m) + m) − x[target] with the row-sum tree; the mean over all rows sums them as one row by the
    same tree and divides once. A target outside the row gives NaN and is reported in the status word.
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IndexTensor:$targets, OptionalAttr<Graph_AccuracyAttr>:$accuracy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets (`accuracy` $accuracy^)? attr-dict `:` functional-type(operands, $result)";
}

//===--- Routing -------------------------------------------------------------------------------------------------===//

def Graph_TopKOp : Graph_Op<"top_k"> {
  let summary = "The k largest of each row, ties to the lower index";
  let description = [{
    Values descend. A row that holds a NaN gives NaN values and indices −1, and is reported in the status word.
  }];
  let arguments = (ins Graph_FloatTensor:$input, Epifold_I64Attr:$k);
  let results = (outs Graph_FloatTensor:$values, Graph_IndexTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
}

def Graph_RouteOp : Graph_Op<"route"> {
  let summary = "Groups the chosen slots by expert";
  let description = [{
    From indices `[tokens, topk]`: the rows of expert e are the slots that chose it, tokens ascending. `counts[e]` is their
    number. An index of −1 (a token in error) belongs to no expert; any other index outside the experts is reported.
    A run reports what its launches met: a routing of which no result is made is not launched and reports nothing.
    ```mlir
    %r, %counts = graph.route %index : tensor<?x2xi32> -> !graph.routing<experts = 8, topk = 2>, tensor<8xi64>
    ```
  }];
  let arguments = (ins Graph_IndexTensor:$indices);
  let results = (outs Graph_Routing:$routing, Graph_IndexTensor:$counts);
  let assemblyFormat = "$indices attr-dict `:` type($indices) `->` type($routing) `,` type($counts)";
}

def Graph_DispatchOp : Graph_Op<"dispatch"> {
  let summary = "The rows of one expert, or of all";
  let description = [{
    Gathers token rows `[tokens, width]` for expert `expert`, or for all experts when it is absent.
    ```mlir
    %x3 = graph.dispatch %x, %r {expert = 3} : (tensor<?x64xbf16>, !graph.routing<experts = 8, topk = 2>) -> !graph.ragged<?x64xbf16>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_Routing:$routing, OptionalAttr<Epifold_I64Attr>:$expert);
  let results = (outs Graph_Ragged:$result);
  let assemblyFormat = "$input `,` $routing attr-dict `:` functional-type(operands, $result)";
}

def Graph_DispatchSlotOp : Graph_Op<"dispatch_slot"> {
  let summary = "The slot values (routing weights) of one expert's rows, or of all";
  let description = [{
    From `[tokens, topk]` one value for each row, of width 1: the value of the slot through which the token chose the expert.
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_Routing:$routing, OptionalAttr<Epifold_I64Attr>:$expert);
  let results = (outs Graph_Ragged:$result);
  let assemblyFormat = "$input `,` $routing attr-dict `:` functional-type(operands, $result)";
}

def Graph_CombineOp : Graph_Op<"combine"> {
  let summary = "Sums each token's slots";
  let description = [{
    `y[t] = Σ_k row(t, k)`, k ascending in f32 (f64 for f64) beginning with slot 0, rounded once. The rows are given as one
    value per expert, expert 0 first, or as one grouped value. A token in error (index −1) is NaN.
  }];
  let arguments = (ins Graph_Routing:$routing, Variadic<Graph_Ragged>:$inputs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$routing `,` $inputs attr-dict `:` functional-type(operands, $result)";
}

#endif
