// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Indexing maps evaluated on numbers.

#ifndef EPIFOLD_BACKENDS_REFERENCE_INDEXMAP_H
#define EPIFOLD_BACKENDS_REFERENCE_INDEXMAP_H

#include "backends/reference/Tensor.h"

#include "mlir/IR/AffineMap.h"

#include <optional>
#include <utility>

namespace epifold::reference {

/// Values of a map's results at one point.
Tensor::Shape evaluateMap(mlir::AffineMap map, llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> symbols);

/// Inclusive bounds of a map's result whose dimensions and symbols lie in
/// inclusive bounds.
using Bounds = std::pair<int64_t, int64_t>;
Bounds evaluateBounds(mlir::AffineExpr expression, llvm::ArrayRef<Bounds> dims,
                      llvm::ArrayRef<Bounds> symbols);

/// A map from points to element offsets in a row-major operand.
class IndexMap {
public:
  IndexMap(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

  /// Offset of the element at `point`; `symbol` is s0.
  int64_t getOffset(llvm::ArrayRef<int64_t> point, int64_t symbol) const;

  /// How far the offset moves with the last dimension, when that is the same
  /// everywhere.
  std::optional<int64_t> getInnerStride() const;

  /// True when the points of a box of `sizes`, in row-major order, are
  /// consecutive elements.
  bool isContiguous(llvm::ArrayRef<int64_t> sizes) const;

private:
  mlir::AffineMap map;
  Tensor::Shape strides; // of the operand
  // The offset as Σ coefficient · dimension + …, when all results are linear.
  bool isLinear = true;
  Tensor::Shape coefficients;
  int64_t symbolCoefficient = 0, constant = 0;
};

} // namespace epifold::reference

#endif
