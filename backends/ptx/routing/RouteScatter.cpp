// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.route_scatter`: the experts' offsets, the place of each slot
// among its expert's rows, and its inverse.

#include "backends/ptx/routing/BlockScan.h"
#include "backends/ptx/routing/RoutingEmitters.h"
#include "backends/ptx/rows/StatusReport.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr unsigned kIndices = 0, kBefore = 1, kCounts = 2, kSlotOfRow = 3,
                   kRowOfSlot = 4, kOffsets = 5;
constexpr int64_t kChunk = kernel::kRouteChunk, kLanes = 32,
                  kWarps = kRouteThreads / kLanes;

/// A block has a table of the next row of each expert. Its warps take turns, in
/// the order of their slots, in taking rows from it; the lanes of a warp with
/// one expert share what one of them takes. All numbers of rows and slots are
/// i32: there are fewer than 2^31 slots.
class RouteScatterEmitter {
public:
  RouteScatterEmitter(kernel::RouteScatterOp op, int64_t experts)
      : b(op, "route_scatter", {kRouteThreads, 1, 1}, /*usesStatus=*/true),
        experts(experts), type(b.getI32Type()) {}

  KernelSource emit();

private:
  Value loadExpert(Value slot);
  Value nextRow(Value expert) {
    return b.elementPointer(nextRows, type, b.toI64(expert));
  }
  void makeTable();
  Value takeRow(Value expert, Value turns);
  void storeIndex(Value value, unsigned operand, Value offset);

  KernelBuilder b;
  int64_t experts;
  Type type;
  Value slots, chunk, nextRows;
  Value rows; ///< i32 rows that belong to an expert.
};
} // namespace

void RouteScatterEmitter::storeIndex(Value value, unsigned operand,
                                     Value offset) {
  bool isWide = b.elementType(operand).isInteger(64);
  b.storeElement(isWide ? b.toI64(value) : b.toI32(value), operand,
                 b.toI64(offset));
}

/// i32 expert of a slot (i64), -1 when it has none. A slot past the end has
/// none.
Value RouteScatterEmitter::loadExpert(Value slot) {
  Value exists = b.lt(slot, slots);
  Value index =
      b.toI64(b.loadElement(kIndices, b.select(exists, slot, b.i64(0))));
  Value isInside = isIndexInside(b, index, b.i64(experts));
  // -1 stands for "no expert": the row with NaN logits was reported where it
  // was found.
  Value isWrong = b.logicalAnd(b.logicalAnd(exists, b.ne(index, b.i64(-1))),
                               b.eq(isInside, b.i1(false)));
  b.ifThen(isWrong, [&] { reportStatus(b, StatusKind::IndexOutside, slot); });
  return b.select(b.logicalAnd(exists, isInside), b.toI32(index), b.i32(-1));
}

/// Fills the table with the experts' first rows of this chunk; the first block
/// stores the offsets.
void RouteScatterEmitter::makeTable() {
  nextRows = b.sharedArray(type, experts);
  int64_t threadExperts = llvm::divideCeil(experts, kRouteThreads);
  Value isFirst = b.eq(chunk, b.i64(0)),
        hasChunk = b.lt(chunk, b.size(kBefore, 0));
  Value sum = b.i32(0);
  SmallVector<Value> expertsHere, exists, sums, before;
  for (int64_t i = 0; i < threadExperts; ++i) {
    expertsHere.push_back(
        b.add(b.mul(b.threadId(), b.i32(threadExperts)), b.i32(i)));
    exists.push_back(b.lt(expertsHere.back(), b.i32(experts)));
    Value safe = b.toI64(b.select(exists.back(), expertsHere.back(), b.i32(0)));
    sums.push_back(sum);
    Value count = b.toI32(b.loadElement(kCounts, safe));
    sum = b.add(sum, b.select(exists.back(), count, b.i32(0)));
  }
  auto [start, all] = sumBefore(b, sum, kWarps, b.sharedArray(type, kWarps));
  rows = all;
  for (int64_t i = 0; i < threadExperts; ++i) {
    Value first = b.add(start, sums[i]);
    b.ifThen(b.logicalAnd(exists[i], hasChunk), [&] {
      Value offset =
          b.add(b.mul(chunk, b.i64(experts)), b.toI64(expertsHere[i]));
      Value before = b.toI32(b.loadElement(kBefore, offset));
      b.store(b.add(first, before), nextRow(expertsHere[i]));
    });
    b.ifThen(b.logicalAnd(exists[i], isFirst),
             [&] { storeIndex(first, kOffsets, expertsHere[i]); });
  }
  b.ifThen(b.logicalAnd(b.eq(b.threadId(), b.i32(0)), isFirst),
           [&] { storeIndex(rows, kOffsets, b.i32(experts)); });
  b.barrier();
}

/// The next row (i32) of `expert` (i32, -1: none) for each thread, threads
/// ascending. The first `turns` (i32) warps take part; all threads call it.
Value RouteScatterEmitter::takeRow(Value expert, Value turns) {
  LanePeers peers(b, expert);
  Value takes = b.logicalAnd(peers.isLast, b.le(b.i32(0), expert));
  Value safeExpert = b.max(expert, b.i32(0));
  auto take = [&]() -> KernelBuilder::Values {
    Value row = b.add(b.load(type, nextRow(safeExpert)), peers.rank);
    b.syncWarp();
    b.ifThen(takes,
             [&] { b.store(b.add(row, b.i32(1)), nextRow(safeExpert)); });
    return {row};
  };
  return b
      .forLoop(b.i32(0), turns, b.i32(1), {b.i32(0)},
               [&](Value turn, ValueRange carried) -> KernelBuilder::Values {
                 KernelBuilder::Values row =
                     b.ifElse(b.eq(b.warpId(), turn), take,
                              [&] { return KernelBuilder::Values(carried); });
                 b.barrier();
                 return row;
               })
      .front();
}

KernelSource RouteScatterEmitter::emit() {
  // One block at least, which stores the offsets when there are no slots.
  b.setGrid((b.gridSize(kIndices, 0) + 1).ceilDiv(kChunk));
  slots = b.size(kIndices, 0);
  chunk = b.toI64(b.blockId());
  Value firstSlot = b.mul(chunk, b.i64(kChunk));
  SmallVector<Value> slotsHere, chosen;
  for (int64_t first = 0; first < kChunk; first += kRouteThreads) {
    slotsHere.push_back(
        b.add(b.add(firstSlot, b.i64(first)), b.toI64(b.threadId())));
    chosen.push_back(loadExpert(slotsHere.back()));
  }
  makeTable();

  // The last chunk may be short.
  Value left = b.toI32(b.min(b.sub(slots, firstSlot), b.i64(kChunk)));
  for (auto [i, slot, expert] : llvm::enumerate(slotsHere, chosen)) {
    Value leftHere = b.min(b.sub(left, b.i32(int64_t(i) * kRouteThreads)),
                           b.i32(kRouteThreads));
    Value turns = b.div(b.add(b.max(leftHere, b.i32(0)), b.i32(kLanes - 1)),
                        b.i32(kLanes));
    Value row = takeRow(expert, turns);
    b.ifThen(b.lt(slot, slots), [&] {
      Value hasExpert = b.le(b.i32(0), expert);
      b.ifThen(hasExpert, [&] { storeIndex(slot, kSlotOfRow, row); });
      storeIndex(b.select(hasExpert, row, b.i32(-1)), kRowOfSlot, slot);
      // Rows past the last expert's belong to no slot; nobody else writes them.
      b.ifThen(b.le(b.toI64(rows), slot),
               [&] { storeIndex(b.i32(-1), kSlotOfRow, slot); });
    });
  }
  return b.finish();
}

FailureOr<KernelSource>
epifold::ptx::emitRouteScatter(kernel::RouteScatterOp op) {
  auto type = cast<RankedTensorType>(op.getIns()[1].getType());
  int64_t experts = type.getDimSize(1);
  if (ShapedType::isDynamic(experts) || experts > kMaxExperts)
    return op.emitOpError("places slots of at most ")
           << kMaxExperts << " experts, a static number; got " << type;
  return RouteScatterEmitter(op, experts).emit();
}
