// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.route`: tokens choose experts, a warp each; then their slots
// get their places.

#include "backends/ptx/persistent/GridBarrier.h"
#include "backends/ptx/routing/BlockScan.h"
#include "backends/ptx/routing/RoutingEmitters.h"
#include "backends/ptx/rows/StatusReport.h"
#include "backends/ptx/rows/WarpRow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kWarps = 32, kThreads = kWarps * WarpRow::kLanes;
/// Tokens that one block takes alone: two for each of its warps.
constexpr int64_t kFewTokens = 2 * kWarps;
/// What a row's registers and a block's table of rows hold.
constexpr int64_t kMostExperts = 512, kMostChoices = WarpRow::kLanes;

/// The tokens are in parts of equal length, of which a block takes one after
/// the other: first it counts the experts that they choose, and when all blocks
/// have, it places their slots. All numbers of rows and slots are i32: there
/// are fewer than 2^31 slots.
class RouteEmitter {
public:
  /// `isAlone`: one block for few tokens.
  RouteEmitter(kernel::RouteOp op, bool isAlone)
      : op(op), isAlone(isAlone),
        b(op, "route", {kThreads, 1, 1}, /*usesStatus=*/true),
        experts(b.tensorType(kLogits).getDimSize(1)),
        choices(typeOf(kernel::kRouteWeights).getDimSize(1)),
        type(b.getI32Type()), logits(b, experts), picks(b, choices) {}

  KernelSource emit();

private:
  static constexpr unsigned kLogits = 0;
  static unsigned operandOf(unsigned out) { return out + 1; }
  RankedTensorType typeOf(unsigned out) { return b.tensorType(operandOf(out)); }

  Value shared(Value array, Value i) {
    return b.elementPointer(array, type, b.toI64(i));
  }
  void addShared(Value value, Value pointer) {
    // Sums of integers do not depend on the order of the threads.
    LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointer, value,
                              LLVM::AtomicOrdering::monotonic);
  }
  void storeOut(Value value, unsigned out, Value offset) {
    bool isWide = typeOf(out).getElementType().isInteger(64);
    b.storeElement(isWide ? b.toI64(value) : value, operandOf(out),
                   b.toI64(offset));
  }
  void forEachExpert(function_ref<void(Value)> body) {
    b.forLoop(b.threadId(), b.i32(experts), b.i32(kThreads), body);
  }
  void forEachPart(function_ref<void(Value)> body);

  KernelBuilder::Values findProbabilities(Value token);
  WarpRow::Pick choose(const KernelBuilder::Values &probabilities, Value token);
  void routeToken(Value token);
  void countPart(Value part);

  void sumParts(Value part);
  void startRows(Value part);
  void placeSlots(Value firstSlot, Value lastSlot);
  void placePart(Value part);

  kernel::RouteOp op;
  bool isAlone;
  KernelBuilder b;
  int64_t experts, choices;
  Type type;
  WarpRow logits, picks;
  Value tokens, partTokens, parts; ///< i64
  /// Shared arrays: of each expert what was counted in this part, in all parts,
  /// in those before, and the next row; of each warp a sum; of each warp and
  /// expert the slots of a step, then the row of the first of them.
  Value counts, totals, before, nextRows, warpSums, warpRows;
  Value rows; ///< i32 rows that belong to an expert.
};
} // namespace

void RouteEmitter::forEachPart(function_ref<void(Value)> body) {
  if (isAlone)
    return body(b.i64(0));
  b.forLoop(b.toI64(b.blockId()), parts, b.toI64(b.gridDim()), body);
}

//===--- Choices
//---------------------------------------------------------------------------------------------------===//

KernelBuilder::Values RouteEmitter::findProbabilities(Value token) {
  Value start = b.mul(token, b.i64(experts));
  KernelBuilder::Values x = logits.load(kLogits, start);
  if (!op.getSoftmax())
    return x;
  Value maximum = logits.maximum(x);
  for (Value &element : x)
    element = b.math(kernel::MathFunction::Exp, *op.getSoftmax(),
                     arith::SubFOp::create(b, element, maximum));
  Value sum = logits.sum(x);
  for (Value &element : x)
    element = arith::DivFOp::create(b, element, sum);
  if (op.getKeepsProbabilities())
    logits.store(x, operandOf(kernel::kRouteOuts), start);
  return x;
}

/// What the token chooses, by lanes; of one with NaN logits it is NaN and -1.
WarpRow::Pick RouteEmitter::choose(const KernelBuilder::Values &probabilities,
                                   Value token) {
  KernelBuilder::Values chosen = b.ifElse(
      logits.holdsNaN(probabilities),
      [&]() -> KernelBuilder::Values {
        b.ifThen(b.eq(b.laneId(), b.i32(0)),
                 [&] { reportStatus(b, StatusKind::NaNLogits, token); });
        return {notANumber(b, b.getF32Type()), b.i32(-1)};
      },
      [&]() -> KernelBuilder::Values {
        WarpRow::Pick pick = logits.pickLargest(probabilities, choices);
        return {pick.value, pick.index};
      });
  return {chosen[0], chosen[1]};
}

void RouteEmitter::routeToken(Value token) {
  WarpRow::Pick pick = choose(findProbabilities(token), token);
  Value start = b.mul(token, b.i64(choices)), weight = pick.value;
  if (op.getNormalize())
    weight = arith::DivFOp::create(b, weight, picks.sum({weight}));
  b.ifThen(b.lt(b.laneId(), b.i32(choices)), [&] {
    Value slot = b.add(start, b.toI64(b.laneId()));
    storeOut(weight, kernel::kRouteWeights, slot);
    storeOut(pick.index, kernel::kRouteIndices, slot);
    if (op.getKeepsValues())
      storeOut(pick.value, op.getOuts().size() - 1, slot);
    b.ifThen(b.le(b.i32(0), pick.index),
             [&] { addShared(b.i32(1), shared(counts, pick.index)); });
  });
}

void RouteEmitter::countPart(Value part) {
  forEachExpert(
      [&](Value expert) { b.store(b.i32(0), shared(counts, expert)); });
  b.barrier();
  Value first = b.mul(part, partTokens),
        last = b.min(b.add(first, partTokens), tokens);
  b.forLoop(b.add(first, b.toI64(b.warpId())), last, b.i64(kWarps),
            [&](Value token) { routeToken(token); });
  b.barrier();
  if (isAlone)
    return;
  forEachExpert([&](Value expert) {
    storeOut(b.load(type, shared(counts, expert)), kernel::kRouteHistogram,
             b.add(b.mul(part, b.i64(experts)), b.toI64(expert)));
  });
  b.barrier();
}

//===--- Places
//----------------------------------------------------------------------------------------------------===//

/// Adds up what was counted in all parts and in those before this one: threads
/// share the parts of an expert, and neighbours take neighbouring experts.
void RouteEmitter::sumParts(Value part) {
  forEachExpert([&](Value expert) {
    b.store(b.i32(0), shared(totals, expert));
    b.store(b.i32(0), shared(before, expert));
  });
  b.barrier();
  int64_t teams = kThreads / experts,
          batch = std::min<int64_t>(
              16, llvm::divideCeil(kernel::kRouteParts, teams));
  Value expert = b.rem(b.threadId(), b.i32(experts)),
        team = b.toI64(b.div(b.threadId(), b.i32(experts)));
  auto addBatch = [&](Value first, ValueRange sums) -> KernelBuilder::Values {
    SmallVector<Value> numbers, exists, counted;
    for (int64_t i = 0; i < batch; ++i) {
      numbers.push_back(b.add(first, b.i64(i * teams)));
      exists.push_back(b.lt(numbers.back(), parts));
      Value safe = b.select(exists.back(), numbers.back(), b.i64(0));
      counted.push_back(
          b.loadElement(operandOf(kernel::kRouteHistogram),
                        b.add(b.mul(safe, b.i64(experts)), b.toI64(expert))));
    }
    Value total = sums[0], sumBefore = sums[1];
    for (int64_t i = 0; i < batch; ++i) {
      Value isBefore = b.logicalAnd(exists[i], b.lt(numbers[i], part));
      total = b.add(total, b.select(exists[i], counted[i], b.i32(0)));
      sumBefore = b.add(sumBefore, b.select(isBefore, counted[i], b.i32(0)));
    }
    return {total, sumBefore};
  };
  b.ifThen(b.lt(team, b.i64(teams)), [&] {
    KernelBuilder::Values sums = b.forLoop(team, parts, b.i64(batch * teams),
                                           {b.i32(0), b.i32(0)}, addBatch);
    addShared(sums[0], shared(totals, expert));
    addShared(sums[1], shared(before, expert));
  });
  b.barrier();
}

/// Fills the table with the experts' first rows of this part; the first block
/// stores where the experts begin.
void RouteEmitter::startRows(Value part) {
  if (!isAlone)
    sumParts(part);
  Value expert = b.threadId(), exists = b.lt(expert, b.i32(experts)),
        safe = b.select(exists, expert, b.i32(0));
  Value total = b.select(
      exists, b.load(type, shared(isAlone ? counts : totals, safe)), b.i32(0));
  auto [first, all] = sumBefore(b, total, kWarps, warpSums);
  rows = all;
  Value isFirst = b.eq(part, b.i64(0));
  b.ifThen(exists, [&] {
    Value next = first;
    if (!isAlone)
      next = b.add(next, b.load(type, shared(before, expert)));
    b.store(next, shared(nextRows, expert));
    b.ifThen(isFirst, [&] {
      storeOut(total, kernel::kRouteCounts, expert);
      storeOut(first, kernel::kRouteOffsets, expert);
    });
  });
  b.ifThen(b.logicalAnd(isFirst, b.eq(b.threadId(), b.i32(0))),
           [&] { storeOut(rows, kernel::kRouteOffsets, b.i32(experts)); });
  b.barrier();
}

/// Places a slot for each thread: the lanes of a warp with one expert rank
/// among themselves, and each expert's rows are dealt out to the warps in turn.
void RouteEmitter::placeSlots(Value firstSlot, Value lastSlot) {
  b.forLoop(b.threadId(), b.i32(kWarps * experts), b.i32(kThreads),
            [&](Value i) { b.store(b.i32(0), shared(warpRows, i)); });
  Value slot = b.add(firstSlot, b.toI64(b.threadId())),
        exists = b.lt(slot, lastSlot),
        safeSlot = b.select(exists, slot, b.i64(0));
  auto load = [&](unsigned out) {
    return b.loadElement(operandOf(out), safeSlot);
  };
  Value expert = b.select(exists, load(kernel::kRouteIndices), b.i32(-1)),
        weight = load(kernel::kRouteWeights);
  Value hasExpert = b.le(b.i32(0), expert);
  Value place = shared(warpRows, b.add(b.mul(b.warpId(), b.i32(experts)),
                                       b.max(expert, b.i32(0))));
  LanePeers peers(b, expert);
  b.barrier();
  b.ifThen(b.logicalAnd(peers.isLast, hasExpert),
           [&] { b.store(b.add(peers.rank, b.i32(1)), place); });
  b.barrier();
  forEachExpert([&](Value expert) {
    auto ofWarp = [&](int64_t warp) {
      return shared(warpRows, b.add(expert, b.i32(warp * experts)));
    };
    SmallVector<Value> slots;
    for (int64_t warp : llvm::seq(kWarps))
      slots.push_back(b.load(type, ofWarp(warp)));
    Value row = b.load(type, shared(nextRows, expert));
    for (int64_t warp : llvm::seq(kWarps)) {
      b.store(row, ofWarp(warp));
      row = b.add(row, slots[warp]);
    }
    b.store(row, shared(nextRows, expert));
  });
  b.barrier();
  Value row = b.add(b.load(type, place), peers.rank);
  b.ifThen(exists, [&] {
    b.ifThen(hasExpert, [&] {
      storeOut(b.toI32(slot), kernel::kRouteSlotOfRow, row);
      storeOut(weight, kernel::kRouteRowWeights, row);
    });
    storeOut(b.select(hasExpert, row, b.i32(-1)), kernel::kRouteRowOfSlot,
             slot);
    // Rows past the last expert's belong to no slot; nobody else writes them.
    b.ifThen(b.le(b.toI64(rows), slot),
             [&] { storeOut(b.i32(-1), kernel::kRouteSlotOfRow, slot); });
  });
  b.barrier();
}

void RouteEmitter::placePart(Value part) {
  startRows(part);
  Value first = b.mul(part, partTokens),
        last = b.min(b.add(first, partTokens), tokens);
  Value lastSlot = b.mul(last, b.i64(choices));
  b.forLoop(b.mul(first, b.i64(choices)), lastSlot, b.i64(kThreads),
            [&](Value slot) { placeSlots(slot, lastSlot); });
}

KernelSource RouteEmitter::emit() {
  b.setMinBlocksPerProcessor(1);
  tokens = b.size(kLogits, 0);
  if (isAlone) {
    b.setGrid(b.gridConstant(1));
    b.setSizeLimit(b.gridSize(kLogits, 0), kFewTokens);
    partTokens = tokens;
    parts = b.i64(1);
  } else {
    b.setGrid(b.gridConstant(kernel::kRouteParts));
    b.setResident();
    // One part at least, with which the experts' places are stored.
    partTokens = b.max(b.ceilDiv(tokens, kernel::kRouteParts), b.i64(1));
    parts = b.max(b.div(b.sub(b.add(tokens, partTokens), b.i64(1)), partTokens),
                  b.i64(1));
  }
  Value memory = b.dynamicShared(4 * (4 * experts + kWarps + kWarps * experts));
  int64_t used = 0;
  auto take = [&](int64_t elements) {
    Value array = b.elementPointer(memory, type, b.i64(used));
    used += elements;
    return array;
  };
  for (Value *array : {&counts, &totals, &before, &nextRows})
    *array = take(experts);
  warpSums = take(kWarps);
  warpRows = take(kWarps * experts);

  forEachPart([&](Value part) { countPart(part); });
  if (!isAlone)
    emitGridBarrier(b);
  forEachPart([&](Value part) { placePart(part); });
  return b.finish();
}

FailureOr<std::vector<KernelSource>>
epifold::ptx::emitRoute(kernel::RouteOp op) {
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  RankedTensorType logits = typeOf(op.getIns().front()),
                   weights = typeOf(op.getOuts()[kernel::kRouteWeights]);
  int64_t experts = logits.getDimSize(1), choices = weights.getDimSize(1);
  if (!logits.getElementType().isF32() || ShapedType::isDynamic(experts) ||
      experts > kMostExperts)
    return op.emitOpError("routes f32 logits of at most ")
           << kMostExperts << " experts, a static number; got " << logits;
  if (ShapedType::isDynamic(choices) || choices > kMostChoices ||
      choices > experts)
    return op.emitOpError("makes at most ")
           << kMostChoices << " choices a token, a static number, of "
           << experts << "; got " << weights;
  std::vector<KernelSource> variants;
  for (bool isAlone : {true, false})
    variants.push_back(RouteEmitter(op, isAlone).emit());
  return variants;
}
