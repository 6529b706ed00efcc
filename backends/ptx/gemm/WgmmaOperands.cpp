// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensor maps of A and the B's, and the copies of a slab.

#include "backends/ptx/gemm/WgmmaOperands.h"

#include "backends/ptx/gemm/AsyncAsm.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// Columns of a permuted run, and the dimensions of a box that permute them.
static constexpr int64_t kRun = 32, kPair = 2, kQuad = 4;

/// Rows of the B's memory for all groups and taps, one after the other.
static AffineExpr rowsOfMemory(KernelBuilder &b, const GemmProblem &problem) {
  return b.gridConstant(problem.groups * problem.taps * problem.rowsOfB);
}

bool WgmmaOperands::permutesColumns(const GemmProblem &problem,
                                    const GemmSchedule &schedule) {
  auto isAligned = [](int64_t row) { return row % kRun == 0; };
  bool areBegins = llvm::all_of(llvm::seq(problem.products), [&](int64_t i) {
    return isAligned(problem.op.getBegin(i));
  });
  return !schedule.swapsOperands && areBegins && isAligned(problem.rowsOfB);
}

WgmmaOperands::WgmmaOperands(KernelBuilder &b, const GemmProblem &problem,
                             const GemmSchedule &schedule, int64_t threads)
    : b(b), problem(problem), schedule(schedule), threads(threads),
      copier(b, problem, schedule, threads, {/*a=*/true, /*bs=*/false}) {
  if (!usesThreads())
    addMapOfA();
  addMapsOfB();
}

/// A as [group or sample, row, k]. What a box takes outside is zero: steps past
/// the last one of a tap, and rows before a sample's first one. Rows of the
/// next expert are not, but no value of another row reaches a row's sums.
void WgmmaOperands::addMapOfA() {
  bool hasOuter = problem.isConvolution || problem.hasGroupedA;
  unsigned rowDim = hasOuter ? 1 : 0;
  AffineExpr rows = b.gridSize(problem.a, rowDim);
  AffineExpr outer = hasOuter ? b.gridSize(problem.a, 0) : b.gridConstant(1);
  int64_t rowBytes = problem.depth * problem.elementBytes();
  mapOfA = b.tensorMap({problem.a,
                        {b.gridConstant(problem.depth), rows, outer},
                        {b.gridConstant(rowBytes), rows * rowBytes},
                        {schedule.tileDepth, schedule.tileRows, 1}});
}

void WgmmaOperands::addMapsOfB() {
  int64_t rowBytes = problem.depth * problem.elementBytes();
  AffineExpr depth = b.gridConstant(problem.depth),
             rows = rowsOfMemory(b, problem);
  auto strideOf = [&](int64_t count) {
    return b.gridConstant(count * rowBytes);
  };
  for (int64_t product : llvm::seq(problem.products)) {
    unsigned operand = problem.firstB + product;
    if (!permutesColumns(problem, schedule)) {
      mapsOfB.push_back(
          b.tensorMap({operand,
                       {depth, rows},
                       {strideOf(1)},
                       {schedule.tileDepth, schedule.tileColumns}}));
      continue;
    }
    // Line 8 f + 2 q + p of a run is its column 8 q + 2 f + p.
    mapsOfB.push_back(
        b.tensorMap({operand,
                     {depth, b.gridConstant(kPair), b.gridConstant(kQuad),
                      b.gridConstant(kQuad), rows.floorDiv(kRun)},
                     {strideOf(1), strideOf(kPair * kQuad), strideOf(kPair),
                      strideOf(kRun)},
                     {schedule.tileDepth, kPair, kQuad, kQuad,
                      schedule.tileColumns / kRun}}));
  }
}

void WgmmaOperands::prefetchMaps() {
  if (mapOfA)
    prefetchMap(b, mapOfA);
  for (Value map : mapsOfB)
    prefetchMap(b, map);
}

void WgmmaOperands::locate(const GemmTile &newTile, Value firstStage) {
  tile = newTile;
  memory = sharedAddress(b, firstStage);
  if (usesThreads())
    copier.locate(tile, firstStage);
}

int64_t WgmmaOperands::boxBytes() const {
  int64_t lines = (usesThreads() ? 0 : schedule.tileRows) +
                  problem.products * schedule.tileColumns;
  return lines * copier.lineBytes();
}

void WgmmaOperands::copyBoxOfA(const GemmSlab &slab, Value stage,
                               Value barrier) {
  Value row = b.toI32(tile.row), outer = b.i32(0);
  if (problem.hasGroupedA)
    outer = b.toI32(tile.groupOfB);
  if (problem.isConvolution) {
    // Tap τ reads the row dilation · (taps − 1 − τ) earlier.
    Value steps = b.size(problem.a, 1);
    Value shift = b.mul(b.sub(b.i32(problem.taps - 1), slab.tap),
                        b.i32(*problem.op.getDilation()));
    outer = b.toI32(b.div(tile.row, steps));
    row = b.sub(b.toI32(b.rem(tile.row, steps)), shift);
  }
  copyBox(b, stage, mapOfA, {slab.depth, row, outer}, barrier);
}

void WgmmaOperands::copyBoxesOfB(const GemmSlab &slab, Value stage,
                                 Value barrier) {
  Value rowOfTap = b.add(
      b.mul(b.toI32(tile.groupOfB), b.i32(problem.taps * problem.rowsOfB)),
      b.mul(slab.tap, b.i32(problem.rowsOfB)));
  for (auto [product, map] : llvm::enumerate(mapsOfB)) {
    Value row = b.add(rowOfTap, b.add(b.toI32(tile.column),
                                      b.i32(problem.op.getBegin(product))));
    Value target = b.add(stage, b.i32(copier.firstByteOfB(product)));
    KernelBuilder::Values coordinates = {slab.depth};
    if (!permutesColumns(problem, schedule))
      coordinates.push_back(row);
    else
      coordinates.append(
          {b.i32(0), b.i32(0), b.i32(0), b.div(row, b.i32(kRun))});
    copyBox(b, target, map, coordinates, barrier);
  }
}

void WgmmaOperands::copySlab(Role role, Value index, Value stageStart,
                             Value barrier) {
  GemmSlab slab = slabAt(b, problem, schedule, index);
  Value stage = b.add(memory, stageStart);
  auto copyBoxes = [&] {
    if (role != Role::Bs)
      arriveExpecting(b, barrier, b.i32(boxBytes()));
    if (role != Role::Bs && !usesThreads())
      copyBoxOfA(slab, stage, barrier);
    if (role != Role::A)
      copyBoxesOfB(slab, stage, barrier);
  };
  if (role != Role::All)
    return copyBoxes();
  b.ifThen(b.eq(b.threadId(), b.i32(0)), copyBoxes);
  copier.copySlab(index, stageStart);
  arriveAfterCopies(b, barrier);
}

void WgmmaOperands::skipSlab(Role role, Value barrier) {
  if (role == Role::A)
    return arrive(b, barrier);
  if (role == Role::Bs)
    return;
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] { arrive(b, barrier); });
  arriveAfterCopies(b, barrier);
}
