// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.route_scatter`: the place of each slot among its expert's rows,
// and its inverse.

#include "backends/ptx/routing/RoutingEmitters.h"
#include "backends/ptx/rows/StatusReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr unsigned kIndices = 0, kFirstRows = 1, kSlotOfRow = 2, kRowOfSlot = 3;
constexpr int64_t kChunk = kernel::kRouteChunk;

class RouteScatterEmitter {
public:
  explicit RouteScatterEmitter(kernel::RouteScatterOp op)
      : b(op, "route_scatter", {kChunk, 1, 1}, /*usesStatus=*/true),
        expertType(b.getI32Type()) {}

  KernelSource emit();

private:
  Value loadExpert(Value slot, bool reports);
  Value countEqual(Value expert, Value before);
  Value countRows();
  void share(Value expert);
  void storeIndex(Value value, unsigned operand, Value offset);

  KernelBuilder b;
  Type expertType;
  Value thread, slots, chunks, experts, sharedExperts;
};
} // namespace

void RouteScatterEmitter::storeIndex(Value value, unsigned operand,
                                     Value offset) {
  b.storeElement(b.elementType(operand).isInteger(64) ? value : b.toI32(value),
                 operand, offset);
}

/// i32 expert of a slot, -1 when it has none. A slot past the end has none.
Value RouteScatterEmitter::loadExpert(Value slot, bool reports) {
  Value exists = b.lt(slot, slots);
  Value index =
      b.toI64(b.loadElement(kIndices, b.select(exists, slot, b.i64(0))));
  Value isInside = isIndexInside(b, index, experts);
  if (reports) {
    // -1 stands for "no expert": the row with NaN logits was reported where it
    // was found.
    Value isWrong = b.logicalAnd(b.logicalAnd(exists, b.ne(index, b.i64(-1))),
                                 b.eq(isInside, b.i1(false)));
    b.ifThen(isWrong, [&] { reportStatus(b, StatusKind::IndexOutside, slot); });
  }
  return b.select(b.logicalAnd(exists, isInside), b.toI32(index), b.i32(-1));
}

/// Leaves the threads' experts in shared memory.
void RouteScatterEmitter::share(Value expert) {
  b.store(expert, b.elementPointer(sharedExperts, expertType, b.toI64(thread)));
  b.barrier();
}

/// How many of the shared experts before place `before` (i32) equal `expert`.
Value RouteScatterEmitter::countEqual(Value expert, Value before) {
  constexpr int64_t width = 4;
  return b
      .forLoop(b.i32(0), b.i32(kChunk), b.i32(width), {b.i32(0)},
               [&](Value first, ValueRange carried) -> KernelBuilder::Values {
                 Value count = carried[0];
                 Value pointer = b.elementPointer(sharedExperts, expertType,
                                                  b.toI64(first));
                 for (auto [i, other] : llvm::enumerate(
                          b.loadVector(expertType, pointer, width))) {
                   Value isBefore = b.lt(b.add(first, b.i32(i)), before);
                   Value counts = b.logicalAnd(isBefore, b.eq(other, expert));
                   count = b.add(count, b.select(counts, b.i32(1), b.i32(0)));
                 }
                 return {count};
               })
      .front();
}

/// i64 rows that belong to an expert: the last expert's first row of the last
/// chunk, and what follows it there.
Value RouteScatterEmitter::countRows() {
  Value lastChunk = b.sub(chunks, b.i64(1)),
        lastExpert = b.sub(experts, b.i64(1));
  Value slot = b.add(b.mul(lastChunk, b.i64(kChunk)), b.toI64(thread));
  share(loadExpert(slot, /*reports=*/false));
  Value inLastChunk = countEqual(b.toI32(lastExpert), b.i32(kChunk));
  b.barrier();
  Value first =
      b.loadElement(kFirstRows, b.add(b.mul(lastChunk, experts), lastExpert));
  return b.add(b.toI64(first), b.toI64(inLastChunk));
}

KernelSource RouteScatterEmitter::emit() {
  b.setGrid(b.gridSize(kFirstRows, 0));
  thread = b.threadId();
  slots = b.size(kIndices, 0);
  chunks = b.size(kFirstRows, 0);
  experts = b.size(kFirstRows, 1);
  sharedExperts = b.sharedArray(expertType, kChunk);
  Value chunk = b.toI64(b.blockId());
  Value slot = b.add(b.mul(chunk, b.i64(kChunk)), b.toI64(thread));

  // Rows past the last expert's belong to no slot; nobody else writes them.
  Value rows = countRows();
  b.ifThen(b.logicalAnd(b.lt(slot, slots), b.le(rows, slot)),
           [&] { storeIndex(b.i64(-1), kSlotOfRow, slot); });

  Value expert = loadExpert(slot, /*reports=*/true);
  share(expert);
  Value rank = countEqual(expert, thread);
  Value hasExpert = b.le(b.i32(0), expert);
  b.ifThen(b.lt(slot, slots), [&] {
    auto place = [&]() -> KernelBuilder::Values {
      Value first = b.loadElement(
          kFirstRows, b.add(b.mul(chunk, experts), b.toI64(expert)));
      Value row = b.add(b.toI64(first), b.toI64(rank));
      storeIndex(slot, kSlotOfRow, row);
      return {row};
    };
    auto none = [&]() -> KernelBuilder::Values { return {b.i64(-1)}; };
    storeIndex(b.ifElse(hasExpert, place, none).front(), kRowOfSlot, slot);
  });
  return b.finish();
}

FailureOr<KernelSource>
epifold::ptx::emitRouteScatter(kernel::RouteScatterOp op) {
  return RouteScatterEmitter(op).emit();
}
