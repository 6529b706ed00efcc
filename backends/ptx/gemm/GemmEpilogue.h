// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Applies a product's epilogue region to a thread's accumulators and stores the
// outs.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_GEMMEPILOGUE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_GEMMEPILOGUE_H

#include "backends/ptx/IndexExpressions.h"
#include "backends/ptx/gemm/GemmTile.h"

namespace epifold::ptx {

/// Where a thread's accumulators lie: for each row (i64, from the tile's first
/// one) and each run of `runLength` neighbouring columns, which starts at
/// `column + runs[i]`.
struct AccumulatorLayout {
  llvm::SmallVector<mlir::Value> rows;
  /// i64 first column of the thread in the whole product; a multiple of
  /// `runLength`.
  mlir::Value column;
  llvm::SmallVector<int64_t> runs;
  int64_t runLength;
  /// No tile reaches past the last column.
  bool isFull;
};

/// The accumulator of (product, row number, run number, column in the run).
using AccumulatorAt = llvm::function_ref<mlir::Value(
    int64_t product, int64_t row, int64_t run, int64_t lane)>;

/// Where results go on their way to memory, in rounds of some runs each.
class RoundStore {
public:
  virtual ~RoundStore() = default;
  /// Runs of a round; it divides their number.
  virtual int64_t runsOfRound() const = 0;
  virtual void beginRound(int64_t round) = 0;
  /// Takes a run's results of the product's only out.
  virtual void put(int64_t row, int64_t run, mlir::ValueRange values) = 0;
  virtual void endRound(int64_t round) = 0;
};

/// Emits loads of extras, the region, and guarded stores for all of a thread's
/// accumulators. Extras that depend on the column alone are loaded once a
/// thread, those that depend on the row alone once a row.
void emitEpilogue(KernelBuilder &b, const GemmProblem &problem,
                  const GemmTile &tile, const AccumulatorLayout &layout,
                  AccumulatorAt accumulator);

/// The same for a tile all of whose rows and columns exist, with the results of
/// the only out given to `store`.
void emitEpilogue(KernelBuilder &b, const GemmProblem &problem,
                  const GemmTile &tile, const AccumulatorLayout &layout,
                  AccumulatorAt accumulator, RoundStore &store);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_GEMMEPILOGUE_H
