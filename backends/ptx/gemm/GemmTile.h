// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which tile a block computes, and where the rows of A and B that it reads lie.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_GEMMTILE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_GEMMTILE_H

#include "backends/ptx/RaggedRows.h"
#include "backends/ptx/gemm/GemmSchedule.h"

namespace epifold::ptx {

/// A block's tile, all i64: rows `row` … `rowEnd - 1` of group `group` (as the
/// indexing maps count them; no more than the tile's rows are this block's),
/// columns from `column`. `groupOfB` indexes B's group dimension.
struct GemmTile {
  mlir::Value group, groupOfB, row, rowEnd, column;
};

/// The tiles of a product by number, and a block's way through them: from its
/// own number on by the number of blocks.
///
/// Where blocks come and go, row tiles of ragged rows are numbered `offsets[g]
/// / tileRows + g + i`, which needs no sums over groups, but leaves numbers
/// without rows. Blocks that stay would share those out unevenly, so each of
/// them counts the tiles of all groups once, unless there are very many.
class TileWalk {
public:
  /// Sets the grid: `residentBlocks`, or a block for every tile. All threads of
  /// the block must come here, and all of a warp to the other functions.
  /// `memory` points to the shared memory that the walk takes.
  TileWalk(KernelBuilder &b, const GemmProblem &problem,
           const GemmSchedule &schedule, mlir::Value memory = {});

  /// Whether blocks count the tiles of all groups.
  static bool countsTiles(const GemmProblem &problem,
                          const GemmSchedule &schedule);
  /// Bytes of shared memory that the walk takes.
  static int64_t sharedBytes(const GemmProblem &problem,
                             const GemmSchedule &schedule);

  /// i32 number of the block among all blocks.
  mlir::Value own();
  /// i32 numbers of the block's first tile with rows, and of the next one after
  /// `number`.
  mlir::Value first();
  mlir::Value next(mlir::Value number);
  /// i1: whether there is a tile `number`; past the block's last one there is
  /// none.
  mlir::Value exists(mlir::Value number) { return b.lt(number, allTiles); }
  GemmTile at(mlir::Value number);
  /// i32: tiles of all blocks.
  mlir::Value count() const { return allTiles; }

private:
  std::pair<mlir::Value, mlir::Value> rasterize(mlir::Value number,
                                                mlir::Value rowTiles);
  GemmTile locateRows(mlir::Value batch, mlir::Value rowTile);
  GemmTile rowsOfGroup(mlir::Value group, mlir::Value tileInGroup);
  GemmTile atInGroup(mlir::Value number);
  std::pair<mlir::Value, mlir::Value> locateGroup(mlir::Value rowTile);
  mlir::Value countTilesOfGroups(mlir::Value memory);
  mlir::Value tilesBefore(mlir::Value group);
  mlir::Value rowsBefore(mlir::Value group);
  mlir::Value skipEmpty(mlir::Value number);
  mlir::Value stride();

  KernelBuilder &b;
  const GemmProblem &problem;
  const GemmSchedule &schedule;
  /// The rows of the launch's group, when it has one.
  RowRange ownRows;
  mlir::Value rowTiles, tilesOfBatch, allTiles; // i32
  /// For ragged rows, in shared memory: i32 tiles before each group, and i64
  /// rows before it.
  mlir::Value table, begins;
};

/// Sets the grid to a block for every tile and calls `body` where the block's
/// tile has rows.
void forEachTile(KernelBuilder &b, const GemmProblem &problem,
                 const GemmSchedule &schedule,
                 llvm::function_ref<void(const GemmTile &tile)> body);

/// A step of the reduction: `tileDepth` elements of one tap, i32.
struct GemmSlab {
  mlir::Value tap, depth;
};

/// Slabs of a tap and of the whole reduction.
int64_t slabsPerTap(const GemmProblem &problem, const GemmSchedule &schedule);
int64_t countSlabs(const GemmProblem &problem, const GemmSchedule &schedule);
GemmSlab slabAt(KernelBuilder &b, const GemmProblem &problem,
                const GemmSchedule &schedule, mlir::Value index);

/// A row of A that a thread reads: the element offset of its start (i64),
/// whether the row is the block's (i1), and in a convolution its time step
/// (i64).
struct RowOfA {
  mlir::Value offset, isValid, time;
};
RowOfA rowOfA(KernelBuilder &b, const GemmProblem &problem,
              const GemmTile &tile, mlir::Value rowInTile);

/// A row of B number `product`: the element offset of its start in tap 0 (i64)
/// and whether it exists (i1).
struct RowOfB {
  mlir::Value offset, isValid;
};
RowOfB rowOfB(KernelBuilder &b, const GemmProblem &problem,
              const GemmTile &tile, int64_t product, mlir::Value columnInTile);

/// Where a slab's part of a row starts in the operand (i64), and whether the
/// row is there for this tap (i1); what is not there reads as zero.
struct SlabOfRow {
  mlir::Value offset, isValid;
};
SlabOfRow slabOfA(KernelBuilder &b, const GemmProblem &problem,
                  const RowOfA &row, const GemmSlab &slab);
SlabOfRow slabOfB(KernelBuilder &b, const GemmProblem &problem,
                  const RowOfB &row, const GemmSlab &slab);

/// i1: whether `count` elements from `depthInSlab` (i32) of a slab are inside
/// the tap; constant when all are.
mlir::Value isInsideTap(KernelBuilder &b, const GemmProblem &problem,
                        const GemmSchedule &schedule, const GemmSlab &slab,
                        mlir::Value depthInSlab, int64_t count);

/// `count` elements of a row's slab from `depthInSlab` (i32) on, as `type` (the
/// element type or an integer as wide), zero outside. One access when rows can
/// be read in pieces of `count`, else one an element; no access is outside.
KernelBuilder::Values loadPiece(KernelBuilder &b, const GemmProblem &problem,
                                const GemmSchedule &schedule, unsigned operand,
                                mlir::Type type, const GemmSlab &slab,
                                const SlabOfRow &start, mlir::Value depthInSlab,
                                int64_t count);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_GEMMTILE_H
