// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.route_scan`: one block turns the chunks' counts into first
// rows, offsets and counts of the experts.

#include "backends/ptx/routing/RoutingEmitters.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr unsigned kHistogram = 0, kFirstRows = 1, kOffsets = 2, kCounts = 3;
constexpr int64_t kThreads = 1024, kLanes = 32;
/// Counts that a thread loads before it adds the first.
constexpr int64_t kBatch = 8;

/// Neighbouring threads take neighbouring experts, so that a row of the
/// histogram is read in one go; with few experts the block splits the chunks
/// into parts. All numbers are i32: there are fewer than 2^31 slots.
class RouteScanEmitter {
public:
  RouteScanEmitter(kernel::RouteScanOp op, int64_t experts);
  KernelSource emit();

private:
  using Values = KernelBuilder::Values;

  void forEachExpert(function_ref<void(Value expert)> body);
  Value walkChunks(Value expert, Value start, bool storesFirstRows);
  void sumParts();
  void sumExperts();
  Value scanBlock(Value value);
  Value element(Value array, Value index) {
    return b.elementPointer(array, b.getI32Type(), b.toI64(index));
  }
  Value loadShared(Value array, Value index) {
    return b.load(b.getI32Type(), element(array, index));
  }
  Value partIndex(Value part, Value expert) {
    return b.add(b.mul(part, b.i32(experts)), expert);
  }
  void storeIndex(Value value, unsigned operand, Value offset);

  KernelBuilder b;
  int64_t experts;
  int64_t expertThreads; ///< Threads across the experts.
  int64_t parts;         ///< Parts of the chunks.
  Value thread, part, firstChunk, lastChunk;
  Value partSums; ///< A row of experts a part.
  Value totals;   ///< Counts of the experts, then their first rows.
  Value warpTotals;
};
} // namespace

RouteScanEmitter::RouteScanEmitter(kernel::RouteScanOp op, int64_t experts)
    : b(op, "route_scan", {kThreads, 1, 1}), experts(experts) {
  expertThreads =
      std::clamp<int64_t>(llvm::PowerOf2Ceil(experts), kLanes, kThreads);
  parts = kThreads / expertThreads;
  thread = b.threadId();
  part = b.div(thread, b.i32(expertThreads));
  Value chunks = b.toI32(b.size(kHistogram, 0)),
        partChunks = b.ceilDiv(chunks, parts);
  firstChunk = b.min(b.mul(part, partChunks), chunks);
  lastChunk = b.min(b.add(firstChunk, partChunks), chunks);
  partSums = b.sharedArray(b.getI32Type(), parts * experts);
  totals = b.sharedArray(b.getI32Type(), experts);
  warpTotals = b.sharedArray(b.getI32Type(), kThreads / kLanes);
}

void RouteScanEmitter::storeIndex(Value value, unsigned operand, Value offset) {
  b.storeElement(b.elementType(operand).isInteger(64) ? b.toI64(value) : value,
                 operand, b.toI64(offset));
}

/// Runs `body` for the experts of this thread.
void RouteScanEmitter::forEachExpert(function_ref<void(Value)> body) {
  Value first = b.rem(thread, b.i32(expertThreads));
  b.forLoop(first, b.i32(experts), b.i32(expertThreads), body);
}

/// `start` and the expert's counts of this part's chunks added up; on the way a
/// chunk's first row can be stored.
Value RouteScanEmitter::walkChunks(Value expert, Value start,
                                   bool storesFirstRows) {
  auto body = [&](Value chunk, ValueRange carried) -> Values {
    Value sum = carried[0];
    SmallVector<Value> counts, offsets, exists;
    for (int64_t i = 0; i < kBatch; ++i) {
      Value here = b.add(chunk, b.i32(i));
      exists.push_back(b.lt(here, lastChunk));
      Value safe = b.select(exists.back(), here, chunk);
      offsets.push_back(
          b.add(b.mul(b.toI64(safe), b.i64(experts)), b.toI64(expert)));
      counts.push_back(b.toI32(b.loadElement(kHistogram, offsets.back())));
    }
    for (int64_t i = 0; i < kBatch; ++i) {
      if (storesFirstRows)
        b.ifThen(exists[i], [&] { storeIndex(sum, kFirstRows, offsets[i]); });
      sum = b.add(sum, b.select(exists[i], counts[i], b.i32(0)));
    }
    return {sum};
  };
  return b.forLoop(firstChunk, lastChunk, b.i32(kBatch), {start}, body).front();
}

/// Replaces the parts' sums by what comes before each part, and leaves the
/// experts' totals.
void RouteScanEmitter::sumParts() {
  b.ifThen(b.eq(part, b.i32(0)), [&] {
    forEachExpert([&](Value expert) {
      Value total = b.i32(0);
      for (int64_t i = 0; i < parts; ++i) {
        Value index = partIndex(b.i32(i), expert),
              sum = loadShared(partSums, index);
        b.store(total, element(partSums, index));
        total = b.add(total, sum);
      }
      b.store(total, element(totals, expert));
      storeIndex(total, kCounts, expert);
    });
  });
}

/// i32 sum of `value` over the lanes up to this one.
static Value scanWarp(KernelBuilder &b, Value value) {
  for (int64_t delta = 1; delta < kLanes; delta *= 2) {
    Value below = b.shuffleUp(value, delta);
    value =
        b.add(value, b.select(b.lt(b.laneId(), b.i32(delta)), b.i32(0), below));
  }
  return value;
}

/// i32 sum of `value` over the threads before this one.
Value RouteScanEmitter::scanBlock(Value value) {
  Value inWarp = scanWarp(b, value);
  b.ifThen(b.eq(b.laneId(), b.i32(kLanes - 1)),
           [&] { b.store(inWarp, element(warpTotals, b.warpId())); });
  b.barrier();
  Value warps = scanWarp(b, loadShared(warpTotals, b.laneId()));
  Value before =
      b.shuffleFrom(warps, b.max(b.sub(b.warpId(), b.i32(1)), b.i32(0)));
  before = b.select(b.eq(b.warpId(), b.i32(0)), b.i32(0), before);
  return b.add(before, b.sub(inWarp, value));
}

/// Replaces the experts' totals by their first rows; a thread replaces only
/// what it alone has read.
void RouteScanEmitter::sumExperts() {
  int64_t threadExperts = llvm::divideCeil(experts, kThreads);
  Value first = b.mul(thread, b.i32(threadExperts)), sum = b.i32(0);
  SmallVector<Value> expertsHere, exists, sums;
  for (int64_t i = 0; i < threadExperts; ++i) {
    expertsHere.push_back(b.add(first, b.i32(i)));
    exists.push_back(b.lt(expertsHere.back(), b.i32(experts)));
    Value safe = b.select(exists.back(), expertsHere.back(), b.i32(0));
    sums.push_back(sum);
    sum =
        b.add(sum, b.select(exists.back(), loadShared(totals, safe), b.i32(0)));
  }
  Value before = scanBlock(sum);
  for (int64_t i = 0; i < threadExperts; ++i)
    b.ifThen(exists[i], [&] {
      Value start = b.add(before, sums[i]);
      b.store(start, element(totals, expertsHere[i]));
      storeIndex(start, kOffsets, expertsHere[i]);
    });
  b.ifThen(b.eq(thread, b.i32(kThreads - 1)),
           [&] { storeIndex(b.add(before, sum), kOffsets, b.i32(experts)); });
}

KernelSource RouteScanEmitter::emit() {
  forEachExpert([&](Value expert) {
    b.store(walkChunks(expert, b.i32(0), /*storesFirstRows=*/false),
            element(partSums, partIndex(part, expert)));
  });
  b.barrier();
  sumParts();
  b.barrier();
  sumExperts();
  b.barrier();
  forEachExpert([&](Value expert) {
    Value start = b.add(loadShared(totals, expert),
                        loadShared(partSums, partIndex(part, expert)));
    walkChunks(expert, start, /*storesFirstRows=*/true);
  });
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitRouteScan(kernel::RouteScanOp op) {
  auto type = cast<RankedTensorType>(op.getIns()[0].getType());
  int64_t experts = type.getDimSize(1);
  if (ShapedType::isDynamic(experts) || experts > kMaxExperts)
    return op.emitOpError("scans at most ")
           << kMaxExperts << " experts, a static number; got " << type;
  return RouteScanEmitter(op, experts).emit();
}
