// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an emitter needs to know of a kernel.gemm, and the schedule by which it
// is emitted.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_GEMMSCHEDULE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_GEMMSCHEDULE_H

#include "backends/ptx/KernelBuilder.h"

#include <optional>

namespace epifold::ptx {

/// The static facts of a kernel.gemm and the kernel operands of its parts.
struct GemmProblem {
  explicit GemmProblem(kernel::GemmOp op);

  /// A handle, whose accessors are not const.
  mutable kernel::GemmOp op;
  /// What is launched: the product, or the cascade that it is part of. Where
  /// that does not begin with it, A is no operand.
  mlir::Operation *launch;
  /// The statistics that a cascade adds: of which groups of columns, and where
  /// they go.
  struct Leaves {
    unsigned operand;
    int64_t groups;
  };
  std::optional<Leaves> leaves;
  unsigned a = 0, firstB = 1, gather = 0, offsets = 0, firstExtra = 0,
           firstOut = 0;
  /// Number of B's; columns of each, and rows in memory of a tap of it;
  /// reduction length of a tap; taps; groups that the launch covers.
  int64_t products, columns, rowsOfB, depth, taps, groups;
  bool isConvolution, isRagged, hasGroup, hasGather;
  /// A has a leading group dimension.
  bool hasGroupedA;
  mlir::Type element, accumulator;

  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  /// Groups whose rows follow each other, as device-side offsets say, in one
  /// launch.
  bool hasManyGroups() const { return isRagged && !hasGroup; }
  bool usesMatrixUnit() const { return element.isBF16() || element.isF16(); }
  /// Whether rows of A and B can be read in pieces of `elements`.
  bool readsPieces(int64_t elements) const { return depth % elements == 0; }
};

/// How a product is cut into tiles. It never changes bits: every accumulator
/// walks k upward alone.
struct GemmSchedule {
  /// Rows, columns of each product, and reduction steps of a block's tile.
  int64_t tileRows, tileColumns, tileDepth;
  /// Tiles of operands in flight in shared memory.
  int64_t stages;
  /// A block's multiplying warpgroups (wgmma), warps (mma.sync) or threads
  /// (FMA) along rows and columns.
  int64_t rowUnits, columnUnits;
  /// Row tiles that neighbouring blocks share a column with, for the L2's sake.
  int64_t rasterRows;
  /// Blocks that must fit a multiprocessor.
  int64_t minBlocks;
  /// On the matrix unit: wgmma rather than mma.sync.
  bool usesWgmma = false;
  /// Blocks that stay and take one tile after the other, so that copies for the
  /// next one run during an epilogue; 0: a block for every tile.
  int64_t residentBlocks = 0;
  /// wgmma: the B's give the instruction its 64 rows, and A its columns, of
  /// which as few as eight are possible: for few rows of A.
  bool swapsOperands = false;
  /// wgmma: a tile's epilogue is applied while the next one is multiplied.
  bool defersEpilogue = false;
  /// The schedule is for launches of at most so many rows, of all groups
  /// together where they are ragged; none: of any number.
  std::optional<int64_t> mostRows = std::nullopt;

  bool operator==(const GemmSchedule &other) const = default;
};

/// The schedules for a target that has wgmma or not: bounds of rows ascend, and
/// the last one has none.
llvm::SmallVector<GemmSchedule> chooseSchedules(const GemmProblem &problem,
                                                bool hasWgmma);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_GEMMSCHEDULE_H
