// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How much a launch computes and moves, for profiles.

#ifndef EPIFOLD_COMPILER_SRC_WORKESTIMATE_H
#define EPIFOLD_COMPILER_SRC_WORKESTIMATE_H

#include "passes/MemoryPlan.h"

namespace epifold {

struct WorkEstimate {
  mlir::AffineExpr
      flops; ///< Multiply-adds of products count two, all else nothing.
  mlir::AffineExpr bytes; ///< Each operand read or written once.
};

/// Estimates `op` over the function's symbols. A launch for one expert's rows
/// counts an even share of all rows, since the host never knows how many they
/// are.
WorkEstimate estimateWork(mlir::Operation *op, const MemoryPlan &plan);

} // namespace epifold

#endif // EPIFOLD_COMPILER_SRC_WORKESTIMATE_H
