// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Patterns that move scalar code between kernel ops, and what they share.

#ifndef EPIFOLD_PASSES_KERNELFUSION_H
#define EPIFOLD_PASSES_KERNELFUSION_H

#include "ir/kernel/KernelDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace epifold {

/// Elementwise launches that feed one another become one.
void populateFuseElementwiseChainsPatterns(mlir::RewritePatternSet &patterns);

/// Elementwise launches over a product's result move into its epilogue;
/// products that share their input and meet in one launch become one product.
void populateFuseGlueIntoEpiloguePatterns(mlir::RewritePatternSet &patterns);

/// Elementwise launches that read the groups of one product side by side move
/// into the epilogue of a product with a B for each of at most `mostGroups`
/// groups.
void populateFuseGroupSumsPatterns(mlir::RewritePatternSet &patterns,
                                   int64_t mostGroups);

/// The softmax of a few columns is computed in the epilogue that reads it.
void populateFuseSoftmaxIntoEpiloguePatterns(mlir::RewritePatternSet &patterns);

/// What a launch widens before it stores is stored narrow and widened by its
/// readers.
void populateFuseCastsIntoReadersPatterns(mlir::RewritePatternSet &patterns);

/// Rows that a product alone reads are gathered as it loads them.
void populateFuseGatherIntoProductPatterns(mlir::RewritePatternSet &patterns);

/// What writes a norm's input gives its leaves' statistics, and what normalises
/// merges them.
void populateFuseNormStatisticsPatterns(mlir::RewritePatternSet &patterns);

/// Elementwise launches multiply the rows they write by a weight of few rows.
void populateFuseNarrowProductsPatterns(mlir::RewritePatternSet &patterns);

/// The launch of rows' losses sums them, too.
void populateFuseLossMeanPatterns(mlir::RewritePatternSet &patterns);

/// The launches that choose experts and order rows by them become one.
void populateFuseRoutingPatterns(mlir::RewritePatternSet &patterns);

/// Clones the scalar code of `block` with `arguments` for its arguments and
/// returns what it yields.
llvm::SmallVector<mlir::Value> inlineScalarCode(mlir::OpBuilder &builder,
                                                mlir::Block &block,
                                                mlir::ValueRange arguments);

/// Sizes of a tensor of a kernel function over the function's symbols; none for
/// an argument of dynamic shape whose `kernel.sizes` are not given.
llvm::SmallVector<mlir::AffineExpr> findSizes(mlir::Value tensor);

/// An operand of a launch with the map that indexes it. Equal ones are kept
/// once.
class IndexedOperands {
public:
  /// Position of `value` indexed by `map`.
  unsigned add(mlir::Value value, mlir::AffineMap map);

  llvm::ArrayRef<mlir::Value> getValues() const { return values; }
  llvm::ArrayRef<mlir::AffineMap> getMaps() const { return maps; }

private:
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::AffineMap> maps;
};

} // namespace epifold

#endif // EPIFOLD_PASSES_KERNELFUSION_H
