// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.merge_stats`: one block merges the leaves of each group of each
// sample.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/TreeReduce.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kWarps = 8, kLanes = 32;

FailureOr<KernelSource> epifold::ptx::emitMergeStats(kernel::MergeStatsOp op) {
  KernelBuilder b(op, "merge_stats", {kWarps * kLanes, 1, 1});
  Type element = b.elementType(0), type = kernel::getComputeType(element);
  b.setGrid(b.gridSize(0, 0) * b.gridSize(0, 1));
  Value block = b.toI64(b.blockId());
  Value leafRows = b.size(0, 2), leafColumns = b.size(0, 3);
  Value firstLeaf = b.mul(block, b.mul(leafRows, leafColumns));
  Value lane = b.toI64(b.laneId()), warp = b.toI64(b.warpId());
  SmallVector<Type> types(statisticsTree.components, type);

  // A warp merges a leaf row, 32 leaves at a time.
  auto mergeLeafRow = [&](Value leafRow) {
    Value rowStart = b.add(firstLeaf, b.mul(leafRow, leafColumns));
    return mergeSequence(
        b, statisticsTree, types, b.ceilDiv(leafColumns, kLanes),
        [&](Value step) {
          Value column = b.add(b.mul(step, b.i64(kLanes)), lane);
          Value safeColumn =
              b.select(b.lt(column, leafColumns), column, b.i64(0));
          Value start = b.mul(b.add(rowStart, safeColumn), b.i64(3));
          TreeValue node;
          for (int64_t i : {0, 1, 2})
            node.push_back(b.extend(b.loadElement(0, b.add(start, b.i64(i)))));
          for (int64_t distance = 1; distance < kLanes; distance *= 2)
            node =
                mergeLanes(b, statisticsTree, node, distance,
                           b.lt(b.add(column, b.i64(distance)), leafColumns));
          return node;
        });
  };
  // The block takes eight leaf rows at a time, one a warp.
  WarpMerger warpMerger(b, statisticsTree, types, kWarps, kWarps);
  TreeValue node = mergeSequence(
      b, statisticsTree, types, b.ceilDiv(leafRows, kWarps), [&](Value step) {
        Value firstRow = b.mul(step, b.i64(kWarps)),
              row = b.add(firstRow, warp);
        Value safeRow = b.select(b.lt(row, leafRows), row, b.i64(0));
        return warpMerger.merge(mergeLeafRow(safeRow), [&](Value w) {
          return b.lt(b.add(firstRow, b.toI64(w)), leafRows);
        });
      });
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    for (auto [i, value] : llvm::enumerate(
             finishStatistics(b, node, op.getEpsilon().convertToDouble())))
      b.storeElement(b.round(value, b.elementType(1)), 1,
                     b.add(b.mul(block, b.i64(2)), b.i64(i)));
  });
  return b.finish();
}
