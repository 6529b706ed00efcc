// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which part of a tile a consumer warpgroup multiplies, and where its threads'
// accumulators lie in it.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_WGMMASHARE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_WGMMASHARE_H

#include "backends/ptx/gemm/GemmEpilogue.h"

namespace epifold::ptx {

/// The share of the calling warpgroup, number `consumer` (i32) of those that
/// multiply.
class WgmmaShare {
public:
  /// Threads of a warpgroup, and the rows of its instruction.
  static constexpr int64_t kThreads = 128, kRows = 64;

  WgmmaShare(KernelBuilder &b, const GemmProblem &problem,
             const GemmSchedule &schedule, mlir::Value consumer)
      : b(b), problem(problem), schedule(schedule), consumer(consumer) {}

  /// Columns of each product.
  int64_t columns() const {
    return schedule.tileColumns / schedule.columnUnits;
  }
  /// i64 first row and column in a tile.
  mlir::Value firstRow();
  mlir::Value firstColumn();

  /// A matrix of accumulators: 64 lines of one operand by `count` of the other,
  /// from those lines (i32) of a stage on.
  struct Matrix {
    int64_t count;
    mlir::Value lineOfRows, lineOfColumns;
  };
  llvm::SmallVector<Matrix> matrices();
  /// Accumulators of a thread.
  int64_t countAccumulators();

  AccumulatorLayout layout(const GemmTile &tile);
  /// The number of the accumulator of (product, row number, run number, column
  /// in the run) among a thread's.
  int64_t indexOf(const AccumulatorLayout &layout, int64_t product, int64_t row,
                  int64_t run, int64_t lane);

private:
  using Value = mlir::Value;

  Value warp();
  AccumulatorLayout layoutOfRows(const GemmTile &tile);
  AccumulatorLayout layoutOfColumns(const GemmTile &tile);

  KernelBuilder &b;
  const GemmProblem &problem;
  const GemmSchedule &schedule;
  Value consumer;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_WGMMASHARE_H
