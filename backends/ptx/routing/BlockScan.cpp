// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits scans of a block and ranks inside a warp.

#include "backends/ptx/routing/BlockScan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold::ptx;

static constexpr int64_t kLanes = 32;

/// i32 sum of `value` over the lanes up to this one.
static Value scanWarp(KernelBuilder &b, Value value) {
  for (int64_t delta = 1; delta < kLanes; delta *= 2) {
    Value below = b.shuffleUp(value, delta);
    value =
        b.add(value, b.select(b.lt(b.laneId(), b.i32(delta)), b.i32(0), below));
  }
  return value;
}

std::pair<Value, Value> epifold::ptx::sumBefore(KernelBuilder &b, Value value,
                                                int64_t warps, Value warpSums) {
  Type type = b.getI32Type();
  Value inWarp = scanWarp(b, value);
  auto warpSum = [&](Value warp) {
    return b.elementPointer(warpSums, type, b.toI64(warp));
  };
  b.ifThen(b.eq(b.laneId(), b.i32(kLanes - 1)),
           [&] { b.store(inWarp, warpSum(b.warpId())); });
  b.barrier();
  Value before = b.sub(inWarp, value), all = b.i32(0);
  for (int64_t warp : llvm::seq(warps)) {
    Value sum = b.load(type, warpSum(b.i32(warp)));
    before =
        b.add(before, b.select(b.lt(b.i32(warp), b.warpId()), sum, b.i32(0)));
    all = b.add(all, sum);
  }
  return {before, all};
}

LanePeers::LanePeers(KernelBuilder &b, Value expert) {
  Type type = b.getI32Type();
  Value peers = NVVM::MatchSyncOp::create(b, type, b.i32(-1), expert,
                                          NVVM::MatchSyncKind::any);
  Value lanesBelow =
      b.sub(arith::ShLIOp::create(b, b.i32(1), b.laneId()), b.i32(1));
  auto countBits = [&](Value bits) -> Value {
    return LLVM::CtPopOp::create(b, type, bits);
  };
  rank = countBits(b.bitAnd(peers, lanesBelow));
  isLast = b.eq(b.add(rank, b.i32(1)), countBits(peers));
}
