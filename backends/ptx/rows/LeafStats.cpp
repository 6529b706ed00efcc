// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.leaf_stats`: one block for each 64×64 statistics leaf.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowTeam.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// A warp takes 16 rows of the leaf: lane bits 2 … 4 are row bits 0 … 2, the
/// thread itself holds row bit 3.
static constexpr int64_t kLeafWarps = 4, kWarpRows = 16, kRowPair = 8;

/// The smaller of what is left after `done` and a leaf, as i32.
static Value leftInLeaf(KernelBuilder &b, Value size, Value done) {
  return b.toI32(b.min(b.sub(size, done), b.i64(kernel::kLeaf)));
}

FailureOr<KernelSource> epifold::ptx::emitLeafStats(kernel::LeafStatsOp op) {
  KernelBuilder b(op, "leaf_stats", {32 * kLeafWarps, 1, 1});
  Type element = b.elementType(0), type = kernel::getComputeType(element);
  if (kernel::getComputeType(b.elementType(1)) != type)
    return op.emitOpError("keeps statistics of ")
           << element << " in " << b.elementType(1);
  AffineExpr blocks = b.gridConstant(1);
  for (unsigned dim : {0, 1, 2, 3})
    blocks = blocks * b.gridSize(1, dim);
  b.setGrid(blocks);

  // The block's leaf (sample, group, leafRow, leafColumn).
  Value block = b.toI64(b.blockId());
  Value leafColumn = b.rem(block, b.size(1, 3)),
        rest = b.div(block, b.size(1, 3));
  Value leafRow = b.rem(rest, b.size(1, 2));
  rest = b.div(rest, b.size(1, 2));
  Value group = b.rem(rest, b.size(1, 1)), sample = b.div(rest, b.size(1, 1));
  Value groupColumns = b.div(b.size(0, 2), b.i64(op.getGroups()));
  Value firstRow = b.mul(leafRow, b.i64(kernel::kLeaf)),
        firstColumn = b.mul(leafColumn, b.i64(kernel::kLeaf));
  Value rowsLeft = leftInLeaf(b, b.size(0, 1), firstRow),
        columnsLeft = leftInLeaf(b, groupColumns, firstColumn);

  Value lane = b.laneId(), warp = b.warpId();
  Value threadRow = b.add(b.mul(warp, b.i32(kWarpRows)), b.shiftRight(lane, 2));
  Value threadColumns = b.shiftLeft(b.bitAnd(lane, b.i32(3)), 1);
  Value remaining = b.sub(columnsLeft, threadColumns);

  // Offset of the leaf's first element; a thread reads elements that do not
  // exist from there.
  Value sampleRow = b.add(b.mul(sample, b.size(0, 1)), firstRow);
  Value column = b.add(b.mul(group, groupColumns), firstColumn);
  Value leafStart = b.add(b.mul(sampleRow, b.size(0, 2)), column);
  int64_t columns = b.tensorType(0).getDimSize(2);
  int64_t accessWidth = ShapedType::isDynamic(columns)
                            ? 1
                            : getRowAccessWidth(columns / op.getGroups());
  auto loadElements = [&](Value row) {
    SmallVector<TreeValue> elements;
    Value rowExists = b.lt(row, rowsLeft);
    Value start =
        b.add(b.mul(b.toI64(row), b.size(0, 2)), b.toI64(threadColumns));
    for (unsigned i = 0; i < kThreadElements; i += accessWidth) {
      Value exists =
          b.logicalAnd(rowExists, b.lt(b.i32(threadColumn(i)), remaining));
      Value offset =
          b.select(exists, b.add(start, b.i64(threadColumn(i))), b.i64(0));
      Value pointer =
          b.elementPointer(b.pointer(0), element, b.add(leafStart, offset));
      for (Value value : b.loadVector(element, pointer, accessWidth))
        elements.push_back(singleStatistics(b, b.extend(value)));
    }
    return elements;
  };
  auto pairRow = b.add(threadRow, b.i32(kRowPair));
  SmallVector<TreeValue> loElements = loadElements(threadRow),
                         hiElements = loadElements(pairRow);

  // Full leaves have constant counts and so no divisions.
  auto mergeLeafWarp = [&](bool isFull) {
    Value columnsHere = isFull ? Value() : remaining;
    auto below = [&](Value position, Value limit) {
      return isFull ? Value() : b.lt(position, limit);
    };
    TreeValue lo =
        mergeThreadElements(b, statisticsTree, loElements, columnsHere);
    TreeValue hi =
        mergeThreadElements(b, statisticsTree, hiElements, columnsHere);
    TreeValue node =
        mergeIf(b, statisticsTree, below(pairRow, rowsLeft), lo, hi);
    for (int64_t mask : {1, 2})
      node = mergeLanes(b, statisticsTree, node, mask,
                        below(b.i32(2 * mask), remaining));
    for (int64_t distance : {1, 2, 4})
      node = mergeLanes(b, statisticsTree, node, 4 * distance,
                        below(b.add(threadRow, b.i32(distance)), rowsLeft));
    return node;
  };
  Value leaf = b.i32(kernel::kLeaf);
  Value isFull = b.logicalAnd(b.eq(rowsLeft, leaf), b.eq(columnsLeft, leaf));
  TreeValue node = b.ifElse(
      isFull, [&] { return mergeLeafWarp(true); },
      [&] { return mergeLeafWarp(false); });

  SmallVector<Type> types(statisticsTree.components, type);
  WarpMerger warpMerger(b, statisticsTree, types, kLeafWarps, kLeafWarps);
  node = warpMerger.merge(node, [&](Value w) {
    return b.lt(b.mul(w, b.i32(kWarpRows)), rowsLeft);
  });
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    for (auto [i, value] : llvm::enumerate(node))
      b.storeElement(b.round(value, b.elementType(1)), 1,
                     b.add(b.mul(block, b.i64(3)), b.i64(i)));
  });
  return b.finish();
}
