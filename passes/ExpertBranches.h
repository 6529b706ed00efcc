// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the isomorphic branches of E experts in a block and folds them.

#ifndef EPIFOLD_PASSES_EXPERTBRANCHES_H
#define EPIFOLD_PASSES_EXPERTBRANCHES_H

#include "ir/graph/GraphDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace epifold {

/// Folds by families: E values, one per expert, that the same op made from
/// operands which are shared or themselves a family. A family has one folded
/// value; ops over it replace the E ops of the branches.
class ExpertBranches {
public:
  explicit ExpertBranches(mlir::Block &block)
      : block(block), builder(block.getParentOp()->getContext()) {}

  /// Folds everything it can, remarks on it and on what does not fold, and
  /// returns how many ops disappeared.
  int64_t fold();

private:
  struct Family {
    llvm::SmallVector<mlir::Value> lanes; ///< One value per expert.
    mlir::Value folded; ///< All of them with an expert dimension.
    bool isSeed;        ///< Lanes are parts of a value that exists anyway.
  };

  void findSeeds();
  void addFamily(llvm::ArrayRef<mlir::Value> lanes, mlir::Value folded,
                 bool isSeed);
  bool grow();
  bool growFrom(mlir::Operation *first);
  llvm::SmallVector<mlir::Operation *> matchLanes(mlir::Operation *first,
                                                  size_t experts);
  bool endsBranches(mlir::Operation *op, const Family &family);
  bool refuse(mlir::Operation *op, const llvm::Twine &reason);
  bool foldSumChain(mlir::Operation *first, const Family &family);
  void retire();

  mlir::Block &block;
  mlir::OpBuilder builder;
  llvm::SmallVector<Family> families;
  llvm::DenseMap<mlir::Value, std::pair<size_t, size_t>>
      laneOf; ///< Value to (family, lane).
  llvm::DenseSet<mlir::Operation *> finished;
  /// Why ops of expert 0 did not fold in the latest round of growth.
  llvm::MapVector<mlir::Operation *, std::string> refusals;
};

/// The name of the fusion in its remarks.
inline constexpr llvm::StringLiteral foldExpertsName = "fold-experts";

/// Patterns that turn folded products over one shared input into one plain
/// product.
void populateSingleProductPatterns(mlir::RewritePatternSet &patterns);

} // namespace epifold

#endif // EPIFOLD_PASSES_EXPERTBRANCHES_H
