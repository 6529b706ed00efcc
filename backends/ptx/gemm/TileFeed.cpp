// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The counter and the ring of messages.

#include "backends/ptx/gemm/TileFeed.h"

#include "backends/ptx/gemm/AsyncAsm.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kMessageWords = 4, kWordBytes = 8;
/// The status word (i32) that counts tiles: the upper half of the fourth one,
/// of which grid barriers have the lower half.
static constexpr int64_t kTicketWord = 7;

bool TileFeed::drawsTiles(const GemmProblem &problem,
                          const GemmSchedule &schedule) {
  return TileWalk::countsTiles(problem, schedule);
}

static int64_t countSlots(const GemmSchedule &schedule) {
  return schedule.stages + 4;
}
int64_t TileFeed::slots() const { return countSlots(schedule); }

int64_t TileFeed::sharedBytes(const GemmSchedule &schedule) {
  int64_t bytes = countSlots(schedule) * (kMessageWords + 1) * kWordBytes;
  return int64_t(llvm::alignTo(bytes, 16));
}

void TileFeed::start(Value memory) {
  messages = memory;
  barriers = sharedAddress(b, b.elementPointer(memory, b.getI64Type(),
                                               b.i32(slots() * kMessageWords)));
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    for (int64_t slot : llvm::seq(slots()))
      initBarrier(b, barrierOf(b.i32(slot)), 1);
  });
}

Value TileFeed::barrierOf(Value sequence) {
  return b.add(barriers,
               b.mul(b.rem(sequence, b.i32(slots())), b.i32(kWordBytes)));
}

Value TileFeed::messageOf(Value sequence) {
  return b.elementPointer(
      messages, b.getI64Type(),
      b.mul(b.rem(sequence, b.i32(slots())), b.i32(kMessageWords)));
}

/// The end is a tile that ends at a row before its first one.
void TileFeed::tell(TileWalk &walk, Value number, Value sequence) {
  Value exists = walk.exists(number);
  GemmTile tile = walk.at(number);
  Value message = messageOf(sequence);
  b.ifThen(b.eq(b.laneId(), b.i32(0)), [&] {
    Value end = b.select(exists, tile.rowEnd, b.i64(INT64_MIN));
    b.storeVector({tile.group, tile.row, end, tile.column}, message);
    arrive(b, barrierOf(sequence));
  });
}

// Blocks draw a ticket for every tile they compute, no more and no less. So
// all tickets of a launch are as many as there are tiles, and a counter that
// wraps around there is zero again when the launch ends.
Value TileFeed::draw(TileWalk &walk) {
  if (!drawsTiles(problem, schedule))
    return b.i32(0);
  Value counter =
      b.elementPointer(b.status(), b.getI32Type(), b.i32(kTicketWord));
  return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::uinc_wrap, counter,
                                   b.sub(walk.count(), b.i32(1)),
                                   LLVM::AtomicOrdering::monotonic, "device");
}

Value TileFeed::next(TileWalk &walk, Value number, Value ticket) {
  if (!drawsTiles(problem, schedule))
    return walk.next(number);
  return b.add(b.gridDim(), b.shuffleFrom(ticket, b.i32(0)));
}

GemmTile TileFeed::await(Value sequence) {
  waitForPhase(b, barrierOf(sequence),
               b.bitAnd(b.div(sequence, b.i32(slots())), b.i32(1)));
  return receive(sequence);
}

GemmTile TileFeed::receive(Value sequence) {
  KernelBuilder::Values words =
      b.loadVector(b.getI64Type(), messageOf(sequence), kMessageWords);
  Value groupOfB = problem.hasGroup ? b.i64(0) : words[0];
  return {words[0], groupOfB, words[1], words[2], words[3]};
}
