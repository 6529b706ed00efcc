// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gives an elementwise launch another shape of the same elements, so that it
// can meet a launch across a view.

#ifndef EPIFOLD_PASSES_RESHAPEMAP_H
#define EPIFOLD_PASSES_RESHAPEMAP_H

#include "ir/kernel/KernelDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace epifold {

/// Whether `view` has all elements of its input, in another shape.
bool isReshape(kernel::ViewOp view);

/// Whether `op` can have shape `sizes`: it covers all of the new buffer that is
/// its only out, and each operand is read either as the out is written or along
/// dimensions that the new shape has, too.
bool canReshapeMap(kernel::MapOp op, llvm::ArrayRef<mlir::AffineExpr> sizes);

/// Replaces `op` by the launch of shape `sizes`, whose result is viewed as
/// before. `canReshapeMap` must hold.
kernel::MapOp reshapeMap(mlir::PatternRewriter &rewriter, kernel::MapOp op,
                         llvm::ArrayRef<mlir::AffineExpr> sizes);

} // namespace epifold

#endif // EPIFOLD_PASSES_RESHAPEMAP_H
