// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.route_scan`: a block adds up the chunks' counts of some
// experts.

#include "backends/ptx/routing/RoutingEmitters.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr unsigned kHistogram = 0, kBefore = 1, kCounts = 2;
/// Counts that a thread loads before it adds the first.
constexpr int64_t kBatch = 8;

/// Neighbouring threads take neighbouring experts, so that a row of the
/// histogram is read in one go; the block splits the chunks into parts. All
/// numbers are i32: there are fewer than 2^31 slots.
class RouteScanEmitter {
public:
  RouteScanEmitter(kernel::RouteScanOp op, int64_t experts);
  KernelSource emit();

private:
  using Values = KernelBuilder::Values;

  Value walkChunks(Value start, bool storesSums);
  void storeIndex(Value value, unsigned operand, Value offset);

  KernelBuilder b;
  int64_t experts;
  int64_t blockExperts; ///< Experts of a block.
  int64_t parts;        ///< Parts of the chunks.
  Value expert, part, firstChunk, lastChunk;
};
} // namespace

RouteScanEmitter::RouteScanEmitter(kernel::RouteScanOp op, int64_t experts)
    : b(op, "route_scan", {kRouteThreads, 1, 1}), experts(experts) {
  constexpr int64_t leastExperts = 8, mostExperts = 32;
  blockExperts = std::clamp<int64_t>(llvm::PowerOf2Ceil(experts), leastExperts,
                                     mostExperts);
  parts = kRouteThreads / blockExperts;
  b.setGrid(b.gridConstant(llvm::divideCeil(experts, blockExperts)));
  expert = b.add(b.mul(b.blockId(), b.i32(blockExperts)),
                 b.rem(b.threadId(), b.i32(blockExperts)));
  part = b.div(b.threadId(), b.i32(blockExperts));
  Value chunks = b.toI32(b.size(kHistogram, 0)),
        partChunks = b.ceilDiv(chunks, parts);
  firstChunk = b.min(b.mul(part, partChunks), chunks);
  lastChunk = b.min(b.add(firstChunk, partChunks), chunks);
}

void RouteScanEmitter::storeIndex(Value value, unsigned operand, Value offset) {
  b.storeElement(b.elementType(operand).isInteger(64) ? b.toI64(value) : value,
                 operand, b.toI64(offset));
}

/// `start` and the expert's counts of this part's chunks added up; on the way
/// what comes before a chunk can be stored.
Value RouteScanEmitter::walkChunks(Value start, bool storesSums) {
  // The threads past the last expert read along with it.
  Value exists = b.lt(expert, b.i32(experts));
  Value safeExpert = b.toI64(b.min(expert, b.i32(experts - 1)));
  auto body = [&](Value chunk, ValueRange carried) -> Values {
    Value sum = carried[0];
    SmallVector<Value> counts, offsets, isHere;
    for (int64_t i = 0; i < kBatch; ++i) {
      Value here = b.add(chunk, b.i32(i));
      isHere.push_back(b.lt(here, lastChunk));
      Value safe = b.select(isHere.back(), here, chunk);
      offsets.push_back(
          b.add(b.mul(b.toI64(safe), b.i64(experts)), safeExpert));
      counts.push_back(b.toI32(b.loadElement(kHistogram, offsets.back())));
    }
    for (int64_t i = 0; i < kBatch; ++i) {
      if (storesSums)
        b.ifThen(b.logicalAnd(isHere[i], exists),
                 [&] { storeIndex(sum, kBefore, offsets[i]); });
      sum = b.add(sum, b.select(isHere[i], counts[i], b.i32(0)));
    }
    return {sum};
  };
  return b.forLoop(firstChunk, lastChunk, b.i32(kBatch), {start}, body).front();
}

KernelSource RouteScanEmitter::emit() {
  Type type = b.getI32Type();
  Value partSums = b.sharedArray(type, kRouteThreads);
  auto partSum = [&](Value thread) {
    return b.elementPointer(partSums, type, b.toI64(thread));
  };
  b.store(walkChunks(b.i32(0), /*storesSums=*/false), partSum(b.threadId()));
  b.barrier();
  Value before = b.i32(0), total = b.i32(0);
  for (int64_t i = 0; i < parts; ++i) {
    Value sum =
        b.load(type, partSum(b.add(b.rem(b.threadId(), b.i32(blockExperts)),
                                   b.i32(i * blockExperts))));
    before = b.add(before, b.select(b.lt(b.i32(i), part), sum, b.i32(0)));
    total = b.add(total, sum);
  }
  b.ifThen(b.logicalAnd(b.eq(part, b.i32(0)), b.lt(expert, b.i32(experts))),
           [&] { storeIndex(total, kCounts, expert); });
  walkChunks(before, /*storesSums=*/true);
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
