// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes a `kernel.cascade` of two launches.

#ifndef EPIFOLD_PASSES_CASCADE_H
#define EPIFOLD_PASSES_CASCADE_H

#include "ir/kernel/KernelDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace epifold {

/// Replaces `first` and `second`, which reads it, perhaps in another shape, by
/// one launch at the rewriter's place; `first` may be a cascade. Its ins are
/// those of `first`, then the others of `second`, one for one; its outs are
/// those of `first`, if it `keepsFirst` (else no one else may read it), then
/// those of `second`.
kernel::CascadeOp replaceByCascade(mlir::PatternRewriter &rewriter,
                                   mlir::Operation *first,
                                   mlir::Operation *second, bool keepsFirst);

} // namespace epifold

#endif // EPIFOLD_PASSES_CASCADE_H
