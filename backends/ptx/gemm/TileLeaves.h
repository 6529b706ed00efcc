// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The norm statistics of the leaves that a product's tile is made of, in a
// cascade of the product and `leaf_stats`.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_TILELEAVES_H
#define EPIFOLD_BACKENDS_PTX_GEMM_TILELEAVES_H

#include "backends/ptx/gemm/GemmTile.h"
#include "backends/ptx/rows/LeafMerge.h"

namespace epifold::ptx {

/// Teams of four warps, each of which takes a leaf at a time.
class TileLeaves {
public:
  /// Whether the tiles of `schedule`, and what a warpgroup has of them, begin
  /// and end where leaves do; true for a product without statistics.
  static bool fit(const GemmProblem &problem, const GemmSchedule &schedule);
  /// Bytes of shared memory for a block of `threads`.
  static int64_t sharedBytes(const GemmProblem &problem, int64_t threads);

  /// In `memory`. `synchronize` is a barrier of the threads that take part:
  /// whole teams of a block of `threads`.
  TileLeaves(KernelBuilder &b, const GemmProblem &problem, int64_t threads,
             mlir::Value memory, const std::function<void()> &synchronize);

  /// The leaves of the tile's rows from `row` on and columns from `column` on
  /// (i64), of which the threads that take part have stored `rows` by
  /// `columns`; `teams` teams share them.
  void mergeStored(const GemmTile &tile, mlir::Value row, mlir::Value column,
                   int64_t rows, int64_t columns, int64_t teams);

private:
  using Value = mlir::Value;

  LeafPlace placeOf(Value row, Value column);
  void merge(const LeafPlace &place, Value exists, LeafLoader load);

  KernelBuilder &b;
  const GemmProblem &problem;
  std::function<void()> synchronize;
  WarpMerger warps;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_TILELEAVES_H
