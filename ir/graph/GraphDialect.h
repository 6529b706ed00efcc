// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The graph dialect's types, interfaces and ops in C++.

#ifndef EPIFOLD_IR_GRAPH_GRAPHDIALECT_H
#define EPIFOLD_IR_GRAPH_GRAPHDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>
#include <string>

#include "ir/graph/GraphEnums.h.inc"

#include "ir/graph/GraphDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/graph/GraphTypes.h.inc"

#include "ir/graph/GraphInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/graph/GraphOps.h.inc"

namespace epifold::graph {

/// The type elements of `type` are computed in: f32 for bf16, f16 and f32; f64
/// for f64. Takes shaped or scalar types.
mlir::FloatType getComputeType(mlir::Type type);

/// NumPy's broadcast of `shapes` (aligned from the last dimension). A dynamic
/// size equals any static size other than 1. Returns nothing when two sizes
/// contradict each other.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// `type` with a leading dimension of `experts`: a tensor gains a dimension,
/// one expert's rows become grouped rows. Returns null for rows that are
/// grouped already.
mlir::ShapedType stackType(mlir::Type type, int64_t experts);

/// The half-open range that a slice takes of a dimension of `size` (static);
/// negative bounds count from the end.
std::pair<int64_t, int64_t>
resolveSlice(int64_t begin, std::optional<int64_t> end, int64_t size);

} // namespace epifold::graph

#endif // EPIFOLD_IR_GRAPH_GRAPHDIALECT_H
