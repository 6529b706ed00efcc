// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the epilogue of a product: extras in, region, outs out.

#include "backends/ptx/gemm/GemmEpilogue.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
/// The dimensions of a product's indexing maps.
enum : unsigned { kGroupDim, kRowDim, kColumnDim };
} // namespace

GemmEpilogue::GemmEpilogue(KernelBuilder &b, const GemmProblem &problem,
                           const GemmTile &tile,
                           const AccumulatorLayout &layout)
    : b(b), problem(problem), tile(tile), layout(layout),
      isFull(layout.isFull) {
  kernel::GemmOp op = problem.op;
  for (auto [i, map] :
       llvm::enumerate(op.getIndexingMaps().getAsValueRange<AffineMapAttr>())) {
    bool isExtra = i < op.getExtras().size();
    unsigned operand = isExtra ? problem.firstExtra + i
                               : problem.firstOut + i - op.getExtras().size();
    (isExtra ? extras : outs).push_back(describe(operand, map));
  }
}

GemmEpilogue::Access GemmEpilogue::describe(unsigned operand, AffineMap map) {
  Access access{operand, map, movementAlong(map, kRowDim),
                movementAlong(map, kColumnDim), false};
  access.isVector = guardedColumns() > 1 &&
                    storesRuns(b.tensorType(operand), map, layout.runLength);
  return access;
}

bool GemmEpilogue::storesRuns(RankedTensorType type, AffineMap map,
                              int64_t columns) {
  return movementAlong(map, kColumnDim) == Movement::Contiguous &&
         vectorAlignment(type, map, kColumnDim, columns) == columns;
}

bool GemmEpilogue::hasEvenRows(AffineMap map) {
  return movementAlong(map, kRowDim) != Movement::Other;
}

Value GemmEpilogue::rowStride(KernelBuilder &b, unsigned operand,
                              AffineMap map) {
  return strideAlong(b, operand, map, kRowDim);
}

bool GemmEpilogue::dependsOnRowAlone(AffineMap map) {
  return movementAlong(map, kColumnDim) == Movement::None;
}

/// The offset of the thread's first column, from which the others follow by
/// constants when the column moves linearly.
Value GemmEpilogue::rowOffset(const Access &access, Value row) {
  if (access.alongColumn == Movement::Other)
    return {};
  return elementOffset(b, access.operand, access.map,
                       {tile.group, row, layout.column}, tile.group);
}

Value GemmEpilogue::offsetAt(const Access &access, Value rowOffset, Value row,
                             int64_t run, int64_t lane) {
  if (access.alongColumn == Movement::Other)
    return elementOffset(b, access.operand, access.map,
                         {tile.group, row, columnAt(run, lane)}, tile.group);
  Value stride = strideAlong(b, access.operand, access.map, kColumnDim);
  return b.add(rowOffset, b.mul(stride, b.i64(layout.runs[run] + lane)));
}

GemmEpilogue::Values GemmEpilogue::loadRun(const Access &access,
                                           Value rowOffset, Value row,
                                           int64_t run, int64_t lane,
                                           int64_t count) {
  Type element = b.elementType(access.operand);
  if (access.isVector)
    return b.loadVector(
        element,
        b.elementPointer(b.pointer(access.operand), element,
                         offsetAt(access, rowOffset, row, run, lane)),
        count);
  Values values;
  for (int64_t i : llvm::seq(count))
    values.push_back(b.loadElement(
        access.operand, offsetAt(access, rowOffset, row, run, lane + i)));
  return values;
}

/// Loads what depends on the column alone before any store, as a store might
/// otherwise have changed it for all that LLVM knows. A run outside the product
/// reads the tile's first columns. A thread with many columns has no registers
/// for that, nor many rows to share the values.
void GemmEpilogue::loadColumnVectors() {
  columnVectors.assign(extras.size(), {});
  constexpr int64_t kMostColumns = 16;
  if (int64_t(layout.runs.size()) * layout.runLength > kMostColumns)
    return;
  for (auto [access, runs] : llvm::zip(extras, columnVectors)) {
    if (access.alongRow != Movement::None ||
        access.alongColumn == Movement::None)
      continue;
    for (int64_t run : llvm::seq(layout.runs.size())) {
      Values &values = runs.emplace_back();
      int64_t step = access.isVector ? layout.runLength : 1;
      for (int64_t lane = 0; lane < layout.runLength; lane += step) {
        Value column = columnAt(run, lane);
        Value safe = b.select(isInside(column), column, tile.column);
        Value offset = elementOffset(b, access.operand, access.map,
                                     {tile.group, b.i64(0), safe}, tile.group);
        Type element = b.elementType(access.operand);
        llvm::append_range(
            values, b.loadVector(element,
                                 b.elementPointer(b.pointer(access.operand),
                                                  element, offset),
                                 step));
      }
    }
  }
}

/// A row outside reads the tile's first one.
Value GemmEpilogue::knownNumberOf(int64_t row) {
  Value number = numberOf(row);
  return b.select(b.lt(number, tile.rowEnd), number, tile.row);
}

void GemmEpilogue::loadRowValues() {
  constexpr size_t kMostRows = 4;
  if (layout.rows.size() > kMostRows)
    return;
  for (int64_t row : llvm::seq(layout.rows.size())) {
    Values &values = rowValues.emplace_back();
    for (const Access &access : extras)
      values.push_back(
          access.alongColumn == Movement::None
              ? b.loadElement(access.operand,
                              rowOffset(access, knownNumberOf(row)))
              : Value());
  }
}

GemmEpilogue::Row GemmEpilogue::openRow(int64_t row, Value number) {
  Row place;
  place.number = number;
  for (const Access &access : llvm::concat<const Access>(extras, outs))
    place.offsets.push_back(rowOffset(access, place.number));
  for (auto [i, access] : llvm::enumerate(extras)) {
    Value value;
    if (access.alongColumn == Movement::None)
      value = rowValues.empty()
                  ? b.loadElement(access.operand, place.offsets[i])
                  : rowValues[row][i];
    place.values.push_back(value);
  }
  return place;
}

/// Each out's values of `count` columns from lane `lane` of a run on.
SmallVector<GemmEpilogue::Values>
GemmEpilogue::computePiece(const Row &place, int64_t row, int64_t run,
                           int64_t lane, int64_t count,
                           AccumulatorAt accumulator) {
  SmallVector<Values> loaded(extras.size()), results(outs.size());
  for (auto [i, access] : llvm::enumerate(extras)) {
    if (place.values[i])
      loaded[i].assign(count, place.values[i]);
    else if (!columnVectors[i].empty())
      loaded[i] =
          llvm::to_vector(ArrayRef(columnVectors[i][run]).slice(lane, count));
    else
      loaded[i] =
          loadRun(access, place.offsets[i], place.number, run, lane, count);
  }
  for (int64_t column : llvm::seq(count)) {
    Values arguments;
    for (int64_t product : llvm::seq(problem.products))
      arguments.push_back(accumulator(product, row, run, lane + column));
    for (Values &values : loaded)
      arguments.push_back(values[column]);
    for (auto [out, value] :
         llvm::enumerate(b.inlineRegion(problem.op.getEpilogue(), arguments)))
      results[out].push_back(value);
  }
  return results;
}

void GemmEpilogue::storePiece(const Row &place, int64_t run, int64_t lane,
                              int64_t count, ArrayRef<Values> results) {
  for (auto [i, access] : llvm::enumerate(outs)) {
    Value rowOffset = place.offsets[extras.size() + i];
    Type element = b.elementType(access.operand);
    int64_t step = access.isVector ? count : 1;
    for (int64_t first = 0; first < count; first += step) {
      Value offset =
          offsetAt(access, rowOffset, place.number, run, lane + first);
      b.storeVector(
          ArrayRef(results[i]).slice(first, step),
          b.elementPointer(b.pointer(access.operand), element, offset));
    }
  }
}

SmallVector<GemmEpilogue::Values>
GemmEpilogue::compute(int64_t row, int64_t run, AccumulatorAt accumulator) {
  isFull = true;
  columnVectors.resize(extras.size());
  return computePiece(openRow(row, knownNumberOf(row)), row, run, 0,
                      layout.runLength, accumulator);
}

GemmEpilogue::Values GemmEpilogue::offsetsOfOuts(int64_t row) {
  Values offsets;
  for (const Access &access : outs)
    offsets.push_back(rowOffset(access, numberOf(row)));
  return offsets;
}

void GemmEpilogue::emitRow(int64_t row, AccumulatorAt accumulator) {
  Value number = numberOf(row);
  b.ifThen(b.lt(number, tile.rowEnd), [&] {
    Row place = openRow(row, number);
    int64_t count = guardedColumns();
    for (int64_t run : llvm::seq(layout.runs.size()))
      for (int64_t lane = 0; lane < layout.runLength; lane += count)
        b.ifThen(isInside(columnAt(run, lane)), [&] {
          storePiece(place, run, lane, count,
                     computePiece(place, row, run, lane, count, accumulator));
        });
  });
}

void GemmEpilogue::emit(AccumulatorAt accumulator) {
  isFull = layout.isFull;
  loadColumnVectors();
  for (int64_t row : llvm::seq(layout.rows.size()))
    emitRow(row, accumulator);
}
