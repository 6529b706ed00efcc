// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the reading and reducing of rows by teams of threads.

#include "backends/ptx/rows/RowTeam.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

TreeValue
epifold::ptx::mergeThreadElements(KernelBuilder &b, const Tree &tree,
                                  const SmallVector<TreeValue> &elements,
                                  Value remaining) {
  auto full = [&] { return mergeThread(b, tree, elements, nullptr); };
  auto ragged = [&] {
    return mergeThread(b, tree, elements, [&](unsigned i) {
      return b.lt(b.i32(threadColumn(i)), remaining);
    });
  };
  if (!remaining)
    return full();
  if (!tree.isDear)
    return ragged();
  // Full leaves, nearly all of a long row, have constant counts and so no
  // divisions.
  Value isFull = b.lt(b.i32(threadColumn(elements.size() - 1)), remaining);
  return b.ifElse(isFull, full, ragged);
}

int64_t epifold::ptx::getRowAccessWidth(int64_t columns) {
  return !ShapedType::isDynamic(columns) && columns % 2 == 0 ? 2 : 1;
}

RowTeamShape RowTeamShape::get(int64_t columns) {
  constexpr int64_t maxLeaves = kBlockThreads / 4;
  if (ShapedType::isDynamic(columns))
    return {maxLeaves};
  int64_t leaves =
      std::max<int64_t>(llvm::divideCeil(columns, kernel::kLeaf), 1);
  return {std::min<int64_t>(llvm::PowerOf2Ceil(leaves), maxLeaves)};
}

static int64_t countColumns(KernelBuilder &b, unsigned operand) {
  return b.tensorType(operand).getShape().back();
}

static Value firstRowOfBlock(KernelBuilder &b) {
  int64_t rows = RowTeamShape::get(countColumns(b, 0)).getRowsPerBlock();
  return b.mul(b.toI64(b.blockId()), b.i64(rows));
}

RowTeam::RowTeam(KernelBuilder &b)
    : RowTeam(b, 0, b.size(0, 0), firstRowOfBlock(b)) {
  b.setGrid(b.gridSize(0, 0).ceilDiv(shape.getRowsPerBlock()));
}

RowTeam::RowTeam(KernelBuilder &b, unsigned operand)
    : RowTeam(b, operand, b.i64(1), b.i64(0)) {}

RowTeam::RowTeam(KernelBuilder &b, unsigned operand, Value rows, Value firstRow)
    : b(b), operand(operand),
      shape(RowTeamShape::get(countColumns(b, operand))), rows(rows),
      firstRow(firstRow) {
  computeType = kernel::getComputeType(b.elementType(operand));
  columns = b.size(operand, b.tensorType(operand).getRank() - 1);

  Value thread = b.threadId();
  Value team = b.toI64(b.div(thread, b.i32(shape.getThreads())));
  row = b.add(firstRow, team);
  rowExists = b.lt(row, rows);
  row = b.select(rowExists, row, b.i64(0));
  rowStart = b.mul(row, columns);

  Value member = b.rem(thread, b.i32(shape.getThreads()));
  quarter = b.bitAnd(member, b.i32(3));
  leaf = b.toI64(b.shiftRight(member, 2));
  leader = b.logicalAnd(rowExists, b.eq(member, b.i32(0)));

  int64_t stepColumns = kernel::kLeaf * shape.leaves;
  steps = b.ceilDiv(columns, stepColumns);
  int64_t staticColumns = countColumns(b, operand);
  if (!ShapedType::isDynamic(staticColumns)) {
    isFullLeaf = staticColumns % kernel::kLeaf == 0;
    isFullStep = staticColumns % stepColumns == 0;
    isOneStep = staticColumns <= stepColumns;
    accessWidth = getRowAccessWidth(staticColumns);
  }
}

RowTeam::Piece RowTeam::piece(Value step) {
  Piece piece;
  piece.leaf = b.add(b.mul(step, b.i64(shape.leaves)), leaf);
  Value start = b.add(b.mul(piece.leaf, b.i64(kernel::kLeaf)),
                      b.toI64(b.shiftLeft(quarter, 1)));
  piece.start = start;
  if (isFullStep)
    return piece;
  piece.start = b.select(b.lt(start, columns), start, b.i64(0));
  // A leaf past the row's end is never merged, so only leaves that are cut need
  // their elements watched.
  if (!isFullLeaf)
    piece.remaining =
        b.toI32(b.max(b.min(b.sub(columns, start), b.i64(kernel::kLeaf)),
                      b.i64(-kernel::kLeaf)));
  return piece;
}

Value RowTeam::exists(const Piece &piece, unsigned element) {
  if (piece.remaining)
    return b.lt(b.i32(threadColumn(element)), piece.remaining);
  if (isFullStep)
    return b.i1(true);
  return b.lt(b.mul(piece.leaf, b.i64(kernel::kLeaf)), columns);
}

void RowTeam::forEachPiece(function_ref<void(const Piece &)> body) {
  if (isOneStep)
    return body(piece(b.i64(0)));
  b.forLoop(b.i64(0), steps, b.i64(1), [&](Value step) { body(piece(step)); });
}

KernelBuilder::Values RowTeam::load(const Piece &piece) {
  if (isOneStep && !loaded.empty())
    return loaded;
  Type type = b.elementType(operand);
  Value base =
      b.elementPointer(b.pointer(operand), type, b.add(rowStart, piece.start));
  KernelBuilder::Values values;
  for (unsigned i = 0; i < kThreadElements; i += accessWidth) {
    Value offset = b.i32(threadColumn(i));
    if (piece.remaining)
      offset = b.select(exists(piece, i), offset, b.i32(0));
    Value pointer = b.elementPointer(base, type, b.toI64(offset));
    for (Value value : b.loadVector(type, pointer, accessWidth))
      values.push_back(b.extend(value));
  }
  if (isOneStep)
    loaded = values;
  return values;
}

void RowTeam::store(const KernelBuilder::Values &values, const Piece &piece,
                    unsigned to) {
  Type type = b.elementType(to);
  Value base =
      b.elementPointer(b.pointer(to), type, b.add(rowStart, piece.start));
  for (unsigned i = 0; i < kThreadElements; i += accessWidth)
    b.ifThen(b.logicalAnd(rowExists, exists(piece, i)), [&] {
      KernelBuilder::Values rounded;
      for (Value value : ValueRange(values).slice(i, accessWidth))
        rounded.push_back(b.round(value, type));
      b.storeVector(rounded,
                    b.elementPointer(base, type, b.i64(threadColumn(i))));
    });
}

TreeValue
RowTeam::reduce(const Tree &tree,
                function_ref<SmallVector<TreeValue>(const Piece &)> nodes) {
  SmallVector<Type> types(tree.components, computeType);
  int64_t warps = RowTeamShape::kBlockThreads / 32,
          laneLeaves = std::min<int64_t>(shape.leaves, 8);
  WarpMerger warpMerger(b, tree, types, warps, shape.getWarps());
  Value leaves = b.ceilDiv(columns, kernel::kLeaf);

  TreeValue result = mergeSequence(b, tree, types, steps, [&](Value step) {
    Piece place = piece(step);
    TreeValue node =
        mergeThreadElements(b, tree, nodes(place), place.remaining);
    for (int64_t mask : {1, 2})
      node = mergeLanes(b, tree, node, mask,
                        place.remaining ? b.lt(b.i32(2 * mask), place.remaining)
                                        : Value());
    for (int64_t distance = 1; distance < laneLeaves; distance *= 2)
      node = mergeLanes(b, tree, node, 4 * distance,
                        isFullStep
                            ? Value()
                            : b.lt(b.add(place.leaf, b.i64(distance)), leaves));
    auto warpExists = [&](Value warp) {
      if (isFullStep)
        return b.i1(true);
      Value first = b.add(b.mul(step, b.i64(shape.leaves)),
                          b.toI64(b.shiftLeft(warp, 3)));
      return b.lt(first, leaves);
    };
    return warpMerger.merge(node, warpExists);
  });
  int64_t teamLanes = std::min<int64_t>(shape.getThreads(), 32);
  return broadcast(b, result, b.bitAnd(b.laneId(), b.i32(~(teamLanes - 1))));
}

static Value larger(KernelBuilder &b, Value a, Value c) {
  return b.select(arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, a, c), a,
                  c);
}

Value RowTeam::maximum() {
  Tree tree = {1,
               [](KernelBuilder &b, ValueRange lo, ValueRange hi) {
                 return TreeValue{larger(b, lo[0], hi[0])};
               },
               /*isDear=*/false};
  return reduce(tree,
                [&](const Piece &piece) {
                  SmallVector<TreeValue> nodes;
                  for (Value x : load(piece))
                    nodes.push_back({x});
                  return nodes;
                })
      .front();
}
