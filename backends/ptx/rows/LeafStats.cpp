// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.leaf_stats`: one block for each 64×64 statistics leaf.

#include "backends/ptx/rows/LeafMerge.h"
#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowTeam.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

FailureOr<KernelSource> epifold::ptx::emitLeafStats(kernel::LeafStatsOp op) {
  KernelBuilder b(op, "leaf_stats", {32 * kLeafWarps, 1, 1});
  Type element = b.elementType(0);
  if (kernel::getComputeType(b.elementType(1)) !=
      kernel::getComputeType(element))
    return op.emitOpError("keeps statistics of ")
           << element << " in " << b.elementType(1);
  AffineExpr blocks = b.gridConstant(1);
  for (unsigned dim : {0, 1, 2, 3})
    blocks = blocks * b.gridSize(1, dim);
  b.setGrid(blocks);

  LeafShape shape = {1, b.size(0, 1), b.size(0, 2), op.getGroups()};
  LeafPlace place = leafNumbered(b, shape, b.toI64(b.blockId()));
  int64_t columns = b.tensorType(0).getDimSize(2);
  int64_t width = ShapedType::isDynamic(columns)
                      ? 1
                      : getRowAccessWidth(columns / shape.groups);
  WarpMerger warps(b, statisticsTree, statisticsTypes(element), kLeafWarps,
                   kLeafWarps);
  TreeValue node = mergeLeaf(b, place, b.warpId(), warps,
                             LeafInMemory(b, 0, place, shape.columns, width));
  b.ifThen(b.eq(b.threadId(), b.i32(0)),
           [&] { storeLeaf(b, shape.operand, place, node); });
  return b.finish();
}
