// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which tile a wgmma kernel's block takes next, and how its warps learn of it.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_TILEFEED_H
#define EPIFOLD_BACKENDS_PTX_GEMM_TILEFEED_H

#include "backends/ptx/gemm/GemmTile.h"

namespace epifold::ptx {

/// A block's sequence of tiles, told by one warp, the leader, to all others.
///
/// Where tiles take different times, as those of ragged groups do, blocks draw
/// the numbers of all but their first tiles from a counter. A walk by a fixed
/// stride would let blocks drift apart by more and more, until they no longer
/// read the same weights at the same time and the L2 holds none of them.
///
/// Messages lie in a ring in shared memory. A warp that copies or multiplies is
/// at most as many slabs behind the leader as there are stages, and each tile
/// has a slab; a warpgroup that applies epilogues is two tiles behind those
/// that multiply. So a ring of four more slots than stages needs nobody to say
/// that a message was read.
class TileFeed {
public:
  /// Whether blocks draw their tiles; the kernel then needs the status words.
  static bool drawsTiles(const GemmProblem &problem,
                         const GemmSchedule &schedule);
  /// Bytes of shared memory, at a multiple of 16.
  static int64_t sharedBytes(const GemmSchedule &schedule);

  TileFeed(KernelBuilder &b, const GemmProblem &problem,
           const GemmSchedule &schedule)
      : b(b), problem(problem), schedule(schedule) {}

  /// Takes `memory` (a pointer); a block barrier must follow.
  void start(mlir::Value memory);

  /// The leader's: tells the sequence's tile number `sequence` (i32), which is
  /// the walk's `number` (i32) or, past the last one, none. All of the warp.
  void tell(TileWalk &walk, mlir::Value number, mlir::Value sequence);
  /// The leader's first thread's, once for each tile: an i32 ticket for the
  /// next one. Early, as drawing takes a while.
  mlir::Value draw(TileWalk &walk);
  /// The leader's: the number behind `number`, by the ticket of its lane 0.
  mlir::Value next(TileWalk &walk, mlir::Value number, mlir::Value ticket);

  /// Waits for a tile of the sequence.
  GemmTile await(mlir::Value sequence);
  /// Of warps that multiply: the same, of whose slabs the first one is there.
  GemmTile receive(mlir::Value sequence);
  /// i1: whether `tile` is one, or the end.
  mlir::Value isTile(const GemmTile &tile) {
    return b.lt(tile.row, tile.rowEnd);
  }

private:
  using Value = mlir::Value;

  int64_t slots() const;
  Value barrierOf(Value sequence);
  Value messageOf(Value sequence);

  KernelBuilder &b;
  const GemmProblem &problem;
  const GemmSchedule &schedule;
  Value messages; // pointer
  Value barriers; // i32 address
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_TILEFEED_H
