// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a fusion tells the user: which ops it fused, which it left and why.

#ifndef EPIFOLD_PASSES_FUSIONREMARKS_H
#define EPIFOLD_PASSES_FUSIONREMARKS_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace epifold {

/// What a user calls `op`: the graph op that it was lowered from, or itself,
/// with its place in the graph: "graph.gelu (moe.mlir:12:8)".
std::string describe(mlir::Operation *op);

/// The location of a graph op's launches: where the op stands, and its name.
mlir::Location getLaunchLocation(mlir::Operation *graphOp);

/// The location of an op that does the work of `kept` and of `absorbed`.
mlir::Location fuseLocations(mlir::Operation *kept, mlir::Operation *absorbed);

/// Tells that `absorbed` is part of `kept` from now on. To be called while both
/// are there.
void reportFused(llvm::StringRef fusion, mlir::Operation *absorbed,
                 mlir::Operation *kept);

/// Tells at `op` what `message` says of it: that it fused, or why it did not.
void reportFused(llvm::StringRef fusion, mlir::Operation *op,
                 const llvm::Twine &message);
void reportMissed(llvm::StringRef fusion, mlir::Operation *op,
                  const llvm::Twine &message);

/// Refuses a match: `op` and `other` stay apart because of `reason`. Return it
/// from the pattern; `applyFusion` makes a remark of it if it stands.
mlir::LogicalResult refuse(mlir::PatternRewriter &rewriter, mlir::Operation *op,
                           mlir::Operation *other, const llvm::Twine &reason);

/// The answer of a pattern to an op that has nothing to fuse with: no refusal,
/// and no remark.
inline mlir::LogicalResult notACandidate() { return mlir::failure(); }

/// Applies a fusion's patterns to the ops in `root`, producers first, until
/// none matches. What the patterns then say of the ops that stay, through
/// `refuse` or `notifyMatchFailure`, is told as remarks, in the order of the
/// ops.
mlir::LogicalResult applyFusion(llvm::StringRef fusion, mlir::Operation *root,
                                mlir::RewritePatternSet &&patterns);

} // namespace epifold

#endif // EPIFOLD_PASSES_FUSIONREMARKS_H
