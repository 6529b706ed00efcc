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

/// The epilogue of one thread's part of a tile: loads of extras, the region,
/// and guarded stores. Extras that depend on the column alone are loaded once a
/// thread, those that depend on the row alone once a row.
class GemmEpilogue {
public:
  GemmEpilogue(KernelBuilder &b, const GemmProblem &problem,
               const GemmTile &tile, const AccumulatorLayout &layout);

  /// Loads what depends on the row alone ahead of `emit`, where a thread has
  /// few rows: with the sums still to be computed, nobody waits for it.
  void loadRowValues();

  /// The outs' values of a run of a row, which need not exist: then they are
  /// those of another one. Where extras depend on columns, these must exist.
  llvm::SmallVector<KernelBuilder::Values> compute(int64_t row, int64_t run,
                                                   AccumulatorAt accumulator);
  /// i64 offsets of a row's first column of the thread in each out.
  KernelBuilder::Values offsetsOfOuts(int64_t row);

  /// Whether runs of `columns` are one access of the tensor that `map` indexes.
  static bool storesRuns(mlir::RankedTensorType type, mlir::AffineMap map,
                         int64_t columns);
  /// Whether rows are evenly spaced, and i64 elements between them.
  static bool hasEvenRows(mlir::AffineMap map);
  static mlir::Value rowStride(KernelBuilder &b, unsigned operand,
                               mlir::AffineMap map);
  static bool dependsOnRowAlone(mlir::AffineMap map);

  void emit(AccumulatorAt accumulator);

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// An extra or an out.
  struct Access {
    unsigned operand;
    mlir::AffineMap map;
    Movement alongRow, alongColumn;
    /// Runs of columns are one access.
    bool isVector;
  };
  /// What a row's extras and outs need: offsets of the thread's first column,
  /// and the values of extras that depend on the row alone.
  struct Row {
    Value number;
    llvm::SmallVector<Value> offsets, values;
  };

  /// Columns that are stored under one condition.
  int64_t guardedColumns() const {
    return problem.columns % layout.runLength == 0 ? layout.runLength : 1;
  }
  Access describe(unsigned operand, mlir::AffineMap map);
  Value columnAt(int64_t run, int64_t lane) {
    return b.add(layout.column, b.i64(layout.runs[run] + lane));
  }
  Value isInside(Value column) {
    return isFull ? b.i1(true) : b.lt(column, b.i64(problem.columns));
  }
  Value offsetAt(const Access &access, Value rowOffset, Value row, int64_t run,
                 int64_t lane);
  Value rowOffset(const Access &access, Value row);
  Values loadRun(const Access &access, Value rowOffset, Value row, int64_t run,
                 int64_t lane, int64_t count);
  void loadColumnVectors();
  Value numberOf(int64_t row) { return b.add(tile.row, layout.rows[row]); }
  Value knownNumberOf(int64_t row);
  Row openRow(int64_t row, Value number);
  void emitRow(int64_t row, AccumulatorAt accumulator);
  llvm::SmallVector<Values> computePiece(const Row &place, int64_t row,
                                         int64_t run, int64_t lane,
                                         int64_t count,
                                         AccumulatorAt accumulator);
  void storePiece(const Row &place, int64_t run, int64_t lane, int64_t count,
                  llvm::ArrayRef<Values> results);

  KernelBuilder &b;
  const GemmProblem &problem;
  const GemmTile &tile;
  const AccumulatorLayout &layout;
  /// No column is outside the product.
  bool isFull;
  llvm::SmallVector<Access> extras, outs;
  /// For each extra that depends on no row: its values by run.
  llvm::SmallVector<llvm::SmallVector<Values>> columnVectors;
  /// For each row, if they were loaded early: the values of each extra that
  /// depends on the row alone.
  llvm::SmallVector<Values> rowValues;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_GEMMEPILOGUE_H
