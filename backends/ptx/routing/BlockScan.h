// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums over the threads of a block, in their order.

#ifndef EPIFOLD_BACKENDS_PTX_ROUTING_BLOCKSCAN_H
#define EPIFOLD_BACKENDS_PTX_ROUTING_BLOCKSCAN_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// i32 sums of `value` over the threads before this one, and over all. All
/// `warps` warps of the block call it, once; `warpSums` is a
/// shared array of an i32 for each.
std::pair<mlir::Value, mlir::Value> sumBefore(KernelBuilder &b,
                                              mlir::Value value, int64_t warps,
                                              mlir::Value warpSums);

/// Which lanes of the warp have the same `expert` (i32), from this lane's side:
/// how many come before it, and whether it is the last one. All lanes call it.
struct LanePeers {
  LanePeers(KernelBuilder &b, mlir::Value expert);
  mlir::Value rank, isLast; ///< i32, i1
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROUTING_BLOCKSCAN_H
