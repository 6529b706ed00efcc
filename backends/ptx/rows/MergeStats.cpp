// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.merge_stats`: one block merges the leaves of each group of each
// sample.

#include "backends/ptx/rows/LeafMerge.h"
#include "backends/ptx/rows/RowEmitters.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kThreads = 256;

FailureOr<KernelSource> epifold::ptx::emitMergeStats(kernel::MergeStatsOp op) {
  KernelBuilder b(op, "merge_stats", {kThreads, 1, 1});
  b.setGrid(b.gridSize(0, 0) * b.gridSize(0, 1));
  Value block = b.toI64(b.blockId());
  KernelBuilder::Values statistics =
      SampleMerger(b, 0, kThreads)
          .merge(block, op.getEpsilon().convertToDouble());
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    for (auto [i, value] : llvm::enumerate(statistics))
      b.storeElement(b.round(value, b.elementType(1)), 1,
                     b.add(b.mul(block, b.i64(2)), b.i64(i)));
  });
  return b.finish();
}
