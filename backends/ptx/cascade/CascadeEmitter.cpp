// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the emitter of a cascade.

#include "backends/ptx/cascade/CascadeEmitters.h"

#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/rows/RowEmitters.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

FailureOr<KernelSource> epifold::ptx::emitCascade(kernel::CascadeOp op) {
  Operation *first = op.getFirst(), *second = op.getSecond(),
            *last = op.getThird() ? op.getThird() : second;
  bool merges = isa<kernel::MergeStatsOp>(first);
  if (auto map = dyn_cast<kernel::MapOp>(merges ? second : first)) {
    if (auto gemm = dyn_cast<kernel::GemmOp>(last))
      return emitMapProduct(map, gemm);
    if (auto stats = dyn_cast<kernel::LeafStatsOp>(last); stats && !merges)
      return emitMapLeaves(map, stats);
    if (map == last)
      return emitMap(map);
  }
  if (auto losses = dyn_cast<kernel::RowNllOp>(first))
    if (isa<kernel::RowReduceOp>(second))
      return emitRowNll(losses);
  return op.emitOpError("has no PTX emitter for '")
         << first->getName() << "' and '" << last->getName() << "'";
}
