// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits an elementwise launch whose blocks also give the statistics of a leaf:
// what they store goes to shared memory, too, where the leaf's tree finds it.

#include "backends/ptx/MapRegion.h"
#include "backends/ptx/cascade/CascadeEmitters.h"
#include "backends/ptx/rows/LeafMerge.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kThreads = 32 * kLeafWarps;
/// Pieces that a thread has in flight.
static constexpr int64_t kPieces = 4;

namespace {
class MapLeavesEmitter {
public:
  MapLeavesEmitter(kernel::MapOp map, kernel::LeafStatsOp stats)
      : stats(stats), region(map),
        b(region.getLaunch(), "map_leaves", {kThreads, 1, 1}),
        cascade(cast<kernel::CascadeOp>(region.getLaunch())),
        out(*cascade.findOperand(map.getOuts().front())),
        leaves(*cascade.findOperand(stats.getOuts().front())) {}

  KernelSource emit();

private:
  using Values = KernelBuilder::Values;

  Values pointOf(Value row, Value column);
  void writePieces(const LeafPlace &place, LeafInShared &shared, Value first,
                   bool isFull);
  void writeLeaf(const LeafPlace &place, LeafInShared &shared);

  kernel::LeafStatsOp stats;
  MapRegion region;
  KernelBuilder b;
  kernel::CascadeOp cascade;
  unsigned out, leaves;
};
} // namespace

/// The point of a column of a row, counted over all samples.
MapLeavesEmitter::Values MapLeavesEmitter::pointOf(Value row, Value column) {
  unsigned rank = region.getShape().getRank();
  Values point(rank);
  point[rank - 1] = column;
  for (unsigned dim = rank - 1; dim-- > 1;) {
    Value size = b.size(region.getDomain(), dim);
    point[dim] = b.rem(row, size);
    row = b.div(row, size);
  }
  if (rank > 1)
    point[0] = row;
  return point;
}

/// The thread's next pieces from number `first` (i32) on. One outside is
/// computed for the leaf's first row and column, and stored nowhere.
void MapLeavesEmitter::writePieces(const LeafPlace &place, LeafInShared &shared,
                                   Value first, bool isFull) {
  struct Piece {
    Value row, column, exists;
    Values point;
    SmallVector<Values> results;
  };
  int64_t width = region.getWidth(), ofRow = kernel::kLeaf / width;
  SmallVector<Piece> pieces(kPieces);
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    Value number = b.add(first, b.i32(int64_t(i) * kThreads));
    piece.row = b.div(number, b.i32(ofRow));
    piece.column = b.mul(b.rem(number, b.i32(ofRow)), b.i32(width));
    Value row = piece.row, column = piece.column;
    if (!isFull) {
      piece.exists = b.logicalAnd(b.lt(row, place.rowsLeft),
                                  b.lt(column, place.columnsLeft));
      row = b.select(piece.exists, row, b.i32(0));
      column = b.select(piece.exists, column, b.i32(0));
    }
    piece.point = pointOf(b.add(place.row, b.toI64(row)),
                          b.add(place.column, b.toI64(column)));
    piece.results = region.compute(b, piece.point, Value());
  }
  for (Piece &piece : pieces) {
    auto store = [&] {
      region.store(b, piece.results, piece.point, Value());
      shared.store(piece.row, piece.column, piece.results.front());
    };
    if (isFull)
      store();
    else
      b.ifThen(piece.exists, store);
  }
}

void MapLeavesEmitter::writeLeaf(const LeafPlace &place, LeafInShared &shared) {
  int64_t count = kernel::kLeaf * kernel::kLeaf / region.getWidth();
  Value leaf = b.i32(kernel::kLeaf);
  auto write = [&](bool isFull) -> Values {
    b.forLoop(b.threadId(), b.i32(count), b.i32(kPieces * kThreads),
              [&](Value first) { writePieces(place, shared, first, isFull); });
    return {};
  };
  b.ifElse(
      b.logicalAnd(b.eq(place.rowsLeft, leaf), b.eq(place.columnsLeft, leaf)),
      [&] { return write(true); }, [&] { return write(false); });
}

KernelSource MapLeavesEmitter::emit() {
  AffineExpr blocks = b.gridConstant(1);
  for (unsigned dim : {0, 1, 2, 3})
    blocks = blocks * b.gridSize(leaves, dim);
  b.setGrid(blocks);

  unsigned columnDim = b.tensorType(out).getRank() - 1;
  Value rows = b.div(b.sizeProduct(out, 0, columnDim), b.size(leaves, 0));
  LeafShape shape = {leaves, rows, b.size(out, columnDim), stats.getGroups()};
  LeafPlace place = leafNumbered(b, shape, b.toI64(b.blockId()));
  Type element = b.elementType(out);
  LeafInShared shared(
      b, element, b.sharedArray(b.getI8Type(), LeafInShared::bytes(element)));
  writeLeaf(place, shared);
  b.barrier();
  WarpMerger warps(b, statisticsTree, statisticsTypes(element), kLeafWarps,
                   kLeafWarps);
  TreeValue node = mergeLeaf(b, place, b.warpId(), warps, shared);
  b.ifThen(b.eq(b.threadId(), b.i32(0)),
           [&] { storeLeaf(b, leaves, place, node); });
  return b.finish();
}

KernelSource epifold::ptx::emitMapLeaves(kernel::MapOp map,
                                         kernel::LeafStatsOp stats) {
  return MapLeavesEmitter(map, stats).emit();
}
