// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Row ranges and the search for a row's expert.

#include "backends/ptx/RaggedRows.h"

using namespace mlir;
using namespace epifold::ptx;

Value epifold::ptx::loadOffset(KernelBuilder &b, unsigned offsets,
                               Value expert) {
  return b.toI64(b.loadElement(offsets, b.toI64(expert)));
}

static int64_t countExperts(KernelBuilder &b, unsigned offsets) {
  return b.tensorType(offsets).getDimSize(0) - 1;
}

RowRange epifold::ptx::raggedRows(KernelBuilder &b, unsigned offsets,
                                  bool hasGroup) {
  if (hasGroup)
    return {loadOffset(b, offsets, b.group()),
            loadOffset(b, offsets, b.add(b.group(), b.i64(1)))};
  return {loadOffset(b, offsets, b.i64(0)),
          loadOffset(b, offsets, b.i64(countExperts(b, offsets)))};
}

Value epifold::ptx::findGroup(KernelBuilder &b, unsigned offsets, Value value,
                              llvm::function_ref<Value(Value, Value)> first) {
  Value ends[] = {b.i32(0), b.i32(countExperts(b, offsets))};
  auto isOpen = [&](ValueRange range) {
    return b.lt(b.i32(1), b.sub(range[1], range[0]));
  };
  auto halve = [&](ValueRange range) -> KernelBuilder::Values {
    Value middle = b.shiftRight(b.add(range[0], range[1]), 1);
    Value isBelow = b.le(first(loadOffset(b, offsets, middle), middle), value);
    return {b.select(isBelow, middle, range[0]),
            b.select(isBelow, range[1], middle)};
  };
  return b.whileLoop(ends, isOpen, halve)[0];
}

Value epifold::ptx::findGroupByWarp(KernelBuilder &b, int64_t groups,
                                    Value value,
                                    llvm::function_ref<Value(Value)> first) {
  // As `first` does not fall, the groups it lets pass are the first ones.
  Value passing = b.i32(0), last = b.i32(groups - 1);
  for (int64_t base = 0; base < groups; base += 32) {
    Value group = b.add(b.laneId(), b.i32(base));
    Value passes =
        b.logicalAnd(b.le(group, last), b.le(first(b.min(group, last)), value));
    Value count = LLVM::CtPopOp::create(b, b.getI32Type(), b.ballot(passes));
    passing = b.add(passing, count);
  }
  return b.sub(passing, b.i32(1));
}
