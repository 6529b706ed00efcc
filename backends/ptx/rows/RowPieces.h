// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rows that are written column by column, independently: threads over a row in
// 16-byte pieces.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_ROWPIECES_H
#define EPIFOLD_BACKENDS_PTX_ROWS_ROWPIECES_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// How a block shares the rows of a `[rows, columns]` tensor.
struct RowPieces {
  static constexpr int64_t kBlockThreads = 256;
  /// Elements of one access: 16 bytes where the width allows, else one.
  int64_t width;
  /// Threads along a row; the others of the block take further rows.
  int64_t rowThreads;

  /// For operand `operand` of `op`, its columns being the last dimension.
  static RowPieces get(mlir::Operation *op, unsigned operand);
  static std::array<int64_t, 3> getBlock() { return {kBlockThreads, 1, 1}; }

  int64_t getRowsPerBlock() const { return kBlockThreads / rowThreads; }

  /// i64 number, counted over the grid, of the thread's row; and how many rows
  /// the grid covers at once.
  mlir::Value getRow(KernelBuilder &b) const;
  mlir::Value getGridRows(KernelBuilder &b) const;

  /// Runs `body` for the first column (i64) of each of the thread's pieces of a
  /// row of `columns`.
  void forEach(KernelBuilder &b, mlir::Value columns,
               llvm::function_ref<void(mlir::Value column)> body) const;

  /// The piece at element `offset` of an operand.
  KernelBuilder::Values load(KernelBuilder &b, unsigned operand,
                             mlir::Value offset) const;
  void store(KernelBuilder &b, const KernelBuilder::Values &values,
             unsigned operand, mlir::Value offset) const;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_ROWPIECES_H
