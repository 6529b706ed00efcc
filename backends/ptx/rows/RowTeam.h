// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A team of threads that reads one row of a matrix and reduces it by the row
// trees of 64-element leaves.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_ROWTEAM_H
#define EPIFOLD_BACKENDS_PTX_ROWS_ROWTEAM_H

#include "backends/ptx/rows/TreeReduce.h"

namespace epifold::ptx {

/// Elements of a leaf that one thread holds: columns `8j + 2q + h` of the leaf
/// for the thread's place q of 0 … 3, in the order (j, h). So the tree's first
/// merges are inside a thread, the last two between four neighbouring lanes,
/// and a matrix product's accumulators lie the same way.
inline constexpr unsigned kThreadElements = 16;

/// Column, relative to 2q, of a thread's element i.
constexpr int64_t threadColumn(unsigned i) { return 8 * (i / 2) + i % 2; }

/// Neighbouring elements (h of 0 and 1) that one access takes in rows of
/// `columns`: both exist or none does.
int64_t getRowAccessWidth(int64_t columns);

/// Merges a thread's elements of one leaf row. `remaining`: i32 columns of the
/// leaf row from 2q on (may be negative or past the end); null: all exist.
TreeValue mergeThreadElements(KernelBuilder &b, const Tree &tree,
                              const llvm::SmallVector<TreeValue> &elements,
                              mlir::Value remaining);

/// How a block's threads share rows: four threads a leaf, 1 … 64 leaves a team.
struct RowTeamShape {
  static constexpr int64_t kBlockThreads = 256;
  int64_t leaves;

  /// For rows of `columns` elements, which may be dynamic.
  static RowTeamShape get(int64_t columns);

  int64_t getThreads() const { return 4 * leaves; }
  int64_t getRowsPerBlock() const { return kBlockThreads / getThreads(); }
  int64_t getWarps() const { return leaves <= 8 ? 1 : leaves / 8; }
};

/// Reads and reduces row `row()` of an operand `[rows, columns]`, one row a
/// team. A long row takes several steps of 64 · leaves columns. Every thread of
/// the block calls the same functions.
class RowTeam {
public:
  /// The team of this thread for a row of operand 0; makes the grid cover all
  /// rows.
  explicit RowTeam(KernelBuilder &b);
  /// The same for the only row that operand `operand`, `[columns]`, is: the
  /// block's first team has it.
  RowTeam(KernelBuilder &b, unsigned operand);

  /// Launch shape of kernels that use row teams.
  static std::array<int64_t, 3> getBlock() {
    return {RowTeamShape::kBlockThreads, 1, 1};
  }

  /// The type elements are computed in.
  mlir::Type getComputeType() const { return computeType; }
  /// i64 row of this team; a team past the last row works on row 0 without
  /// storing.
  mlir::Value getRow() const { return row; }
  mlir::Value getRows() const { return rows; }
  /// i64 row of the block's first team, which need not exist.
  mlir::Value getFirstRow() const { return firstRow; }
  int64_t getRowsPerBlock() const { return shape.getRowsPerBlock(); }
  mlir::Value getColumns() const { return columns; }
  /// i1: this thread stores the row's result.
  mlir::Value isLeader() const { return leader; }

  /// A thread's place in one step.
  struct Piece {
    mlir::Value start; ///< i64 column of the thread's element 0; a column of
                       ///< the row where none is left.
    mlir::Value leaf;  ///< i64 leaf of the row.
    mlir::Value remaining; ///< i32 columns from `start` on, at most 64; null:
                           ///< all elements exist.
  };

  /// Runs `body` for each step.
  void forEachPiece(llvm::function_ref<void(const Piece &)> body);

  /// The thread's elements of the operand in the compute type. One that does
  /// not exist is a copy of another of the row.
  KernelBuilder::Values load(const Piece &piece);
  /// Stores the values that exist, rounded to the element type, to the same
  /// place of operand `operand`.
  void store(const KernelBuilder::Values &values, const Piece &piece,
             unsigned operand);

  /// Reduces the row by `tree`; `nodes(piece)` gives the thread's 16 elements.
  /// All threads get the result.
  TreeValue
  reduce(const Tree &tree,
         llvm::function_ref<llvm::SmallVector<TreeValue>(const Piece &)> nodes);
  /// The row's largest element, for all threads. Where the row holds a NaN the
  /// result may be that or any element: an exponential sum over the row is NaN
  /// with either.
  mlir::Value maximum();

private:
  RowTeam(KernelBuilder &b, unsigned operand, mlir::Value rows,
          mlir::Value firstRow);

  Piece piece(mlir::Value step);
  mlir::Value exists(const Piece &piece, unsigned element);

  KernelBuilder &b;
  unsigned operand;
  RowTeamShape shape;
  mlir::Type computeType;
  mlir::Value rows, firstRow, columns, row, rowExists, rowStart, steps, leaf,
      quarter, leader;
  /// All leaves are full, and fill all steps.
  bool isFullLeaf = false, isFullStep = false, isOneStep = false;
  int64_t accessWidth = 1;
  KernelBuilder::Values loaded;
};

/// Reduces the team's row as `op` does and stores the result in operand `out`.
void reduceRow(KernelBuilder &b, kernel::RowReduceOp op, RowTeam &team,
               unsigned out);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_ROWTEAM_H
