// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sizes of every graph value as expressions over the dynamic dimensions of the
// arguments.

#ifndef EPIFOLD_PASSES_SIZEANALYSIS_H
#define EPIFOLD_PASSES_SIZEANALYSIS_H

#include "ir/graph/GraphDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"

namespace epifold {

/// Symbolic sizes of a graph function.
///
/// Each dynamic argument dimension is a symbol; dimensions that an op needs to
/// be equal are unified. Ragged rows have the size of their buffer, tokens ×
/// topk.
class SizeAnalysis {
public:
  /// Analyses `function`. Emits an error at the op whose sizes cannot be shown
  /// to agree.
  static llvm::FailureOr<SizeAnalysis> compute(mlir::func::FuncOp function);

  /// Sizes of a tensor, or [rows of the buffer, width] of ragged rows.
  llvm::ArrayRef<mlir::AffineExpr> getSizes(mlir::Value value) const {
    return sizes.find(value)->second;
  }

  /// Number of symbols, and for each the (argument, dimension) that defines it.
  llvm::ArrayRef<std::pair<unsigned, unsigned>> getSymbols() const {
    return symbols;
  }

private:
  explicit SizeAnalysis(mlir::MLIRContext *context) : context(context) {}

  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitElementwise(mlir::Operation *op);
  mlir::LogicalResult require(mlir::Operation *op, mlir::AffineExpr a,
                              mlir::AffineExpr b);
  void setFrom(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::AffineExpr resolve(mlir::AffineExpr expr) const;
  mlir::AffineExpr constant(int64_t value) const {
    return mlir::getAffineConstantExpr(value, context);
  }
  void renumber(mlir::func::FuncOp function);

  mlir::MLIRContext *context;
  /// Some value's type states a size that its op does not give.
  bool contradiction = false;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::AffineExpr>> sizes;
  /// Tokens that each routing value routes; its rows are topk times as many.
  llvm::DenseMap<mlir::Value, mlir::AffineExpr> tokens;
  llvm::SmallVector<mlir::AffineExpr> substitution;
  llvm::SmallVector<std::pair<unsigned, unsigned>> symbols;
};

/// Product of `sizes`.
mlir::AffineExpr productOf(llvm::ArrayRef<mlir::AffineExpr> sizes,
                           mlir::MLIRContext *context);

} // namespace epifold

#endif // EPIFOLD_PASSES_SIZEANALYSIS_H
