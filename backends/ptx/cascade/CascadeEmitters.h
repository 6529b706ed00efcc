// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emitters of cascades, one for each pair of launches that has one of its own.

#ifndef EPIFOLD_BACKENDS_PTX_CASCADE_CASCADEEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_CASCADE_CASCADEEMITTERS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// An elementwise launch and the statistics of its result's leaves.
KernelSource emitMapLeaves(kernel::MapOp map, kernel::LeafStatsOp stats);

/// An elementwise launch, perhaps after `merge_stats`, and a product of few
/// columns over its rows.
KernelSource emitMapProduct(kernel::MapOp map, kernel::GemmOp gemm);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_CASCADE_CASCADEEMITTERS_H
