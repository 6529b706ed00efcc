// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernel dialect's ops in C++.

#ifndef EPIFOLD_IR_KERNEL_KERNELDIALECT_H
#define EPIFOLD_IR_KERNEL_KERNELDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/kernel/KernelEnums.h.inc"

#include "ir/kernel/KernelDialect.h.inc"

#define GET_OP_CLASSES
#include "ir/kernel/KernelOps.h.inc"

namespace epifold::kernel {

/// The type bf16 and f16 elements are computed in: f32; f32 and f64 are their
/// own.
mlir::FloatType getComputeType(mlir::Type elementType);

/// The value that the launches before `value` were given as its buffer: follows
/// each launch's result to its out. Views end the walk.
mlir::Value getDestination(mlir::Value value);

/// Name of a launch's attribute that lists the operands that the launch right
/// before it does not write.
inline constexpr llvm::StringLiteral kSettledAttrName = "kernel.settled";

/// Slots of a chunk of `route_histogram` and `route_scatter`.
inline constexpr int64_t kRouteChunk = 1024;

/// Places of `route`'s outs; those of the kept ones follow.
enum RouteOut : unsigned {
  kRouteWeights,
  kRouteIndices,
  kRouteSlotOfRow,
  kRouteRowOfSlot,
  kRouteRowWeights,
  kRouteCounts,
  kRouteOffsets,
  kRouteHistogram,
  kRouteOuts
};
/// Parts of the tokens that `route` counts by themselves.
inline constexpr int64_t kRouteParts = 128;

/// Rows and columns of a statistics leaf, and the leaf of the row-sum tree.
inline constexpr int64_t kLeaf = 64;

} // namespace epifold::kernel

#endif // EPIFOLD_IR_KERNEL_KERNELDIALECT_H
