// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The graph dialect, its types, attributes and the classes its ops derive from.

#ifndef EPIFOLD_IR_GRAPH_GRAPHBASE_TD
#define EPIFOLD_IR_GRAPH_GRAPHBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "ir/CommonAttrs.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/graph/GraphInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::epifold::graph";
  let summary = "Routed model graphs with their rounding and order fixed";
  let description = [{
    Tensors in, tensors out. Every op states its compute type, its rounding (once, to the result's element type) and
    the order of its reductions, so that any lowering that keeps them gives the same bits.

    A graph is one `func.func`. Its arguments carry `graph.input = "in.x"` or `graph.param = "w.router.w"`, its
    results `graph.result = "out.y"`: the names under which tensors travel in files. The function may say
    `graph.math = "fast"`: on a GPU its f32 transcendentals are then approximations (`"portable"` is the default).
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Name under which an activation argument travels in files.
    static constexpr llvm::StringLiteral inputAttrName = "graph.input";
    /// Name under which a parameter (weight) travels in files.
    static constexpr llvm::StringLiteral paramAttrName = "graph.param";
    /// Name under which a result travels in files.
    static constexpr llvm::StringLiteral resultAttrName = "graph.result";
  }];
}

//===--- Types ---------------------------------------------------------------------------------------------------===//

class Graph_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<Graph_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Graph_RoutingType : Graph_Type<"Routing", "routing"> {
  let summary = "Which rows each expert gets";
  let description = [{
    The result of `graph.route`: for each of `experts` experts the ascending list of the tokens that chose it, and for
    each token the rows of its `topk` slots. It lives on the device; the host never reads it.
  }];
  let parameters = (ins "int64_t":$experts, "int64_t":$topk);
  let assemblyFormat = "`<` `experts` `=` $experts `,` `topk` `=` $topk `>`";
}

def Graph_RaggedType : Graph_Type<"Ragged", "ragged",
    [DeclareTypeInterfaceMethods<ShapedTypeInterface, ["cloneWith", "hasRank"]>]> {
  let summary = "Rows whose count depends on the data";
  let description = [{
    `!graph.ragged<?x64xbf16>` holds the rows of one expert, `!graph.ragged<8x?x64xbf16>` those of all eight. The row
    count is known on the device only; the buffer behind it is bounded by tokens × topk rows.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// True for the rows of all experts, false for one expert's.
    bool isGrouped() const { return getShape().size() == 3; }
    /// Number of experts of a grouped value, 1 otherwise.
    int64_t getGroups() const { return isGrouped() ? getShape().front() : 1; }
    /// Columns of each row.
    int64_t getWidth() const { return getShape().back(); }
  }];
}

//===--- Attributes ----------------------------------------------------------------------------------------------===//

def Graph_AccuracyAttr : I32EnumAttr<"Accuracy", "accuracy of a portable transcendental", [
    I32EnumAttrCase<"BF16", 0, "bf16">, I32EnumAttrCase<"F32", 1, "f32">, I32EnumAttrCase<"F64", 2, "f64">]> {
  let cppNamespace = "::epifold::graph";
}
def Graph_GeluKindAttr : I32EnumAttr<"GeluKind", "which gelu", [
    I32EnumAttrCase<"Erf", 0, "erf">, I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::epifold::graph";
}
def Graph_SumOrderAttr : I32EnumAttr<"SumOrder", "order of a sum", [
    I32EnumAttrCase<"Tree", 0, "tree">, I32EnumAttrCase<"Ascending", 1, "ascending">]> {
  let cppNamespace = "::epifold::graph";
}

//===--- Type constraints ----------------------------------------------------------------------------------------===//

def Graph_Float : AnyTypeOf<[F64, F32, BF16, F16], "f64, f32, bf16 or f16">;
def Graph_FloatTensor : RankedTensorOf<[F64, F32, BF16, F16]>;
def Graph_IndexTensor : RankedTensorOf<[I32, I64]>;
def Graph_AnyTensor : RankedTensorOf<[F64, F32, BF16, F16, I32, I64, I8, I1]>;
def Graph_Ragged : DialectType<Graph_Dialect, CPred<"::llvm::isa<::epifold::graph::RaggedType>($_self)">, "ragged rows">;
def Graph_Routing : DialectType<Graph_Dialect, CPred<"::llvm::isa<::epifold::graph::RoutingType>($_self)">, "routing">;
def Graph_Value : AnyTypeOf<[Graph_FloatTensor, Graph_Ragged], "float tensor or ragged rows">;

//===--- Op classes ----------------------------------------------------------------------------------------------===//

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

#endif
