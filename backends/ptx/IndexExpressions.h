// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns indexing maps into element offsets, and tells how an offset moves along
// one dimension.

#ifndef EPIFOLD_BACKENDS_PTX_INDEXEXPRESSIONS_H
#define EPIFOLD_BACKENDS_PTX_INDEXEXPRESSIONS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// i64 value of `expr`; `dims` are i64, `symbol` (i64) stands for s0 and may be
/// null when no map uses it.
mlir::Value evaluate(KernelBuilder &b, mlir::AffineExpr expr,
                     mlir::ValueRange dims, mlir::Value symbol = {});

/// i64 element offset into the row-major operand that `map` indexes.
mlir::Value elementOffset(KernelBuilder &b, unsigned operand,
                          mlir::AffineMap map, mlir::ValueRange dims,
                          mlir::Value symbol = {});

/// How an operand's offset depends on one dimension of the iteration space.
enum class Movement {
  None,       ///< It does not.
  Contiguous, ///< One element a step: the last index is the dimension, plus a
              ///< constant perhaps.
  Linear,     ///< A constant stride.
  Other       ///< Anything else.
};
Movement movementAlong(mlir::AffineMap map, unsigned dim);

/// i64 stride of a dimension whose movement is not `Other`.
mlir::Value strideAlong(KernelBuilder &b, unsigned operand, mlir::AffineMap map,
                        unsigned dim);

/// The largest power of two up to `limit` that divides the offset of every
/// point whose coordinate along the contiguous dimension `dim` it divides; rows
/// of the operand start at multiples of it.
int64_t vectorAlignment(mlir::RankedTensorType type, mlir::AffineMap map,
                        unsigned dim, int64_t limit);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_INDEXEXPRESSIONS_H
