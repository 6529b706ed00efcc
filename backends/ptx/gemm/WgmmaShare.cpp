// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lines, rows and columns of a warpgroup and its threads.

#include "backends/ptx/gemm/WgmmaShare.h"

#include "backends/ptx/gemm/WgmmaOperands.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kLanes = 4;           // that share a row
static constexpr int64_t kFragmentColumns = 8; // of which each has two
static constexpr int64_t kRunFragments = 4;    // of permuted columns
static constexpr int64_t kWarpRows = 16, kHalfRows = 8;

Value WgmmaShare::firstRow() {
  if (schedule.swapsOperands || schedule.rowUnits == 1)
    return b.i64(0);
  Value unit = b.div(consumer, b.i32(schedule.columnUnits));
  return b.toI64(b.mul(unit, b.i32(kRows)));
}

Value WgmmaShare::firstColumn() {
  if (schedule.columnUnits == 1)
    return b.i64(0);
  Value unit = b.rem(consumer, b.i32(schedule.columnUnits));
  return b.toI64(b.mul(unit, b.i32(columns())));
}

/// The B's lie one after the other in a stage: a warpgroup that has all columns
/// multiplies A by all of them in one instruction.
SmallVector<WgmmaShare::Matrix> WgmmaShare::matrices() {
  Value rowUnit = b.div(consumer, b.i32(schedule.columnUnits));
  Value columnUnit = b.rem(consumer, b.i32(schedule.columnUnits));
  Value rows = b.mul(rowUnit, b.i32(kRows));
  auto lineOfB = [&](int64_t product, Value column) {
    int64_t first = schedule.tileRows + product * schedule.tileColumns;
    return b.add(b.i32(first), column);
  };
  SmallVector<Matrix> result;
  if (!schedule.swapsOperands && schedule.columnUnits == 1) {
    result.push_back(
        {problem.products * schedule.tileColumns, rows, lineOfB(0, b.i32(0))});
    return result;
  }
  for (int64_t product : llvm::seq(problem.products)) {
    Value line = lineOfB(product, b.mul(columnUnit, b.i32(columns())));
    if (schedule.swapsOperands)
      result.push_back({schedule.tileRows, line, b.i32(0)});
    else
      result.push_back({columns(), rows, line});
  }
  return result;
}

int64_t WgmmaShare::countAccumulators() {
  int64_t count = 0;
  for (const Matrix &matrix : matrices())
    count += matrix.count * kRows / kThreads;
  return count;
}

/// i32 number of the calling warp in its warpgroup.
Value WgmmaShare::warp() {
  return b.div(b.rem(b.threadId(), b.i32(kThreads)), b.i32(32));
}

/// Warp w of a group holds its rows 16 w ...; lane l of it holds rows l / 4 and
/// l / 4 + 8, and of each 32 columns the run l mod 4, or, where columns are not
/// permuted, of each 8.
AccumulatorLayout WgmmaShare::layoutOfRows(const GemmTile &tile) {
  AccumulatorLayout layout;
  layout.runLength =
      2 *
      (WgmmaOperands::permutesColumns(problem, schedule) ? kRunFragments : 1);
  Value row =
      b.add(b.toI32(firstRow()), b.add(b.mul(warp(), b.i32(kWarpRows)),
                                       b.div(b.laneId(), b.i32(kLanes))));
  for (int64_t half : {int64_t(0), kHalfRows})
    layout.rows.push_back(b.toI64(b.add(row, b.i32(half))));
  Value column =
      b.mul(b.rem(b.laneId(), b.i32(kLanes)), b.i32(layout.runLength));
  layout.column = b.add(b.add(tile.column, firstColumn()), b.toI64(column));
  for (int64_t run = 0; run < columns(); run += kLanes * layout.runLength)
    layout.runs.push_back(run);
  return layout;
}

/// With swapped operands the same for columns: lane l holds columns l / 4 and
/// l / 4 + 8 of the warp's sixteen, and of each eight rows 2 (l mod 4) and the
/// next one.
AccumulatorLayout WgmmaShare::layoutOfColumns(const GemmTile &tile) {
  AccumulatorLayout layout;
  Value row = b.mul(b.rem(b.laneId(), b.i32(kLanes)), b.i32(2));
  for (int64_t first = 0; first < schedule.tileRows; first += kFragmentColumns)
    for (int64_t next : {0, 1})
      layout.rows.push_back(b.toI64(b.add(row, b.i32(first + next))));
  Value unit = b.rem(consumer, b.i32(schedule.columnUnits));
  Value column =
      b.add(b.mul(unit, b.i32(kRows)), b.add(b.mul(warp(), b.i32(kWarpRows)),
                                             b.div(b.laneId(), b.i32(kLanes))));
  layout.column = b.add(tile.column, b.toI64(column));
  layout.runs = {0, kHalfRows};
  layout.runLength = 1;
  return layout;
}

AccumulatorLayout WgmmaShare::layout(const GemmTile &tile) {
  AccumulatorLayout layout =
      schedule.swapsOperands ? layoutOfColumns(tile) : layoutOfRows(tile);
  layout.isFull = problem.columns % schedule.tileColumns == 0;
  return layout;
}

/// Four accumulators a fragment: two neighbours along the instruction's
/// columns, then the same eight rows further.
int64_t WgmmaShare::indexOf(const AccumulatorLayout &layout, int64_t product,
                            int64_t row, int64_t run, int64_t lane) {
  int64_t lines = schedule.swapsOperands ? schedule.tileRows : columns();
  int64_t ofProduct = lines * kRows / kThreads;
  int64_t inProduct =
      schedule.swapsOperands
          ? row / 2 * 4 + run * 2 + row % 2
          : (run * layout.runLength / 2 + lane / 2) * 4 + row * 2 + lane % 2;
  return product * ofProduct + inProduct;
}
