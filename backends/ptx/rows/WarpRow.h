// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A row of f32 in the registers of one warp: its sum, its largest elements.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_WARPROW_H
#define EPIFOLD_BACKENDS_PTX_ROWS_WARPROW_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// An i32 that orders f32 values as their comparison does, the zeros equal; no
/// value but a NaN gives the least one.
mlir::Value orderOf(KernelBuilder &b, mlir::Value x);

/// Rows of `columns` elements, of which lane l of a warp has number l, l + 32,
/// …. Every lane calls the same functions.
class WarpRow {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  static constexpr int64_t kLanes = 32;

  WarpRow(KernelBuilder &b, int64_t columns);

  /// The lane's elements of the row that starts at element `start` (i64) of an
  /// operand. One that does not exist is a copy of another of the row.
  Values load(unsigned operand, Value start);
  /// Stores the lane's elements that exist.
  void store(const Values &values, unsigned operand, Value start);

  /// Largest element, for all lanes. Where the row holds a NaN it may be that
  /// or any element.
  Value maximum(const Values &values);
  /// The sum by the row tree of 64-element leaves, for all lanes.
  Value sum(Values values);
  /// i1, the same for all lanes.
  Value holdsNaN(const Values &values);

  struct Pick {
    Value value, index;
  };
  /// The `count` largest elements, at most 32, the lower index of equals first:
  /// lane k gets number k. The row holds no NaN.
  Pick pickLargest(const Values &values, int64_t count);

private:
  Value column(size_t i);
  Value exists(size_t i);
  Value isInside(size_t i, int64_t distance);

  KernelBuilder &b;
  int64_t columns;
  Value lane;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_WARPROW_H
