// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits an elementwise launch whose blocks also give the statistics of a leaf:
// what they store goes to shared memory, too, where the leaf's tree finds it.

#include "backends/ptx/MapRegion.h"
#include "backends/ptx/cascade/CascadeEmitters.h"
#include "backends/ptx/gemm/AsyncAsm.h"
#include "backends/ptx/rows/LeafMerge.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// Threads that then merge: the first ones.
static constexpr int64_t kMergers = 32 * kLeafWarps;

/// A thread has one piece of eight elements; fewer threads have registers for
/// many tensors' pieces.
static int64_t countThreads(kernel::MapOp map) {
  constexpr size_t kFew = 8;
  return map.getIns().size() <= kFew ? 512 : 256;
}

namespace {
class MapLeavesEmitter {
public:
  MapLeavesEmitter(kernel::MapOp map, kernel::LeafStatsOp stats)
      : stats(stats), region(map), threads(countThreads(map)),
        b(region.getLaunch(), "map_leaves", {threads, 1, 1}),
        cascade(cast<kernel::CascadeOp>(region.getLaunch())),
        out(*cascade.findOperand(map.getOuts().front())),
        leaves(*cascade.findOperand(stats.getOuts().front())) {}

  KernelSource emit();

private:
  using Values = KernelBuilder::Values;

  Values pointOf(Value row, Value column);
  void writeLeaf(const LeafPlace &place, LeafInShared &shared);

  kernel::LeafStatsOp stats;
  MapRegion region;
  int64_t threads;
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

void MapLeavesEmitter::writeLeaf(const LeafPlace &place, LeafInShared &shared) {
  int64_t width = region.getWidth(), ofRow = kernel::kLeaf / width;
  Value count = b.i32(kernel::kLeaf * ofRow);
  b.forLoop(b.threadId(), count, b.i32(threads), [&](Value number) {
    Value row = b.div(number, b.i32(ofRow)),
          column = b.mul(b.rem(number, b.i32(ofRow)), b.i32(width));
    Value exists = b.logicalAnd(b.lt(row, place.rowsLeft),
                                b.lt(column, place.columnsLeft));
    b.ifThen(exists, [&] {
      Values point = pointOf(b.add(place.row, b.toI64(row)),
                             b.add(place.column, b.toI64(column)));
      SmallVector<Values> results = region.compute(b, point, Value());
      region.store(b, results, point, Value());
      shared.store(row, column, results.front());
    });
  });
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
  SmallVector<Type> types = statisticsTypes(element);
  Value nodes = b.sharedArray(types.front(), types.size() * kLeafWarps);
  b.ifThen(b.lt(b.threadId(), b.i32(kMergers)), [&] {
    WarpMerger warps(b, statisticsTree, types, kLeafWarps, kLeafWarps, nodes,
                     [&] { syncThreads(b, b.i32(1), kMergers); });
    TreeValue node = mergeLeaf(b, place, b.warpId(), warps, shared);
    b.ifThen(b.eq(b.threadId(), b.i32(0)),
             [&] { storeLeaf(b, leaves, place, node); });
  });
  return b.finish();
}

KernelSource epifold::ptx::emitMapLeaves(kernel::MapOp map,
                                         kernel::LeafStatsOp stats) {
  return MapLeavesEmitter(map, stats).emit();
}
