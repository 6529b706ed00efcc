// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits barriers of the grid as integer atomics on a status word.

#include "backends/ptx/persistent/GridBarrier.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// The status word whose lower half counts arrivals, and its upper half (as a
/// number of i32) those of which the last one matters. Products have the latter
/// to draw tiles; like them every launch leaves it at zero.
static constexpr int64_t kBarrierWord = 3, kLastWord = 7;
/// LLVM's name of all threads of the device.
static constexpr llvm::StringLiteral kDeviceScope = "device";

static void emitDeviceFence(KernelBuilder &b) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, kDeviceScope);
}

// The count's top bit is the phase, which every barrier turns; the other bits
// are zero between barriers. Block 0 adds what is missing from the other
// blocks' ones to the top bit: whoever comes last turns it. So the word never
// has to be reset within a run, and it serves all launches of a run, of which
// one at a time is inside a barrier: a launch that starts while the one before
// still runs waits for its end first. A run that was aborted may leave any
// count; as all status words it is reset before the next.
void epifold::ptx::emitGridBarrier(KernelBuilder &b) {
  constexpr int64_t phaseBit = INT32_MIN;
  Type countType = b.getI32Type();
  b.barrier();
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    Value count =
        b.elementPointer(b.status(), b.getI64Type(), b.i64(kBarrierWord));
    // The block's writes, ordered before this thread by the block's barrier,
    // come before its arrival.
    emitDeviceFence(b);
    Value missing = b.sub(b.i32(phaseBit + 1), b.gridDim());
    Value step = b.select(b.eq(b.blockId(), b.i32(0)), missing, b.i32(1));
    Value before = LLVM::AtomicRMWOp::create(
        b, LLVM::AtomicBinOp::add, count, step, LLVM::AtomicOrdering::monotonic,
        kDeviceScope);
    auto isPhaseBefore = [&](ValueRange) {
      Value now = LLVM::LoadOp::create(
          b, countType, count, /*alignment=*/4, /*isVolatile=*/false,
          /*isNonTemporal=*/false, /*isInvariant=*/false,
          /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic,
          kDeviceScope);
      return b.eq(b.shiftRight(b.bitXor(before, now), 31), b.i32(0));
    };
    b.whileLoop({}, isPhaseBefore,
                [](ValueRange) { return KernelBuilder::Values(); });
    emitDeviceFence(b);
  });
  b.barrier();
}

// The count wraps around where all blocks have come, and is zero again.
void epifold::ptx::emitForLastBlock(KernelBuilder &b,
                                    llvm::function_ref<void()> body) {
  Type countType = b.getI32Type();
  Value last = b.sub(b.gridDim(), b.i32(1));
  Value shared = b.sharedArray(countType, 1);
  b.barrier();
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    // The block's writes come before its arrival, those of the blocks before
    // it are seen after it.
    emitDeviceFence(b);
    Value count = b.elementPointer(b.status(), countType, b.i32(kLastWord));
    Value before = LLVM::AtomicRMWOp::create(
        b, LLVM::AtomicBinOp::uinc_wrap, count, last,
        LLVM::AtomicOrdering::monotonic, kDeviceScope);
    emitDeviceFence(b);
    b.store(before, shared);
  });
  b.barrier();
  b.ifThen(b.eq(b.load(countType, shared), last), body);
}
