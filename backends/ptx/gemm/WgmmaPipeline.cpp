// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Barriers of the stages.

#include "backends/ptx/gemm/WgmmaPipeline.h"

#include "backends/ptx/gemm/AsyncAsm.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kWordBytes = 8, kBarriers = 2;

int64_t WgmmaPipeline::bytesOfWords() const {
  return kWordBytes * kBarriers * stages;
}

void WgmmaPipeline::start(Value words, int64_t arrivals,
                          int64_t consumerWarps) {
  barriers = sharedAddress(b, words);
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    for (int64_t stage : llvm::seq(stages)) {
      initBarrier(b, full(b.i32(stage)), arrivals);
      initBarrier(b, empty(b.i32(stage)), consumerWarps);
    }
    fenceBarrierInits(b);
  });
  b.barrier();
}

Value WgmmaPipeline::stageAt(Value position) {
  return b.rem(position, b.i32(stages));
}

/// Parity of the position's phase of its stage's full barrier.
Value WgmmaPipeline::parityAt(Value position) {
  return b.bitAnd(b.div(position, b.i32(stages)), b.i32(1));
}

Value WgmmaPipeline::byteOf(Value stage) {
  return b.mul(stage, b.i32(stageBytes));
}

Value WgmmaPipeline::full(Value stage) {
  return b.add(barriers, b.mul(stage, b.i32(kWordBytes)));
}

Value WgmmaPipeline::empty(Value stage) {
  return b.add(full(stage), b.i32(stages * kWordBytes));
}

/// A stage's first phase is over before it begins: it is empty.
Value WgmmaPipeline::acquire(Value position) {
  Value stage = stageAt(position);
  waitForPhase(b, empty(stage), b.bitXor(parityAt(position), b.i32(1)));
  return stage;
}

Value WgmmaPipeline::await(Value position) {
  Value stage = stageAt(position);
  waitForPhase(b, full(stage), parityAt(position));
  return stage;
}

void WgmmaPipeline::release(Value stage) {
  b.ifThen(b.eq(b.laneId(), b.i32(0)), [&] { arrive(b, empty(stage)); });
}
