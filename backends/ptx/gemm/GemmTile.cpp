// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Grid, raster and addresses of a product's tiles.

#include "backends/ptx/gemm/GemmTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

//===--- Tiles of the grid
//-----------------------------------------------------------------------------------------===//

/// Rows of the outs, as the host and as the device see them: all groups' rows
/// together where they are ragged.
static AffineExpr gridRows(KernelBuilder &b, const GemmProblem &problem) {
  if (problem.hasGather)
    return b.gridSize(problem.gather, 0);
  if (problem.isConvolution)
    return b.gridSize(problem.a, 0) * b.gridSize(problem.a, 1);
  return b.gridSize(problem.a, problem.hasGroupedA ? 1 : 0);
}
static Value deviceRows(KernelBuilder &b, const GemmProblem &problem) {
  if (problem.hasGather)
    return b.size(problem.gather, 0);
  if (problem.isConvolution)
    return b.mul(b.size(problem.a, 0), b.size(problem.a, 1));
  return b.size(problem.a, problem.hasGroupedA ? 1 : 0);
}

static int64_t columnTilesOf(const GemmProblem &problem,
                             const GemmSchedule &schedule) {
  return llvm::divideCeil(problem.columns, schedule.tileColumns);
}

static bool searchesGroup(const GemmProblem &problem) {
  return problem.isRagged && !problem.hasGroup;
}

/// Blocks that stay count tiles of up to so many groups.
static constexpr int64_t kMostCountedGroups = 1024;

bool TileWalk::countsTiles(const GemmProblem &problem,
                           const GemmSchedule &schedule) {
  return searchesGroup(problem) && schedule.residentBlocks &&
         problem.groups <= kMostCountedGroups;
}

int64_t TileWalk::sharedBytes(const GemmProblem &problem,
                              const GemmSchedule &schedule) {
  return countsTiles(problem, schedule) ? (problem.groups + 1) * (8 + 4) : 0;
}

/// The number of row tiles of the groups before `group` (i32), in any case not
/// falling with it.
Value TileWalk::tilesBefore(Value group) {
  if (table)
    return b.load(b.getI32Type(),
                  b.elementPointer(table, b.getI32Type(), group));
  Value offset = loadOffset(b, problem.offsets, group);
  return b.toI32(
      b.add(b.div(offset, b.i64(schedule.tileRows)), b.toI64(group)));
}

Value TileWalk::rowsBefore(Value group) {
  if (table)
    return b.load(b.getI64Type(),
                  b.elementPointer(begins, b.getI64Type(), group));
  return loadOffset(b, problem.offsets, group);
}

/// The group of a row tile, and the tile's number in it.
std::pair<Value, Value> TileWalk::locateGroup(Value rowTile) {
  constexpr int64_t kMostByWarp = 512;
  Value group =
      problem.groups <= kMostByWarp || table
          ? findGroupByWarp(b, problem.groups, rowTile,
                            [&](Value group) { return tilesBefore(group); })
          : findGroup(b, problem.offsets, b.toI64(rowTile),
                      [&](Value offset, Value group) {
                        return b.add(b.div(offset, b.i64(schedule.tileRows)),
                                     b.toI64(group));
                      });
  return {group, b.toI64(b.sub(rowTile, tilesBefore(group)))};
}

/// Fills the tables, with the sums of all groups at their ends; a warp takes 32
/// groups at a time. Every thread returns the sum once a barrier has passed.
Value TileWalk::countTilesOfGroups(Value memory) {
  int64_t groups = problem.groups;
  begins = memory;
  table = b.elementPointer(memory, b.getI64Type(), b.i32(groups + 1));
  auto entry = [&](Value group) {
    return b.elementPointer(table, b.getI32Type(), group);
  };
  auto beginOf = [&](Value group) {
    return b.elementPointer(begins, b.getI64Type(), group);
  };
  b.ifThen(b.lt(b.threadId(), b.i32(32)), [&] {
    Value before = b.i32(0);
    for (int64_t base = 0; base < groups; base += 32) {
      Value group = b.add(b.laneId(), b.i32(base));
      Value known = b.min(group, b.i32(groups - 1));
      Value begin = loadOffset(b, problem.offsets, known);
      Value end = loadOffset(b, problem.offsets, b.add(known, b.i32(1)));
      Value count = b.toI32(b.ceilDiv(b.sub(end, begin), schedule.tileRows));
      count = b.select(b.lt(group, b.i32(groups)), count, b.i32(0));
      Value sum = count;
      for (int64_t distance = 1; distance < 32; distance *= 2) {
        Value other = b.shuffleUp(sum, distance);
        sum = b.add(
            sum, b.select(b.lt(b.laneId(), b.i32(distance)), b.i32(0), other));
      }
      b.ifThen(b.lt(group, b.i32(groups)), [&] {
        b.store(b.add(before, b.sub(sum, count)), entry(group));
        b.store(begin, beginOf(group));
      });
      before = b.add(before, b.shuffleFrom(sum, b.i32(31)));
    }
    b.ifThen(b.eq(b.laneId(), b.i32(0)), [&] {
      b.store(before, entry(b.i32(groups)));
      b.store(loadOffset(b, problem.offsets, b.i32(groups)),
              beginOf(b.i32(groups)));
    });
  });
  b.barrier();
  return b.load(b.getI32Type(), entry(b.i32(groups)));
}

/// A convolution's tiles of blocks that stay do not cross samples: then a tile
/// is a box of its input.
static bool staysInSample(const GemmProblem &problem,
                          const GemmSchedule &schedule) {
  return problem.isConvolution && schedule.residentBlocks;
}

TileWalk::TileWalk(KernelBuilder &b, const GemmProblem &problem,
                   const GemmSchedule &schedule, Value memory)
    : b(b), problem(problem), schedule(schedule) {
  // Batches of rows that are not ragged are the outer dimension of the tiles.
  int64_t batches = problem.isRagged ? 1 : problem.groups;
  int64_t columnTiles = columnTilesOf(problem, schedule);
  AffineExpr rows = gridRows(b, problem);
  if (schedule.mostRows)
    b.setSizeLimit(rows, *schedule.mostRows);
  if (schedule.residentBlocks) {
    // None when there are no rows.
    constexpr int64_t kMoreThanRows = int64_t(1) << 40;
    b.setGrid(rows.ceilDiv(kMoreThanRows) * schedule.residentBlocks);
  } else {
    AffineExpr rowTiles =
        searchesGroup(problem)
            ? rows.floorDiv(schedule.tileRows) + problem.groups
            : rows.ceilDiv(schedule.tileRows);
    b.setGrid(rowTiles * columnTiles, b.gridConstant(batches));
  }

  Value tiles;
  if (problem.hasGroup) {
    ownRows = raggedRows(b, problem.offsets, /*hasGroup=*/true);
    tiles = b.ceilDiv(b.sub(ownRows.end, ownRows.begin), schedule.tileRows);
  } else if (countsTiles(problem, schedule)) {
    tiles = countTilesOfGroups(memory);
  } else if (searchesGroup(problem)) {
    tiles = b.add(b.div(deviceRows(b, problem), b.i64(schedule.tileRows)),
                  b.i64(problem.groups));
  } else if (staysInSample(problem, schedule)) {
    tiles = b.mul(b.size(problem.a, 0),
                  b.ceilDiv(b.size(problem.a, 1), schedule.tileRows));
  } else {
    tiles = b.ceilDiv(deviceRows(b, problem), schedule.tileRows);
  }
  rowTiles = b.toI32(tiles);
  tilesOfBatch = b.mul(rowTiles, b.i32(columnTiles));
  allTiles = b.mul(tilesOfBatch, b.i32(batches));
}

/// (row tile, column tile) of tile `number` of `rowTiles` rows of tiles:
/// `rasterRows` of them walk through all columns together.
std::pair<Value, Value> TileWalk::rasterize(Value number, Value rowTiles) {
  Value columnTiles = b.i32(columnTilesOf(problem, schedule));
  Value bandTiles = b.mul(columnTiles, b.i32(schedule.rasterRows));
  Value bandFirst = b.mul(b.div(number, bandTiles), b.i32(schedule.rasterRows));
  // At least one, for numbers past the last tile.
  Value bandRows = b.max(
      b.min(b.sub(rowTiles, bandFirst), b.i32(schedule.rasterRows)), b.i32(1));
  Value inBand = b.rem(number, bandTiles);
  return {b.add(bandFirst, b.rem(inBand, bandRows)), b.div(inBand, bandRows)};
}

/// The row range of a tile: [row, rowEnd), empty when there is nothing to do.
GemmTile TileWalk::locateRows(Value batch, Value rowTile) {
  Value tileRows = b.i64(schedule.tileRows);
  Value zero = b.i64(0);
  if (staysInSample(problem, schedule)) {
    Value steps = b.size(problem.a, 1);
    Value tilesOfSample = b.ceilDiv(steps, schedule.tileRows);
    Value sample = b.div(b.toI64(rowTile), tilesOfSample);
    Value first = b.mul(sample, steps);
    Value time = b.mul(b.rem(b.toI64(rowTile), tilesOfSample), tileRows);
    return {b.toI64(batch),
            b.toI64(batch),
            b.add(first, time),
            b.add(first, steps),
            {}};
  }
  if (!problem.isRagged) {
    Value group = b.toI64(batch);
    return {group,
            group,
            b.mul(b.toI64(rowTile), tileRows),
            deviceRows(b, problem),
            {}};
  }
  if (problem.hasGroup)
    return {b.group(),
            zero,
            b.add(ownRows.begin, b.mul(b.toI64(rowTile), tileRows)),
            ownRows.end,
            {}};
  auto [group, tileInGroup] = locateGroup(rowTile);
  return rowsOfGroup(group, tileInGroup);
}

/// Row tile `tileInGroup` (i64) of a group.
GemmTile TileWalk::rowsOfGroup(Value group, Value tileInGroup) {
  Value begin = rowsBefore(group);
  Value end = rowsBefore(b.add(group, b.i32(1)));
  return {b.toI64(group),
          b.toI64(group),
          b.add(begin, b.mul(tileInGroup, b.i64(schedule.tileRows))),
          end,
          {}};
}

/// Tile `number` where the groups' tiles are counted: all tiles of a group
/// follow one another, so that as few groups as possible want the L2 at once.
GemmTile TileWalk::atInGroup(Value number) {
  Value columnTiles = b.i32(columnTilesOf(problem, schedule));
  auto [group, rowInGroup] = locateGroup(b.div(number, columnTiles));
  Value before = tilesBefore(group);
  Value rowTilesOfGroup = b.sub(tilesBefore(b.add(group, b.i32(1))), before);
  auto [rowTile, columnTile] =
      rasterize(b.sub(number, b.mul(before, columnTiles)), rowTilesOfGroup);
  GemmTile tile = rowsOfGroup(group, b.toI64(rowTile));
  tile.column = b.mul(b.toI64(columnTile), b.i64(schedule.tileColumns));
  return tile;
}

GemmTile TileWalk::at(Value number) {
  if (table)
    return atInGroup(number);
  bool hasBatches = !problem.isRagged && problem.groups > 1;
  Value batch = hasBatches ? b.div(number, tilesOfBatch) : b.i32(0);
  if (hasBatches)
    number = b.rem(number, tilesOfBatch);
  auto [rowTile, columnTile] = rasterize(number, rowTiles);
  GemmTile tile = locateRows(batch, rowTile);
  tile.column = b.mul(b.toI64(columnTile), b.i64(schedule.tileColumns));
  return tile;
}

Value TileWalk::skipEmpty(Value number) {
  if (!searchesGroup(problem) || table)
    return number;
  auto isEmpty = [&](ValueRange carried) {
    GemmTile tile = at(carried[0]);
    return b.logicalAnd(exists(carried[0]), b.le(tile.rowEnd, tile.row));
  };
  auto advance = [&](ValueRange carried) -> KernelBuilder::Values {
    return {b.add(carried[0], stride())};
  };
  return b.whileLoop({number}, isEmpty, advance)[0];
}

Value TileWalk::own() {
  return b.add(b.blockId(), b.mul(b.blockId(1), b.gridDim()));
}

Value TileWalk::first() { return skipEmpty(own()); }

Value TileWalk::next(Value number) {
  return skipEmpty(b.add(number, stride()));
}

Value TileWalk::stride() { return b.mul(b.gridDim(), b.gridDim(1)); }

void epifold::ptx::forEachTile(
    KernelBuilder &b, const GemmProblem &problem, const GemmSchedule &schedule,
    llvm::function_ref<void(const GemmTile &)> body) {
  assert(!schedule.residentBlocks && "a block has one tile");
  TileWalk walk(b, problem, schedule);
  Value number = walk.own();
  GemmTile tile = walk.at(number);
  Value hasRows = b.lt(tile.row, tile.rowEnd);
  b.ifThen(b.logicalAnd(walk.exists(number), hasRows), [&] { body(tile); });
}

//===--- Slabs of the reduction
//------------------------------------------------------------------------------------===//

int64_t epifold::ptx::slabsPerTap(const GemmProblem &problem,
                                  const GemmSchedule &schedule) {
  return llvm::divideCeil(problem.depth, schedule.tileDepth);
}

int64_t epifold::ptx::countSlabs(const GemmProblem &problem,
                                 const GemmSchedule &schedule) {
  return problem.taps * slabsPerTap(problem, schedule);
}

GemmSlab epifold::ptx::slabAt(KernelBuilder &b, const GemmProblem &problem,
                              const GemmSchedule &schedule, Value index) {
  Value tileDepth = b.i32(schedule.tileDepth),
        perTap = b.i32(slabsPerTap(problem, schedule));
  if (problem.taps == 1)
    return {b.i32(0), b.mul(index, tileDepth)};
  return {b.div(index, perTap), b.mul(b.rem(index, perTap), tileDepth)};
}

//===--- Rows of the operands
//--------------------------------------------------------------------------------------===//

RowOfA epifold::ptx::rowOfA(KernelBuilder &b, const GemmProblem &problem,
                            const GemmTile &tile, Value rowInTile) {
  RowOfA result;
  Value row = b.add(tile.row, b.toI64(rowInTile));
  result.isValid = b.lt(row, tile.rowEnd);
  if (problem.hasGather) {
    Value index = b.toI64(
        b.loadElement(problem.gather, b.select(result.isValid, row, tile.row)));
    row = b.div(index, b.i64(problem.op.getGatherDivisor()));
  }
  if (problem.isConvolution)
    result.time = b.rem(row, b.size(problem.a, 1));
  if (problem.hasGroupedA)
    row = b.add(row, b.mul(tile.groupOfB, deviceRows(b, problem)));
  result.offset = b.mul(row, b.i64(problem.depth));
  return result;
}

RowOfB epifold::ptx::rowOfB(KernelBuilder &b, const GemmProblem &problem,
                            const GemmTile &tile, int64_t product,
                            Value columnInTile) {
  Value column = b.add(tile.column, b.toI64(columnInTile));
  Value first =
      b.add(b.mul(tile.groupOfB, b.i64(problem.taps * problem.rowsOfB)),
            b.i64(problem.op.getBegin(product)));
  Value row = b.add(first, column);
  return {b.mul(row, b.i64(problem.depth)),
          b.lt(column, b.i64(problem.columns))};
}

SlabOfRow epifold::ptx::slabOfA(KernelBuilder &b, const GemmProblem &problem,
                                const RowOfA &row, const GemmSlab &slab) {
  SlabOfRow result = {b.add(row.offset, b.toI64(slab.depth)), row.isValid};
  if (!problem.isConvolution)
    return result;
  // Tap τ reads the row dilation · (taps − 1 − τ) earlier; before the sample's
  // start there are zeros.
  Value shift = b.mul(b.sub(b.i64(problem.taps - 1), b.toI64(slab.tap)),
                      b.i64(*problem.op.getDilation()));
  result.offset = b.sub(result.offset, b.mul(shift, b.i64(problem.depth)));
  result.isValid = b.logicalAnd(row.isValid, b.le(shift, row.time));
  return result;
}

SlabOfRow epifold::ptx::slabOfB(KernelBuilder &b, const GemmProblem &problem,
                                const RowOfB &row, const GemmSlab &slab) {
  Value tapOffset =
      b.mul(b.toI64(slab.tap), b.i64(problem.rowsOfB * problem.depth));
  return {b.add(row.offset, b.add(tapOffset, b.toI64(slab.depth))),
          row.isValid};
}

Value epifold::ptx::isInsideTap(KernelBuilder &b, const GemmProblem &problem,
                                const GemmSchedule &schedule,
                                const GemmSlab &slab, Value depthInSlab,
                                int64_t count) {
  if (problem.depth % schedule.tileDepth == 0)
    return b.i1(true);
  return b.le(b.add(b.add(slab.depth, depthInSlab), b.i32(count)),
              b.i32(problem.depth));
}

KernelBuilder::Values
epifold::ptx::loadPiece(KernelBuilder &b, const GemmProblem &problem,
                        const GemmSchedule &schedule, unsigned operand,
                        Type type, const GemmSlab &slab, const SlabOfRow &start,
                        Value depthInSlab, int64_t count) {
  int64_t step = problem.readsPieces(count) ? count : 1;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  KernelBuilder::Values values;
  for (int64_t first = 0; first < count; first += step) {
    Value depth = b.add(depthInSlab, b.i32(first));
    Value isThere = b.logicalAnd(
        start.isValid, isInsideTap(b, problem, schedule, slab, depth, step));
    // An absent element reads the operand's first one instead, so that no
    // access needs a branch.
    Value offset =
        b.select(isThere, b.add(start.offset, b.toI64(depth)), b.i64(0));
    for (Value value : b.loadVector(
             type, b.elementPointer(b.pointer(operand), type, offset), step))
      values.push_back(b.select(isThere, value, zero));
  }
  return values;
}
