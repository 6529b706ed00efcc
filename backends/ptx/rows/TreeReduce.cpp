// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the merges of the fixed reduction trees.

#include "backends/ptx/rows/TreeReduce.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace epifold::ptx;

static TreeValue mergeSums(KernelBuilder &b, ValueRange lo, ValueRange hi) {
  return {arith::AddFOp::create(b, lo[0], hi[0])};
}

static TreeValue mergeStatistics(KernelBuilder &b, ValueRange lo,
                                 ValueRange hi) {
  // Counts fold where the shape is static, and with them both divisions.
  Value count = b.createOrFold<arith::AddFOp>(lo[0], hi[0]);
  Value hiShare = b.createOrFold<arith::DivFOp>(hi[0], count);
  Value product = b.createOrFold<arith::MulFOp>(lo[0], hi[0]);
  Value weight = b.createOrFold<arith::DivFOp>(product, count);
  Value delta = arith::SubFOp::create(b, hi[1], lo[1]);
  Value square = arith::MulFOp::create(b, delta, delta);
  Value spread = arith::AddFOp::create(b, lo[2], hi[2]);
  return {count, b.fma(delta, hiShare, lo[1]), b.fma(square, weight, spread)};
}

const Tree epifold::ptx::sumTree = {1, mergeSums, /*isDear=*/false};
const Tree epifold::ptx::statisticsTree = {3, mergeStatistics, /*isDear=*/true};

TreeValue epifold::ptx::singleStatistics(KernelBuilder &b, Value x) {
  return {b.constant(x.getType(), 1), x, b.constant(x.getType(), 0)};
}

KernelBuilder::Values epifold::ptx::finishStatistics(KernelBuilder &b,
                                                     const TreeValue &node,
                                                     double epsilon) {
  Type type = node[0].getType();
  Value variance = arith::DivFOp::create(b, node[2], node[0]);
  Value sum = arith::AddFOp::create(b, variance, b.constant(type, epsilon));
  Value deviation = LLVM::SqrtOp::create(b, sum);
  return {node[1], arith::DivFOp::create(b, b.constant(type, 1), deviation)};
}

static TreeValue selectNode(KernelBuilder &b, Value condition, ValueRange a,
                            ValueRange c) {
  TreeValue result;
  for (auto [x, y] : llvm::zip_equal(a, c))
    result.push_back(b.select(condition, x, y));
  return result;
}

TreeValue epifold::ptx::mergeIf(KernelBuilder &b, const Tree &tree,
                                Value hiExists, const TreeValue &lo,
                                const TreeValue &hi) {
  if (!hiExists || matchPattern(hiExists, m_One()))
    return tree.merge(b, lo, hi);
  if (matchPattern(hiExists, m_Zero()))
    return lo;
  return selectNode(b, hiExists, tree.merge(b, lo, hi), lo);
}

TreeValue epifold::ptx::mergeThread(KernelBuilder &b, const Tree &tree,
                                    SmallVector<TreeValue> nodes,
                                    function_ref<Value(unsigned)> hiExists) {
  for (unsigned distance = 1; distance < nodes.size(); distance *= 2)
    for (unsigned i = 0; i < nodes.size(); i += 2 * distance)
      nodes[i] = mergeIf(b, tree, hiExists ? hiExists(i + distance) : Value(),
                         nodes[i], nodes[i + distance]);
  return nodes[0];
}

TreeValue epifold::ptx::mergeLanes(KernelBuilder &b, const Tree &tree,
                                   const TreeValue &node, int64_t mask,
                                   Value hiExists) {
  TreeValue partner;
  for (Value component : node) {
    // A constant (a count of a full leaf) is the partner's too.
    bool isConstant = matchPattern(component, m_Constant());
    partner.push_back(isConstant ? component : b.shuffleXor(component, mask));
  }
  return mergeIf(b, tree, hiExists, node, partner);
}

TreeValue epifold::ptx::broadcast(KernelBuilder &b, const TreeValue &node,
                                  Value lane) {
  TreeValue result;
  for (Value component : node)
    result.push_back(b.shuffleFrom(component, lane));
  return result;
}

WarpMerger::WarpMerger(KernelBuilder &b, const Tree &tree, TypeRange types,
                       int64_t warps, int64_t teamWarps)
    : b(b), tree(tree), teamWarps(teamWarps),
      synchronize([&b] { b.barrier(); }) {
  if (teamWarps > 1)
    for (Type type : types)
      shared.push_back(b.sharedArray(type, warps));
}

WarpMerger::WarpMerger(KernelBuilder &b, const Tree &tree, TypeRange types,
                       int64_t warps, int64_t teamWarps, Value memory,
                       std::function<void()> synchronize)
    : b(b), tree(tree), teamWarps(teamWarps),
      synchronize(std::move(synchronize)) {
  for (auto [i, type] : llvm::enumerate(types))
    shared.push_back(b.elementPointer(memory, type, b.i32(i * warps)));
}

int64_t WarpMerger::sharedBytes(TypeRange types, int64_t warps) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += warps * (type.getIntOrFloatBitWidth() / 8);
  return bytes;
}

TreeValue WarpMerger::merge(const TreeValue &node,
                            function_ref<Value(Value)> exists) {
  if (teamWarps == 1)
    return node;
  // The nodes of the call before must have been read.
  synchronize();
  // A constant (a count of a full leaf) is every warp's.
  auto isConstant = [](Value component) {
    return matchPattern(component, m_Constant());
  };
  b.ifThen(b.eq(b.laneId(), b.i32(0)), [&] {
    for (auto [array, component] : llvm::zip_equal(shared, node))
      if (!isConstant(component))
        b.store(component, b.elementPointer(array, component.getType(),
                                            b.toI64(b.warpId())));
  });
  synchronize();
  Value member = b.bitAnd(b.laneId(), b.i32(teamWarps - 1));
  Value first = b.bitAnd(b.warpId(), b.i32(~(teamWarps - 1)));
  TreeValue result;
  for (auto [array, component] : llvm::zip_equal(shared, node)) {
    Type type = component.getType();
    Value place = b.elementPointer(array, type, b.toI64(b.add(first, member)));
    result.push_back(isConstant(component) ? component : b.load(type, place));
  }
  for (int64_t mask = 1; mask < teamWarps; mask *= 2)
    result = mergeLanes(b, tree, result, mask,
                        exists ? exists(b.add(member, b.i32(mask))) : Value());
  return result;
}

/// Adds node `index` to the pending ones: a carry runs up while the bits of
/// `index` are set.
static KernelBuilder::Values countUp(KernelBuilder &b, const Tree &tree,
                                     ValueRange pending, Value index,
                                     TreeValue carry) {
  unsigned components = tree.components, levels = pending.size() / components;
  KernelBuilder::Values result(pending);
  Value runs = b.i1(true);
  for (unsigned level = 0; level < levels; ++level) {
    ValueRange below = pending.slice(level * components, components);
    Value bit = b.bitAnd(b.shiftRight(index, level), b.i64(1));
    Value stops = b.logicalAnd(runs, b.eq(bit, b.i64(0)));
    TreeValue kept = selectNode(b, stops, carry, below);
    llvm::copy(kept, result.begin() + level * components);
    runs = b.logicalAnd(runs, b.ne(bit, b.i64(0)));
    if (level + 1 == levels)
      break;
    if (tree.isDear)
      carry = b.ifElse(
          runs, [&] { return tree.merge(b, below, carry); },
          [&] { return carry; });
    else
      carry = selectNode(b, runs, tree.merge(b, below, carry), carry);
  }
  return result;
}

TreeValue epifold::ptx::mergeSequence(KernelBuilder &b, const Tree &tree,
                                      TypeRange types, Value count,
                                      function_ref<TreeValue(Value)> node) {
  IntegerAttr constant;
  bool isStatic = matchPattern(count, m_Constant(&constant));
  if (isStatic && constant.getInt() == 1)
    return node(b.i64(0));
  unsigned levels = isStatic ? llvm::Log2_64(constant.getInt()) + 1 : 20;

  KernelBuilder::Values pending;
  for (unsigned level = 0; level < levels; ++level)
    for (Type type : types)
      pending.push_back(b.constant(type, 0));
  pending = b.forLoop(b.i64(0), count, b.i64(1), pending,
                      [&](Value index, ValueRange carried) {
                        return countUp(b, tree, carried, index, node(index));
                      });

  // The set bits of the count are the subtrees that found no partner: from the
  // smallest, which comes last, upwards.
  TreeValue result;
  Value started = b.i1(false);
  for (unsigned level = 0; level < levels; ++level) {
    TreeValue below(
        ValueRange(pending).slice(level * tree.components, tree.components));
    Value isSet =
        b.ne(b.bitAnd(b.shiftRight(count, level), b.i64(1)), b.i64(0));
    if (result.empty()) {
      result = below;
      started = isSet;
      continue;
    }
    TreeValue merged = mergeIf(b, tree, started, below, result);
    result = selectNode(b, isSet, merged, result);
    started = b.bitOr(started, isSet);
  }
  return result;
}
