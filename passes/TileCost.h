// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What passes that trade launches against narrower tiles need to know of a
// chip.

#ifndef EPIFOLD_PASSES_TILECOST_H
#define EPIFOLD_PASSES_TILECOST_H

#include "ir/kernel/KernelDialect.h"

namespace epifold {

/// Cycles of a large chip with wgmma that a launch takes besides its memory:
/// start, and waiting for the one before.
inline constexpr int64_t kLaunchCycles = 6000;
/// Bytes that such a chip moves a cycle.
inline constexpr int64_t kBytesOfCycle = 2400;

/// About how many cycles the tiles of a product take whose dynamic sizes are
/// nominal. Of `groups` products (at least 1) a thread has the accumulators of
/// a column; `wholeLeaves`: tiles are made of whole leaves of statistics.
int64_t estimateTileCycles(kernel::GemmOp product, int64_t groups,
                           bool wholeLeaves);

/// Rows of a product that all its groups share; dynamic sizes are nominal.
int64_t estimateRows(kernel::GemmOp product);

} // namespace epifold

#endif // EPIFOLD_PASSES_TILECOST_H
