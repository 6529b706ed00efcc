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
  Operation *first = op.getFirst(), *second = op.getSecond();
  if (auto map = dyn_cast<kernel::MapOp>(first))
    if (auto stats = dyn_cast<kernel::LeafStatsOp>(second))
      return emitMapLeaves(map, stats);
  if (auto map = dyn_cast<kernel::MapOp>(second))
    if (isa<kernel::MergeStatsOp>(first))
      return emitMap(map);
  if (auto losses = dyn_cast<kernel::RowNllOp>(first))
    if (isa<kernel::RowReduceOp>(second))
      return emitRowNll(losses);
  return op.emitOpError("has no PTX emitter for '")
         << first->getName() << "' and '" << second->getName() << "'";
}
