// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A model of a wgmma kernel's time: waves of tiles, each bound by the matrix
// unit, by what a multiprocessor or the L2 delivers, or by memory.

#include "backends/ptx/gemm/WgmmaCost.h"

#include "backends/ptx/gemm/DeferredEpilogue.h"
#include "backends/ptx/gemm/GemmTile.h"
#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/TileFeed.h"
#include "backends/ptx/gemm/TileLeaves.h"

#include <cmath>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
/// An H200 in units of its clock. Where the data sheet has no figure they were
/// fitted to measured kernels (docs/hopper.md); start and epilogue are guesses.
struct Hopper {
  static constexpr int64_t kProcessors = 132;
  static constexpr int64_t kSharedBytes = 227 * 1024;
  /// Multiply-adds of a multiprocessor's matrix units.
  static constexpr double kProducts = 2048;
  /// What a slab takes besides, and what the smallest one takes: barriers, and
  /// shared memory that copies and products want at once.
  static constexpr double kSlab = 110, kLeastSlab = 360;
  /// Bytes from L2 into one multiprocessor and into all, and from memory.
  static constexpr double kIngress = 62, kFromL2 = kIngress * kProcessors;
  static constexpr double kFromMemory = 2400;
  /// Until the first product of a tile, and what of an epilogue is not hidden,
  /// for 128 accumulators in a thread.
  static constexpr double kStart = 1500, kEpilogue = 1200;
};
} // namespace

static constexpr int64_t kWarpgroupRows = 64, kDepth = 64, kRun = 32;
static constexpr int64_t kThreads = 3 * 128; // of a block
static constexpr int64_t kMostColumnsOfInstruction = 256;
/// Neighbouring columns that a thread stores at once.
static constexpr int64_t kColumnsOfThread = 8;

/// As many stages as shared memory holds, or none when that is fewer than what
/// copies and products need to overlap.
static bool fitStages(const GemmProblem &problem, GemmSchedule &schedule) {
  constexpr int64_t kLeast = 3, kMost = 12;
  constexpr int64_t kWordBytes = 16; // of a stage: barriers
  GemmSchedule most = schedule;
  most.stages = kMost;
  int64_t bytes = Hopper::kSharedBytes - kMost * kWordBytes -
                  TileFeed::sharedBytes(most) -
                  TileWalk::sharedBytes(problem, schedule) -
                  TileLeaves::sharedBytes(problem, kThreads);
  schedule.stages =
      std::min(kMost, bytes / SlabCopier::stageBytes(problem, schedule));
  return schedule.stages >= kLeast;
}

SmallVector<GemmSchedule>
epifold::ptx::wgmmaCandidates(const GemmProblem &problem) {
  SmallVector<GemmSchedule> result;
  auto add = [&](int64_t rows, int64_t columns, int64_t rowUnits,
                 int64_t columnUnits, bool swaps) {
    GemmSchedule schedule = {rows,     columns,     kDepth, 0,
                             rowUnits, columnUnits, 16,     1};
    schedule.usesWgmma = true;
    schedule.residentBlocks = Hopper::kProcessors;
    schedule.swapsOperands = swaps;
    schedule.defersEpilogue = DeferredEpilogue::fits(problem, schedule);
    if (TileLeaves::fit(problem, schedule) && fitStages(problem, schedule))
      result.push_back(schedule);
  };
  // Rows of the result that are stored element by element need registers that
  // the most accumulators do not leave.
  int64_t mostColumns =
      problem.columns % kColumnsOfThread == 0 ? kMostColumnsOfInstruction : 192;
  for (int64_t columns : {32, 64, 96, 128, 192, 256}) {
    if (columns * problem.products <= mostColumns)
      add(2 * kWarpgroupRows, columns, 2, 1, false);
    int64_t share = columns / 2;
    if (share % kRun == 0 && share * problem.products <= 128)
      add(kWarpgroupRows, columns, 1, 2, false);
  }
  for (int64_t rows : {8, 16, 32, 64, 128})
    if (rows * problem.products <= kMostColumnsOfInstruction)
      add(rows, 2 * kWarpgroupRows, 1, 2, true);
  return result;
}

/// Row tiles of all groups, and the groups that have any.
static std::pair<double, double> countRowTiles(const GemmProblem &problem,
                                               int64_t tileRows, int64_t rows) {
  if (!problem.hasManyGroups()) {
    double groups = problem.isRagged ? 1 : problem.groups;
    return {groups * double(llvm::divideCeil(rows, tileRows)), groups};
  }
  // Rows that fall on groups at random: not all groups have some, and some have
  // more than their share. A tile half empty costs half where warpgroups split
  // rows.
  double groups = problem.groups;
  double active = groups * (1 - std::exp(-double(rows) / groups));
  double share = double(rows) / active;
  double most = share + std::sqrt(share);
  return {active *
              (most <= double(tileRows) ? 1 : share / double(tileRows) + 0.5),
          active};
}

double epifold::ptx::estimateWgmma(const GemmProblem &problem,
                                   const GemmSchedule &schedule, int64_t rows) {
  auto [rowTiles, groups] = countRowTiles(problem, schedule.tileRows, rows);
  double columnTiles =
      double(llvm::divideCeil(problem.columns, schedule.tileColumns));
  double tiles = rowTiles * columnTiles;
  double waves = std::ceil(tiles / Hopper::kProcessors);
  double busy = std::min<double>(tiles, Hopper::kProcessors);

  double slabs = double(countSlabs(problem, schedule));
  double stage = double(SlabCopier::stageBytes(problem, schedule));
  double outputs =
      double(schedule.tileRows * schedule.tileColumns * problem.products);
  // An instruction takes no less than for sixteen columns.
  double multiplied =
      schedule.swapsOperands
          ? outputs * std::max(1.0, 16.0 / double(schedule.tileRows))
          : outputs;
  double slab =
      std::max({multiplied * kDepth / Hopper::kProducts + Hopper::kSlab,
                Hopper::kLeastSlab, stage * busy / Hopper::kFromL2});
  double tile =
      slabs * slab + Hopper::kStart + Hopper::kEpilogue * outputs / (128 * 256);
  double weights =
      groups * double(problem.products * problem.columns) * slabs * kDepth * 2;
  double computing = waves * tile;
  // Some tens of multiprocessors can ask for all that memory gives. Weights
  // that are wanted again have mostly, not always, stayed in the L2.
  constexpr double kReread = 0.2;
  double streaming = Hopper::kStart +
                     weights * (1 + kReread * (rowTiles / groups - 1)) /
                         std::min(Hopper::kFromMemory, busy * Hopper::kIngress);
  if (computing > 1.2 * streaming)
    return computing;
  // Where memory decides, all that is left to choose is how little a tile does
  // in vain.
  constexpr double kOfRow = 0.002;
  return std::max(computing, streaming) +
         streaming * kOfRow * double(schedule.tileRows);
}

std::optional<GemmSchedule>
epifold::ptx::chooseWgmma(const GemmProblem &problem, int64_t rows) {
  std::optional<GemmSchedule> best;
  double least = 0;
  for (const GemmSchedule &schedule : wgmmaCandidates(problem)) {
    double cycles = estimateWgmma(problem, schedule, rows);
    if (best && cycles >= least)
      continue;
    best = schedule;
    least = cycles;
  }
  return best;
}
