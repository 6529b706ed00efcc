// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the statistics of a tile's leaves, from the rounded results.

#include "backends/ptx/gemm/TileLeaves.h"

#include "backends/ptx/rows/RowTeam.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kLanes = 32;

static Type elementOfOut(const GemmProblem &problem) {
  return cast<ShapedType>(problem.op.getOuts().front().getType())
      .getElementType();
}

bool TileLeaves::fit(const GemmProblem &problem, const GemmSchedule &schedule) {
  if (!problem.leaves)
    return true;
  // A warpgroup of wgmma goes its own way.
  int64_t columns = schedule.usesWgmma
                        ? schedule.tileColumns / schedule.columnUnits
                        : schedule.tileColumns;
  return !schedule.swapsOperands && schedule.tileRows % kernel::kLeaf == 0 &&
         columns % kernel::kLeaf == 0;
}

int64_t TileLeaves::sharedBytes(const GemmProblem &problem, int64_t threads) {
  return problem.leaves
             ? WarpMerger::sharedBytes(statisticsTypes(elementOfOut(problem)),
                                       threads / kLanes)
             : 0;
}

TileLeaves::TileLeaves(KernelBuilder &b, const GemmProblem &problem,
                       int64_t threads, Value memory,
                       const std::function<void()> &synchronize)
    : b(b), problem(problem), synchronize(synchronize),
      warps(b, statisticsTree, statisticsTypes(elementOfOut(problem)),
            threads / kLanes, kLeafWarps, memory, synchronize) {}

LeafPlace TileLeaves::placeOf(Value row, Value column) {
  unsigned columnDim = b.tensorType(problem.firstOut).getRank() - 1;
  unsigned leaves = problem.leaves->operand;
  Value rows =
      b.div(b.sizeProduct(problem.firstOut, 0, columnDim), b.size(leaves, 0));
  return leafAt(b,
                {leaves, rows, b.i64(problem.columns), problem.leaves->groups},
                row, column);
}

void TileLeaves::merge(const LeafPlace &place, Value exists, LeafLoader load) {
  Value warp = b.rem(b.warpId(), b.i32(kLeafWarps));
  TreeValue node = mergeLeaf(b, place, warp, warps, load);
  Value isFirst =
      b.eq(b.rem(b.threadId(), b.i32(kLeafWarps * kLanes)), b.i32(0));
  b.ifThen(b.logicalAnd(isFirst, exists),
           [&] { storeLeaf(b, problem.leaves->operand, place, node); });
}

void TileLeaves::mergeStored(const GemmTile &tile, Value row, Value column,
                             int64_t rows, int64_t columns, int64_t teams) {
  synchronize();
  int64_t leafColumns = columns / kernel::kLeaf,
          count = rows / kernel::kLeaf * leafColumns;
  int64_t width = getRowAccessWidth(problem.columns / problem.leaves->groups);
  Value team = b.rem(b.div(b.warpId(), b.i32(kLeafWarps)), b.i32(teams));
  b.forLoop(b.i32(0), b.i32(count), b.i32(teams), [&](Value first) {
    Value number = b.add(first, team);
    auto at = [&](Value start, Value leaf) {
      return b.add(start, b.toI64(b.mul(leaf, b.i32(kernel::kLeaf))));
    };
    Value leafRow = at(row, b.div(number, b.i32(leafColumns))),
          leafColumn = at(column, b.rem(number, b.i32(leafColumns)));
    Value exists =
        b.logicalAnd(b.lt(number, b.i32(count)),
                     b.logicalAnd(b.lt(leafRow, tile.rowEnd),
                                  b.lt(leafColumn, b.i64(problem.columns))));
    // A team without a leaf goes along with the tile's first one.
    LeafPlace place = placeOf(b.select(exists, leafRow, tile.row),
                              b.select(exists, leafColumn, tile.column));
    merge(place, exists,
          LeafInMemory(b, problem.firstOut, place, b.i64(problem.columns),
                       width));
  });
}
