// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.route_histogram`: one block counts the experts of one chunk of
// slots.

#include "backends/ptx/routing/RoutingEmitters.h"
#include "backends/ptx/rows/StatusReport.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

FailureOr<KernelSource>
epifold::ptx::emitRouteHistogram(kernel::RouteHistogramOp op) {
  constexpr unsigned indices = 0, histogram = 1;
  auto type = cast<RankedTensorType>(op.getOuts()[0].getType());
  int64_t experts = type.getDimSize(1);
  if (ShapedType::isDynamic(experts) || experts > kMaxExperts)
    return op.emitOpError("counts at most ")
           << kMaxExperts << " experts, a static number; got " << type;
  KernelBuilder b(op, "route_histogram", {kRouteThreads, 1, 1});
  b.setGrid(b.gridSize(histogram, 0));

  Type countType = b.getI32Type();
  Value counts = b.sharedArray(countType, experts), thread = b.threadId();
  auto count = [&](Value expert) {
    return b.elementPointer(counts, countType, b.toI64(expert));
  };
  auto forEachExpert = [&](function_ref<void(Value)> body) {
    b.forLoop(thread, b.i32(experts), b.i32(kRouteThreads), body);
  };
  forEachExpert([&](Value expert) { b.store(b.i32(0), count(expert)); });
  // All loads are on their way before the first is needed; a slot past the end
  // has no expert.
  Value chunk = b.toI64(b.blockId()), slots = b.size(indices, 0);
  SmallVector<Value> chosen;
  for (int64_t first = 0; first < kernel::kRouteChunk; first += kRouteThreads) {
    Value slot = b.add(b.mul(chunk, b.i64(kernel::kRouteChunk)),
                       b.toI64(b.add(thread, b.i32(first))));
    Value exists = b.lt(slot, slots);
    Value index = b.loadElement(indices, b.select(exists, slot, b.i64(0)));
    chosen.push_back(b.select(exists, b.toI64(index), b.i64(-1)));
  }
  b.barrier();
  for (Value expert : chosen)
    // Sums of integers do not depend on the order of the threads.
    b.ifThen(isIndexInside(b, expert, b.i64(experts)), [&] {
      LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, count(expert),
                                b.i32(1), LLVM::AtomicOrdering::monotonic);
    });
  b.barrier();
  Value start = b.mul(chunk, b.i64(experts));
  forEachExpert([&](Value expert) {
    b.storeElement(b.load(countType, count(expert)), histogram,
                   b.add(start, b.toI64(expert)));
  });
  return b.finish();
}
