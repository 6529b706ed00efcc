// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emitters of the launches that order slots by expert: histogram, scan,
// scatter, and all of a routing at once.

#ifndef EPIFOLD_BACKENDS_PTX_ROUTING_ROUTINGEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_ROUTING_ROUTINGEMITTERS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Each builds the kernel of one op; a refusal is a diagnostic on the op that
/// says why.
llvm::FailureOr<KernelSource> emitRouteHistogram(kernel::RouteHistogramOp op);
llvm::FailureOr<KernelSource> emitRouteScan(kernel::RouteScanOp op);
llvm::FailureOr<KernelSource> emitRouteScatter(kernel::RouteScatterOp op);
/// A variant of one block for few tokens, and one for any number.
llvm::FailureOr<std::vector<KernelSource>> emitRoute(kernel::RouteOp op);

/// Most experts of a routing: one block counts them in its shared memory.
inline constexpr int64_t kMaxExperts = 4096;

/// Threads of a block; each has several slots of a chunk.
inline constexpr int64_t kRouteThreads = 256;
static_assert(kernel::kRouteChunk % kRouteThreads == 0);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROUTING_ROUTINGEMITTERS_H
