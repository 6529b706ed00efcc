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
                    access.alongColumn == Movement::Contiguous &&
                    vectorAlignment(b.tensorType(operand), map, kColumnDim,
                                    layout.runLength) == layout.runLength;
  return access;
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
void GemmEpilogue::loadRowValues() {
  constexpr size_t kMostRows = 4;
  if (layout.rows.size() > kMostRows)
    return;
  for (Value rowInTile : layout.rows) {
    Value row = b.add(tile.row, rowInTile);
    Value known = b.select(b.lt(row, tile.rowEnd), row, tile.row);
    Values &values = rowValues.emplace_back();
    for (const Access &access : extras)
      values.push_back(
          access.alongColumn == Movement::None
              ? b.loadElement(access.operand, rowOffset(access, known))
              : Value());
  }
}

GemmEpilogue::Row GemmEpilogue::openRow(int64_t row) {
  Row place;
  place.number = b.add(tile.row, layout.rows[row]);
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

void GemmEpilogue::emitRow(int64_t row, AccumulatorAt accumulator) {
  Value number = b.add(tile.row, layout.rows[row]);
  b.ifThen(b.lt(number, tile.rowEnd), [&] {
    Row place = openRow(row);
    int64_t count = guardedColumns();
    for (int64_t run : llvm::seq(layout.runs.size()))
      for (int64_t lane = 0; lane < layout.runLength; lane += count)
        b.ifThen(isInside(columnAt(run, lane)), [&] {
          storePiece(place, run, lane, count,
                     computePiece(place, row, run, lane, count, accumulator));
        });
  });
}

/// Runs outside, rows inside: what depends on the column alone is the same for
/// all rows of a round.
void GemmEpilogue::emit(AccumulatorAt accumulator, RoundStore &store) {
  isFull = true;
  loadColumnVectors();
  SmallVector<Row> places;
  for (int64_t row : llvm::seq(layout.rows.size()))
    places.push_back(openRow(row));
  int64_t rounds = int64_t(layout.runs.size()) / store.runsOfRound();
  for (int64_t round : llvm::seq(rounds)) {
    store.beginRound(round);
    for (int64_t i : llvm::seq(store.runsOfRound()))
      for (int64_t row : llvm::seq(layout.rows.size())) {
        int64_t run = round * store.runsOfRound() + i;
        store.put(row, run,
                  computePiece(places[row], row, run, 0, layout.runLength,
                               accumulator)
                      .front());
      }
    store.endRound(round);
  }
}

void GemmEpilogue::emit(AccumulatorAt accumulator) {
  isFull = layout.isFull;
  loadColumnVectors();
  for (int64_t row : llvm::seq(layout.rows.size()))
    emitRow(row, accumulator);
}
