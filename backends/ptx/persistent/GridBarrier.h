// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A barrier of all blocks of a launch, and what the last of them does alone.

#ifndef EPIFOLD_BACKENDS_PTX_PERSISTENT_GRIDBARRIER_H
#define EPIFOLD_BACKENDS_PTX_PERSISTENT_GRIDBARRIER_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Waits until all threads of the grid are here; what they wrote to global and
/// shared memory before is seen after it.
///
/// The kernel must have asked for the status words, and be resident
/// (`setResident`): a block that waits leaves its multiprocessor to no other,
/// so all of them must have a place. The grid is one-dimensional.
void emitGridBarrier(KernelBuilder &b);

/// Runs `body` in the block that comes here last; there, what all blocks wrote
/// before is seen. The kernel must have asked for the status words, and draw no
/// tiles. The grid is one-dimensional; all threads come here.
void emitForLastBlock(KernelBuilder &b, llvm::function_ref<void()> body);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_PERSISTENT_GRIDBARRIER_H
