// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the reading, reducing and choosing of a row by one warp.

#include "backends/ptx/rows/WarpRow.h"

#include "backends/ptx/rows/TreeReduce.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// A sign turns the other bits of a float's order around, and back.
static Value turnBySign(KernelBuilder &b, Value bits) {
  Value sign = arith::ShRSIOp::create(b, bits, b.i32(31));
  return b.bitXor(bits,
                  b.bitAnd(sign, b.i32(std::numeric_limits<int32_t>::max())));
}

Value epifold::ptx::orderOf(KernelBuilder &b, Value x) {
  // -0 + 0 is +0: the zeros are equal.
  Value sum = arith::AddFOp::create(b, x, b.constant(x.getType(), 0));
  return turnBySign(b, arith::BitcastOp::create(b, b.getI32Type(), sum));
}

static Value reduceLanes(KernelBuilder &b, Value value, NVVM::ReduxKind kind) {
  return NVVM::ReduxOp::create(b, b.getI32Type(), value, kind, b.i32(-1));
}

WarpRow::WarpRow(KernelBuilder &b, int64_t columns)
    : b(b), columns(columns), lane(b.laneId()) {}

/// i32 column of the lane's element i.
Value WarpRow::column(size_t i) {
  return b.add(lane, b.i32(int64_t(i) * kLanes));
}

/// Whether the column `distance` after element i is one; null: for every lane.
Value WarpRow::isInside(size_t i, int64_t distance) {
  if (int64_t(i + 1) * kLanes - 1 + distance < columns)
    return {};
  return b.lt(b.add(column(i), b.i32(distance)), b.i32(columns));
}

Value WarpRow::exists(size_t i) {
  Value inside = isInside(i, 0);
  return inside ? inside : b.i1(true);
}

WarpRow::Values WarpRow::load(unsigned operand, Value start) {
  Values values;
  for (int64_t i : llvm::seq(llvm::divideCeil(columns, kLanes))) {
    Value safe = b.select(exists(i), column(i), b.i32(0));
    values.push_back(
        b.extend(b.loadElement(operand, b.add(start, b.toI64(safe)))));
  }
  return values;
}

void WarpRow::store(const Values &values, unsigned operand, Value start) {
  for (auto [i, value] : llvm::enumerate(values))
    b.ifThen(exists(i), [&] {
      b.storeElement(value, operand, b.add(start, b.toI64(column(i))));
    });
}

Value WarpRow::maximum(const Values &values) {
  Value largest = orderOf(b, values.front());
  for (Value value : llvm::drop_begin(values))
    largest = b.max(largest, orderOf(b, value));
  Value order = reduceLanes(b, largest, NVVM::ReduxKind::MAX);
  return arith::BitcastOp::create(b, b.getF32Type(), turnBySign(b, order));
}

// The tree's first merges are over bits 0, 3, 4 and 5 of the column, the next
// ones over bits 1 and 2, the last ones over leaves. Bits 0 to 4 are the
// lane's.
Value WarpRow::sum(Values values) {
  int64_t step = 1; // Registers from one that is still a node to the next.
  auto mergeLaneBit = [&](int64_t bit) {
    int64_t mask = int64_t(1) << bit;
    if (mask >= columns)
      return;
    for (size_t i = 0; i < values.size(); i += step)
      values[i] =
          mergeLanes(b, sumTree, {values[i]}, mask, isInside(i, mask)).front();
  };
  auto mergeRegisters = [&] {
    for (size_t i = 0; i + step < values.size(); i += 2 * step)
      values[i] = mergeIf(b, sumTree, isInside(i, step * kLanes), {values[i]},
                          {values[i + step]})
                      .front();
    step *= 2;
  };
  for (int64_t bit : {0, 3, 4})
    mergeLaneBit(bit);
  mergeRegisters();
  for (int64_t bit : {1, 2})
    mergeLaneBit(bit);
  while (size_t(step) < values.size())
    mergeRegisters();
  return b.shuffleFrom(values.front(), b.i32(0));
}

Value WarpRow::holdsNaN(const Values &values) {
  Value found = b.i1(false);
  for (Value value : values)
    found = b.bitOr(found, arith::CmpFOp::create(b, arith::CmpFPredicate::UNO,
                                                 value, value));
  return b.ne(b.ballot(found), b.i32(0));
}

/// The lanes reduce order and index in one instruction each; what was picked is
/// marked as taken.
WarpRow::Pick WarpRow::pickLargest(const Values &values, int64_t count) {
  Value taken = b.i32(std::numeric_limits<int32_t>::min()),
        noIndex = b.i32(std::numeric_limits<int32_t>::max());
  Values carried = {b.constant(b.getF32Type(), 0), b.i32(0)};
  for (auto [i, value] : llvm::enumerate(values))
    carried.push_back(b.select(exists(i), orderOf(b, value), taken));
  auto pick = [&](Value k, ValueRange carried) -> Values {
    ValueRange open = carried.drop_front(2);
    Value order = open.front(), value = values.front(), index = column(0);
    for (size_t i = 1; i < open.size(); ++i) {
      Value isBetter = b.lt(order, open[i]);
      index = b.select(isBetter, column(i), index);
      value = b.select(isBetter, values[i], value);
      order = b.max(order, open[i]);
    }
    Value largest = reduceLanes(b, order, NVVM::ReduxKind::MAX);
    Value picked =
        reduceLanes(b, b.select(b.eq(order, largest), index, noIndex),
                    NVVM::ReduxKind::MIN);
    Value ofPicked = b.shuffleFrom(value, b.bitAnd(picked, b.i32(kLanes - 1)));
    Value isMine = b.eq(lane, k);
    Values next = {b.select(isMine, ofPicked, carried[0]),
                   b.select(isMine, picked, carried[1])};
    for (auto [i, order] : llvm::enumerate(open))
      next.push_back(b.select(b.eq(column(i), picked), taken, order));
    return next;
  };
  Values picks = b.forLoop(b.i32(0), b.i32(count), b.i32(1), carried, pick);
  return {picks[0], picks[1]};
}
