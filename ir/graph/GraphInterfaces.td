// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Interfaces through which passes see graph ops without knowing them one by one.

#ifndef EPIFOLD_IR_GRAPH_GRAPHINTERFACES_TD
#define EPIFOLD_IR_GRAPH_GRAPHINTERFACES_TD

include "mlir/IR/OpBase.td"

def Graph_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::epifold::graph";
  let description = [{
    An op that computes each element of its one result from the elements of its operands at the same (broadcast)
    position. Anything that implements it can be put into a kernel's region: it may sit in the prologue or epilogue of a
    matrix product, and it works on dense and on ragged values alike.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the scalar computation. `args` hold one scalar per operand, already extended to the compute type
      (f32 for bf16 and f16 elements); the value returned is of the compute type and is rounded by the caller.
    }], "::mlir::Value", "buildScalar", (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$args)>
  ];
}

def Graph_ExpertFoldableOpInterface : OpInterface<"ExpertFoldableOpInterface"> {
  let cppNamespace = "::epifold::graph";
  let description = [{
    An op of which E isomorphic copies, one per expert, can become one op over all experts. Operand i of the folded op
    either is shared by all experts (it equals operand i of each copy) or is stacked (it has a new leading expert
    dimension; a one-expert ragged value becomes a grouped one).
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the folded op from `operands`, `stacked[i]` telling which of them have the expert dimension. The result
      has it always. Returns null when this op cannot be folded with these operands and leaves the reason in `reason`.
    }], "::mlir::Value", "buildFolded", (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
        "::llvm::ArrayRef<bool>":$stacked, "int64_t":$experts, "::std::string &":$reason)>
  ];
}

#endif
