// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Device code of norm statistics: what a leaf's elements merge to, and what a
// sample's leaves do.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_LEAFMERGE_H
#define EPIFOLD_BACKENDS_PTX_ROWS_LEAFMERGE_H

#include "backends/ptx/rows/TreeReduce.h"

namespace epifold::ptx {

/// Warps that share a leaf, 16 rows each.
inline constexpr int64_t kLeafWarps = 4;

/// A leaf of an operand `[samples, groups, leaf rows, leaf columns, 3]` of
/// statistics, and the elements that it is for.
struct LeafPlace {
  /// i64 number among all leaves.
  mlir::Value number;
  /// i64 first row, counted over all samples, and first column of a row.
  mlir::Value row, column;
  /// i32 rows and columns that exist.
  mlir::Value rowsLeft, columnsLeft;
};

/// What the leaves of an operand are of: i64 rows of a sample, i64 columns of
/// a row, and the groups of columns that a norm tells apart.
struct LeafShape {
  unsigned operand;
  mlir::Value rows, columns;
  int64_t groups;
};

/// Leaf `number` (i64), and the leaf that begins at a row and a column.
LeafPlace leafNumbered(KernelBuilder &b, const LeafShape &shape,
                       mlir::Value number);
LeafPlace leafAt(KernelBuilder &b, const LeafShape &shape, mlir::Value row,
                 mlir::Value column);

/// Types of a node of `statisticsTree` over elements of `element`.
llvm::SmallVector<mlir::Type> statisticsTypes(mlir::Type element);

/// Gives a thread its elements of row `row` (i32, in the leaf), in the compute
/// type: columns `column` (i32) + `threadColumn(i)`. Those that do not exist
/// may be anything.
using LeafLoader = llvm::function_ref<KernelBuilder::Values(
    mlir::Value row, mlir::Value column)>;

/// Merges the elements of a leaf; lane 0 of the team's warps has the result.
/// `warp`: the calling warp among the team's (i32).
TreeValue mergeLeaf(KernelBuilder &b, const LeafPlace &place, mlir::Value warp,
                    WarpMerger &warps, LeafLoader load);

/// Stores a leaf's statistics from the calling thread.
void storeLeaf(KernelBuilder &b, unsigned operand, const LeafPlace &place,
               const TreeValue &node);

/// A loader of elements in global memory: leaf `place` of operand `operand`,
/// whose rows have `columns` (i64) elements; `width` neighbouring ones may be
/// read at once.
class LeafInMemory {
public:
  LeafInMemory(KernelBuilder &b, unsigned operand, const LeafPlace &place,
               mlir::Value columns, int64_t width);
  KernelBuilder::Values operator()(mlir::Value row, mlir::Value column);

private:
  KernelBuilder &b;
  unsigned operand;
  const LeafPlace &place;
  mlir::Value columns, start;
  int64_t width;
};

/// A leaf in shared memory, in lines of a row each, whose pieces of 16 bytes
/// lie in the 128-byte swizzle: what a tensor map's boxes have.
class LeafInShared {
public:
  LeafInShared(KernelBuilder &b, mlir::Type element, mlir::Value memory)
      : b(b), element(element), memory(memory) {}

  static int64_t bytes(mlir::Type element);
  /// Stores neighbouring elements of a row from `column` (i32) on, at most 16
  /// bytes, which divide their place.
  void store(mlir::Value row, mlir::Value column, mlir::ValueRange values);
  KernelBuilder::Values operator()(mlir::Value row, mlir::Value column);

private:
  mlir::Value pointerTo(mlir::Value row, mlir::Value column);

  KernelBuilder &b;
  mlir::Type element;
  mlir::Value memory;
};

/// Merges all leaves of (sample, group) number `number` (i64) of operand
/// `operand` to (mean, 1/deviation), which all threads get. All of the block's
/// `threads` call it.
class SampleMerger {
public:
  SampleMerger(KernelBuilder &b, unsigned operand, int64_t threads);
  KernelBuilder::Values merge(mlir::Value number, double epsilon);

private:
  TreeValue mergeLeafRow(mlir::Value firstLeaf, mlir::Value leafRow);

  KernelBuilder &b;
  unsigned operand;
  int64_t warps;
  llvm::SmallVector<mlir::Type> types;
  WarpMerger warpMerger;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_LEAFMERGE_H
