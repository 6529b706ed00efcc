// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Device code of the fixed reduction trees: what two neighbours merge to, and
// merges inside a thread, between lanes, between warps and along a sequence.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_TREEREDUCE_H
#define EPIFOLD_BACKENDS_PTX_ROWS_TREEREDUCE_H

#include "backends/ptx/KernelBuilder.h"

#include <functional>

namespace epifold::ptx {

/// What a node of a tree carries: the sum, or (count, mean, M2).
using TreeValue = KernelBuilder::Values;

/// A kind of tree. A node exists where any of its elements does; a node whose
/// partner does not exist passes its value on unchanged (adding a zero instead
/// would turn -0 into +0).
struct Tree {
  unsigned components;
  TreeValue (*merge)(KernelBuilder &b, mlir::ValueRange lo,
                     mlir::ValueRange hi);
  /// A merge costs so much that a branch around it pays.
  bool isDear;
};

/// lo + hi.
extern const Tree sumTree;
/// Chan's formula; a merge divides twice.
extern const Tree statisticsTree;

/// The statistics of the single element `x`: (1, x, 0).
TreeValue singleStatistics(KernelBuilder &b, mlir::Value x);

/// (mean, 1/sqrt(M2/count + epsilon)) of a node of `statisticsTree`.
KernelBuilder::Values finishStatistics(KernelBuilder &b, const TreeValue &node,
                                       double epsilon);

/// merge(lo, hi) where the i1 `hiExists` holds, else lo. A null `hiExists`
/// means always.
TreeValue mergeIf(KernelBuilder &b, const Tree &tree, mlir::Value hiExists,
                  const TreeValue &lo, const TreeValue &hi);

/// Merges a thread's nodes, a power of two of them, by adjacent pairs.
/// `hiExists(i)` says whether node i exists (asked for the upper node of each
/// pair of elements or subtrees, which exists when its first element does);
/// null: all do.
TreeValue mergeThread(KernelBuilder &b, const Tree &tree,
                      llvm::SmallVector<TreeValue> nodes,
                      llvm::function_ref<mlir::Value(unsigned i)> hiExists);

/// Merges each lane's node with that of the lane `lane ^ mask`. The lane whose
/// mask bit is clear is lo and gets the result; what the other one gets is of
/// no use. `hiExists` is asked on lo's side.
TreeValue mergeLanes(KernelBuilder &b, const Tree &tree, const TreeValue &node,
                     int64_t mask, mlir::Value hiExists);

/// The node that lane `lane` holds.
TreeValue broadcast(KernelBuilder &b, const TreeValue &node, mlir::Value lane);

/// Merges one node of each warp of a team by adjacent pairs, through shared
/// memory. All threads that `synchronize` waits for call it, as often as one
/// another.
class WarpMerger {
public:
  /// A block of `warps` warps made of teams of `teamWarps` (a power of two).
  WarpMerger(KernelBuilder &b, const Tree &tree, mlir::TypeRange types,
             int64_t warps, int64_t teamWarps);
  /// The same, in `memory`, with a barrier of the threads that take part.
  WarpMerger(KernelBuilder &b, const Tree &tree, mlir::TypeRange types,
             int64_t warps, int64_t teamWarps, mlir::Value memory,
             std::function<void()> synchronize);

  /// Bytes of shared memory for nodes of `types`.
  static int64_t sharedBytes(mlir::TypeRange types, int64_t warps);

  /// Lane 0 of each warp brings a node and takes its team's. `exists(w)` says
  /// whether the i32 team-relative warp `w` has a node; null: all do.
  TreeValue merge(const TreeValue &node,
                  llvm::function_ref<mlir::Value(mlir::Value w)> exists);

private:
  KernelBuilder &b;
  const Tree &tree;
  int64_t teamWarps;
  KernelBuilder::Values shared;
  std::function<void()> synchronize;
};

/// Merges `count` (i64, at least 1) nodes that come one after the other by
/// adjacent pairs, level by level: node i of a level is merged with node i+1
/// for even i, an odd last one passes through. Keeps one pending node a level,
/// like the digits of a binary counter. A count unknown to the compiler may
/// reach 2^20 - 1.
TreeValue mergeSequence(KernelBuilder &b, const Tree &tree,
                        mlir::TypeRange types, mlir::Value count,
                        llvm::function_ref<TreeValue(mlir::Value index)> node);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_TREEREDUCE_H
