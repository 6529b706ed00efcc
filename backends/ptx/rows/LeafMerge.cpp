// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the merges of a norm's statistics.

#include "backends/ptx/rows/LeafMerge.h"

#include "backends/ptx/rows/RowTeam.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// A warp takes 16 rows of the leaf: lane bits 2 … 4 are row bits 0 … 2, the
/// thread itself holds row bit 3.
static constexpr int64_t kWarpRows = 16, kRowPair = 8;
static constexpr int64_t kLanes = 32;
/// Components of a stored leaf.
static constexpr int64_t kComponents = 3;

//===--- Places
//----------------------------------------------------------------------------------------------------===//

/// The smaller of what is left after `done` and a leaf, as i32.
static Value leftInLeaf(KernelBuilder &b, Value size, Value done) {
  IntegerAttr constant;
  if (matchPattern(size, m_Constant(&constant)) &&
      constant.getInt() % kernel::kLeaf == 0)
    return b.i32(kernel::kLeaf);
  return b.toI32(b.min(b.sub(size, done), b.i64(kernel::kLeaf)));
}

LeafPlace epifold::ptx::leafNumbered(KernelBuilder &b, const LeafShape &shape,
                                     Value number) {
  auto size = [&](unsigned dim) { return b.size(shape.operand, dim); };
  Value leafColumn = b.rem(number, size(3)), rest = b.div(number, size(3));
  Value leafRow = b.rem(rest, size(2));
  rest = b.div(rest, size(2));
  Value group = b.rem(rest, size(1)), sample = b.div(rest, size(1));
  Value groupColumns = b.div(shape.columns, b.i64(shape.groups));
  Value row = b.mul(leafRow, b.i64(kernel::kLeaf)),
        column = b.mul(leafColumn, b.i64(kernel::kLeaf));
  return {number, b.add(b.mul(sample, shape.rows), row),
          b.add(b.mul(group, groupColumns), column),
          leftInLeaf(b, shape.rows, row), leftInLeaf(b, groupColumns, column)};
}

LeafPlace epifold::ptx::leafAt(KernelBuilder &b, const LeafShape &shape,
                               Value row, Value column) {
  auto size = [&](unsigned dim) { return b.size(shape.operand, dim); };
  Value groupColumns = b.div(shape.columns, b.i64(shape.groups));
  Value sample = b.div(row, shape.rows), inSample = b.rem(row, shape.rows);
  Value group = b.div(column, groupColumns),
        inGroup = b.rem(column, groupColumns);
  Value number = b.add(b.mul(sample, size(1)), group);
  for (auto [dim, first] : {std::pair(2, inSample), std::pair(3, inGroup)})
    number =
        b.add(b.mul(number, size(dim)), b.div(first, b.i64(kernel::kLeaf)));
  return {number, row, column, leftInLeaf(b, shape.rows, inSample),
          leftInLeaf(b, groupColumns, inGroup)};
}

//===--- Loaders
//---------------------------------------------------------------------------------------------------===//

LeafInMemory::LeafInMemory(KernelBuilder &b, unsigned operand,
                           const LeafPlace &place, Value columns, int64_t width)
    : b(b), operand(operand), place(place), columns(columns),
      start(b.add(b.mul(place.row, columns), place.column)), width(width) {}

/// An element that does not exist is read from the leaf's first place.
KernelBuilder::Values LeafInMemory::operator()(Value row, Value column) {
  Type element = b.elementType(operand);
  Value rowExists = b.lt(row, place.rowsLeft);
  Value remaining = b.sub(place.columnsLeft, column);
  Value first = b.add(b.mul(b.toI64(row), columns), b.toI64(column));
  KernelBuilder::Values values;
  for (unsigned i = 0; i < kThreadElements; i += width) {
    Value exists =
        b.logicalAnd(rowExists, b.lt(b.i32(threadColumn(i)), remaining));
    Value offset =
        b.select(exists, b.add(first, b.i64(threadColumn(i))), b.i64(0));
    Value pointer =
        b.elementPointer(b.pointer(operand), element, b.add(start, offset));
    for (Value value : b.loadVector(element, pointer, width))
      values.push_back(b.extend(value));
  }
  return values;
}

static int64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

int64_t LeafInShared::bytes(Type element) {
  return kernel::kLeaf * kernel::kLeaf * bytesOf(element);
}

Value LeafInShared::pointerTo(Value row, Value column) {
  constexpr int64_t kPieceBytes = 16, kSwizzledLines = 8;
  Value inRow = b.mul(column, b.i32(bytesOf(element)));
  Value piece = b.bitXor(b.div(inRow, b.i32(kPieceBytes)),
                         b.rem(row, b.i32(kSwizzledLines)));
  Value byte = b.add(b.mul(row, b.i32(kernel::kLeaf * bytesOf(element))),
                     b.add(b.mul(piece, b.i32(kPieceBytes)),
                           b.rem(inRow, b.i32(kPieceBytes))));
  return b.elementPointer(memory, b.getI8Type(), byte);
}

void LeafInShared::store(Value row, Value column, ValueRange values) {
  b.storeVector(values, pointerTo(row, column));
}

KernelBuilder::Values LeafInShared::operator()(Value row, Value column) {
  KernelBuilder::Values values;
  for (unsigned i = 0; i < kThreadElements; i += 2)
    for (Value value : b.loadVector(
             element, pointerTo(row, b.add(column, b.i32(threadColumn(i)))), 2))
      values.push_back(b.extend(value));
  return values;
}

//===--- A leaf
//----------------------------------------------------------------------------------------------------===//

SmallVector<Type> epifold::ptx::statisticsTypes(Type element) {
  return SmallVector<Type>(statisticsTree.components,
                           kernel::getComputeType(element));
}

TreeValue epifold::ptx::mergeLeaf(KernelBuilder &b, const LeafPlace &place,
                                  Value warp, WarpMerger &warps,
                                  LeafLoader load) {
  Value lane = b.laneId();
  Value row = b.add(b.mul(warp, b.i32(kWarpRows)), b.shiftRight(lane, 2));
  Value pairRow = b.add(row, b.i32(kRowPair));
  Value column = b.shiftLeft(b.bitAnd(lane, b.i32(3)), 1);
  Value remaining = b.sub(place.columnsLeft, column);
  auto nodesOf = [&](Value ofRow) {
    return llvm::map_to_vector(load(ofRow, column),
                               [&](Value x) { return singleStatistics(b, x); });
  };
  SmallVector<TreeValue> loElements = nodesOf(row),
                         hiElements = nodesOf(pairRow);

  // Full leaves have constant counts and so no divisions.
  auto mergeWarp = [&](bool isFull) {
    Value columnsHere = isFull ? Value() : remaining;
    auto below = [&](Value position, Value limit) {
      return isFull ? Value() : b.lt(position, limit);
    };
    TreeValue lo =
        mergeThreadElements(b, statisticsTree, loElements, columnsHere);
    TreeValue hi =
        mergeThreadElements(b, statisticsTree, hiElements, columnsHere);
    TreeValue node =
        mergeIf(b, statisticsTree, below(pairRow, place.rowsLeft), lo, hi);
    for (int64_t mask : {1, 2})
      node = mergeLanes(b, statisticsTree, node, mask,
                        below(b.i32(2 * mask), remaining));
    for (int64_t distance : {1, 2, 4})
      node = mergeLanes(b, statisticsTree, node, 4 * distance,
                        below(b.add(row, b.i32(distance)), place.rowsLeft));
    return node;
  };
  Value leaf = b.i32(kernel::kLeaf);
  Value isFull =
      b.logicalAnd(b.eq(place.rowsLeft, leaf), b.eq(place.columnsLeft, leaf));
  if (matchPattern(isFull, m_One()))
    return warps.merge(mergeWarp(true), nullptr);
  TreeValue node = b.ifElse(
      isFull, [&] { return mergeWarp(true); },
      [&] { return mergeWarp(false); });
  return warps.merge(node, [&](Value w) {
    return b.lt(b.mul(w, b.i32(kWarpRows)), place.rowsLeft);
  });
}

void epifold::ptx::storeLeaf(KernelBuilder &b, unsigned operand,
                             const LeafPlace &place, const TreeValue &node) {
  for (auto [i, value] : llvm::enumerate(node))
    b.storeElement(b.round(value, b.elementType(operand)), operand,
                   b.add(b.mul(place.number, b.i64(kComponents)), b.i64(i)));
}

//===--- A sample
//--------------------------------------------------------------------------------------------------===//

SampleMerger::SampleMerger(KernelBuilder &b, unsigned operand, int64_t threads)
    : b(b), operand(operand), warps(threads / kLanes),
      types(statisticsTypes(b.elementType(operand))),
      warpMerger(b, statisticsTree, types, warps, warps) {}

/// A warp merges a leaf row, 32 leaves at a time.
TreeValue SampleMerger::mergeLeafRow(Value firstLeaf, Value leafRow) {
  Value leafColumns = b.size(operand, 3), lane = b.toI64(b.laneId());
  Value rowStart = b.add(firstLeaf, b.mul(leafRow, leafColumns));
  return mergeSequence(
      b, statisticsTree, types, b.ceilDiv(leafColumns, kLanes),
      [&](Value step) {
        Value column = b.add(b.mul(step, b.i64(kLanes)), lane);
        Value safeColumn =
            b.select(b.lt(column, leafColumns), column, b.i64(0));
        Value start = b.mul(b.add(rowStart, safeColumn), b.i64(kComponents));
        TreeValue node;
        for (int64_t i : llvm::seq(kComponents))
          node.push_back(
              b.extend(b.loadElement(operand, b.add(start, b.i64(i)))));
        for (int64_t distance = 1; distance < kLanes; distance *= 2)
          node = mergeLanes(b, statisticsTree, node, distance,
                            b.lt(b.add(column, b.i64(distance)), leafColumns));
        return node;
      });
}

KernelBuilder::Values SampleMerger::merge(Value number, double epsilon) {
  Value leafRows = b.size(operand, 2);
  Value firstLeaf = b.mul(number, b.mul(leafRows, b.size(operand, 3)));
  Value warp = b.toI64(b.warpId());
  // The block takes as many leaf rows at a time as it has warps.
  TreeValue node = mergeSequence(
      b, statisticsTree, types, b.ceilDiv(leafRows, warps), [&](Value step) {
        Value firstRow = b.mul(step, b.i64(warps)), row = b.add(firstRow, warp);
        Value safeRow = b.select(b.lt(row, leafRows), row, b.i64(0));
        return warpMerger.merge(mergeLeafRow(firstLeaf, safeRow), [&](Value w) {
          return b.lt(b.add(firstRow, b.toI64(w)), leafRows);
        });
      });
  return broadcast(b, finishStatistics(b, node, epsilon), b.i32(0));
}
