// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.top_k`: one warp a row picks the largest elements one after the
// other.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/StatusReport.h"
#include "backends/ptx/rows/WarpRow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kWarps = 8, kLanes = 32;
/// Rows up to this many elements a lane stay in registers.
constexpr int64_t kLaneElements = 32;
constexpr unsigned kIn = 0, kValues = 1, kIndices = 2;

/// An element: its value in the compute type and its i32 index.
struct Candidate {
  Value value, index;
};

class TopKEmitter {
public:
  explicit TopKEmitter(kernel::TopKOp op)
      : b(op, "top_k", {kWarps * kLanes, 1, 1}, /*usesStatus=*/true),
        type(kernel::getComputeType(b.elementType(kIn))) {}

  KernelSource emit();

private:
  Value loadElement(Value index);
  void loadRow();
  Value rowHoldsNaN();
  void forEachElement(
      KernelBuilder::Values &carried,
      function_ref<KernelBuilder::Values(Candidate, Value exists, ValueRange)>
          body);
  Value precedes(Candidate a, Candidate c);
  Candidate findNext(Candidate previous);
  void storePick(Value k, Value value, Value index);
  void emitPicksByOrder();
  void emitPicks();
  void emitNaNRow();

  KernelBuilder b;
  Type type;
  Value row, rowStart, lane, columns, picks;
  KernelBuilder::Values registers;
};
} // namespace

/// Element `index` (i32) of the row, or its first one when there is none.
Value TopKEmitter::loadElement(Value index) {
  Value safe = b.select(b.lt(index, columns), index, b.i32(0));
  return b.extend(b.loadElement(kIn, b.add(rowStart, b.toI64(safe))));
}

void TopKEmitter::loadRow() {
  int64_t size = b.tensorType(kIn).getDimSize(1);
  if (ShapedType::isDynamic(size) || size > kLanes * kLaneElements)
    return;
  for (int64_t first = 0; first < size; first += kLanes)
    registers.push_back(loadElement(b.add(lane, b.i32(first))));
}

/// Runs `body` over the lane's elements, indices ascending, with carried
/// values.
void TopKEmitter::forEachElement(
    KernelBuilder::Values &carried,
    function_ref<KernelBuilder::Values(Candidate, Value, ValueRange)> body) {
  if (!registers.empty()) {
    for (auto [i, value] : llvm::enumerate(registers)) {
      Value index = b.add(lane, b.i32(int64_t(i) * kLanes));
      carried = body({value, index}, b.lt(index, columns), carried);
    }
    return;
  }
  carried =
      b.forLoop(lane, columns, b.i32(kLanes), carried,
                [&](Value index, ValueRange inner) {
                  return body({loadElement(index), index}, b.i1(true), inner);
                });
}

static Value compare(KernelBuilder &b, arith::CmpFPredicate predicate, Value a,
                     Value c) {
  return arith::CmpFOp::create(b, predicate, a, c);
}

/// Larger first, ties to the lower index: a total order of the elements of a
/// row without NaN.
Value TopKEmitter::precedes(Candidate a, Candidate c) {
  Value isLarger = compare(b, arith::CmpFPredicate::OGT, a.value, c.value);
  Value isEqual = compare(b, arith::CmpFPredicate::OEQ, a.value, c.value);
  return b.bitOr(isLarger, b.logicalAnd(isEqual, b.lt(a.index, c.index)));
}

Value TopKEmitter::rowHoldsNaN() {
  KernelBuilder::Values found = {b.i1(false)};
  forEachElement(
      found,
      [&](Candidate element, Value,
          ValueRange carried) -> KernelBuilder::Values {
        return {b.bitOr(carried[0], compare(b, arith::CmpFPredicate::UNO,
                                            element.value, element.value))};
      });
  return b.ne(b.ballot(found[0]), b.i32(0));
}

/// The element of the row that comes right after `previous`. Nothing is marked
/// as taken, so a row of any length works.
Candidate TopKEmitter::findNext(Candidate previous) {
  KernelBuilder::Values best = {
      b.constant(type, -std::numeric_limits<double>::infinity()),
      b.i32(std::numeric_limits<int32_t>::max())};
  forEachElement(best,
                 [&](Candidate element, Value exists,
                     ValueRange carried) -> KernelBuilder::Values {
                   Candidate best = {carried[0], carried[1]};
                   Value isOpen =
                       b.logicalAnd(exists, precedes(previous, element));
                   Value isBetter =
                       b.logicalAnd(isOpen, precedes(element, best));
                   return {b.select(isBetter, element.value, best.value),
                           b.select(isBetter, element.index, best.index)};
                 });
  Candidate result = {best[0], best[1]};
  for (int64_t mask = 1; mask < kLanes; mask *= 2) {
    Candidate partner = {b.shuffleXor(result.value, mask),
                         b.shuffleXor(result.index, mask)};
    Value isBetter = precedes(partner, result);
    result = {b.select(isBetter, partner.value, result.value),
              b.select(isBetter, partner.index, result.index)};
  }
  return result;
}

/// Writes pick `k` (i32) of the row.
void TopKEmitter::storePick(Value k, Value value, Value index) {
  Value offset = b.add(b.mul(row, b.toI64(picks)), b.toI64(k));
  b.storeElement(b.round(value, b.elementType(kValues)), kValues, offset);
  b.storeElement(b.elementType(kIndices).isInteger(64) ? b.toI64(index) : index,
                 kIndices, offset);
}

/// Picks from rows of f32 that are in registers: the lanes reduce order and
/// index in one instruction each, and what was picked is marked as taken.
void TopKEmitter::emitPicksByOrder() {
  Value taken = b.i32(INT32_MIN), noIndex = b.i32(INT32_MAX);
  KernelBuilder::Values orders, indices;
  for (auto [i, value] : llvm::enumerate(registers)) {
    indices.push_back(b.add(lane, b.i32(int64_t(i) * kLanes)));
    orders.push_back(
        b.select(b.lt(indices.back(), columns), orderOf(b, value), taken));
  }
  auto reduce = [&](Value value, NVVM::ReduxKind kind) -> Value {
    return NVVM::ReduxOp::create(b, b.getI32Type(), value, kind, b.i32(-1));
  };
  b.forLoop(b.i32(0), picks, b.i32(1), orders,
            [&](Value k, ValueRange open) -> KernelBuilder::Values {
              Value best = open.front(), index = indices.front();
              for (auto [order, here] :
                   llvm::drop_begin(llvm::zip_equal(open, indices))) {
                index = b.select(b.lt(best, order), here, index);
                best = b.max(best, order);
              }
              Value largest = reduce(best, NVVM::ReduxKind::MAX);
              Value picked =
                  reduce(b.select(b.eq(best, largest), index, noIndex),
                         NVVM::ReduxKind::MIN);
              b.ifThen(b.eq(lane, b.i32(0)),
                       [&] { storePick(k, loadElement(picked), picked); });
              KernelBuilder::Values next;
              for (auto [order, here] : llvm::zip_equal(open, indices))
                next.push_back(b.select(b.eq(here, picked), taken, order));
              return next;
            });
}

void TopKEmitter::emitPicks() {
  if (!registers.empty() && type.isF32())
    return emitPicksByOrder();
  KernelBuilder::Values beforeAll = {
      b.constant(type, std::numeric_limits<double>::infinity()), b.i32(-1)};
  b.forLoop(b.i32(0), picks, b.i32(1), beforeAll,
            [&](Value k, ValueRange previous) -> KernelBuilder::Values {
              Candidate next = findNext({previous[0], previous[1]});
              b.ifThen(b.eq(lane, b.i32(0)),
                       [&] { storePick(k, next.value, next.index); });
              return {next.value, next.index};
            });
}

void TopKEmitter::emitNaNRow() {
  b.forLoop(lane, picks, b.i32(kLanes),
            [&](Value k) { storePick(k, notANumber(b, type), b.i32(-1)); });
  b.ifThen(b.eq(lane, b.i32(0)),
           [&] { reportStatus(b, StatusKind::NaNLogits, row); });
}

KernelSource TopKEmitter::emit() {
  b.setGrid(b.gridSize(kIn, 0).ceilDiv(kWarps));
  lane = b.laneId();
  row = b.add(b.mul(b.toI64(b.blockId()), b.i64(kWarps)), b.toI64(b.warpId()));
  columns = b.toI32(b.size(kIn, 1));
  picks = b.toI32(b.size(kValues, 1));
  // The branch is the same for all lanes of a warp.
  b.ifThen(b.lt(row, b.size(kIn, 0)), [&] {
    rowStart = b.mul(row, b.size(kIn, 1));
    loadRow();
    b.ifElse(
        rowHoldsNaN(), [&] { return emitNaNRow(), KernelBuilder::Values(); },
        [&] { return emitPicks(), KernelBuilder::Values(); });
  });
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitTopK(kernel::TopKOp op) {
  auto in = cast<RankedTensorType>(op.getIns()[0].getType());
  auto values = cast<RankedTensorType>(op.getOuts()[0].getType());
  int64_t columns = in.getDimSize(1), picks = values.getDimSize(1);
  if (ShapedType::isDynamic(picks))
    return op.emitOpError("needs a static number of picks, got ") << values;
  if (!ShapedType::isDynamic(columns) && picks > columns)
    return op.emitOpError("picks ")
           << picks << " of " << columns << " elements a row; pick at most all";
  return TopKEmitter(op).emit();
}
