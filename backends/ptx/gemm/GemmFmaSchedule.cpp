// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Weighs wide tiles, which need fewer reads, against idle processors and
// columns that do not exist.

#include "backends/ptx/gemm/GemmFmaSchedule.h"

#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/TileLeaves.h"

#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kDepth = 16; // of a slab

/// Shared memory of a block on the least of the targets.
static constexpr int64_t kSharedBytes = 99 * 1024;

namespace {
/// What a thread multiplies: rows by columns of each product.
struct ThreadTile {
  int64_t rows, columns;
};
} // namespace

static int64_t pieceOf(const GemmProblem &problem) {
  return SlabCopier::kPieceBytes / problem.elementBytes();
}

/// Issue slots of a warp for a slab.
static int64_t slotsOfSlab(const GemmProblem &problem, ThreadTile tile) {
  int64_t columns = problem.products * tile.columns;
  // There are half as many units for f64.
  int64_t slotsOfFma = problem.element.isF64() ? 2 : 1;
  int64_t products = tile.rows * columns * kDepth * slotsOfFma;
  int64_t reads = (tile.rows + columns) * (kDepth / pieceOf(problem));
  // Waiting for the slab, and copying a later one.
  constexpr int64_t kSlotsOfCopies = 64;
  // A read takes two to four cycles of the memory that eight warps on four
  // schedulers share.
  constexpr int64_t kSlotsOfRead = 6;
  return std::max(products + reads, kSlotsOfRead * reads) + kSlotsOfCopies;
}

/// What a slab takes: of the processor with the most tiles, or of all tiles
/// together when nobody knows how many there are.
static int64_t cost(const GemmProblem &problem, const GemmSchedule &schedule,
                    ThreadTile thread, int64_t rows) {
  constexpr int64_t kProcessors = 132;
  int64_t slots = slotsOfSlab(problem, thread);
  int64_t columnTiles = llvm::divideCeil(problem.columns, schedule.tileColumns);
  if (rows == INT32_MAX)
    return slots * columnTiles * (128 / schedule.tileRows);
  int64_t rowTiles = llvm::divideCeil(rows, schedule.tileRows);
  bool hasManyGroups = problem.isRagged && !problem.hasGroup;
  rowTiles =
      hasManyGroups ? rowTiles + problem.groups : rowTiles * problem.groups;
  return slots * llvm::divideCeil(rowTiles * columnTiles, kProcessors);
}

/// The schedule with 256 threads, `rowUnits` of them along the rows, or none
/// when it needs more registers or shared memory than there are.
static std::optional<GemmSchedule> fitFma(const GemmProblem &problem,
                                          ThreadTile thread, int64_t rowUnits) {
  constexpr int64_t kThreads = 256, kMostStages = 3;
  // Of accumulators; operands on their way and addresses need as many more.
  constexpr int64_t kRegisters = 96;
  int64_t accumulators = problem.products * thread.rows * thread.columns;
  if (accumulators * problem.elementBytes() / 4 > kRegisters)
    return std::nullopt;
  int64_t columnUnits = kThreads / rowUnits;
  GemmSchedule schedule = {rowUnits * thread.rows,
                           columnUnits * thread.columns,
                           kDepth,
                           kMostStages,
                           rowUnits,
                           columnUnits,
                           8,
                           1};
  schedule.stages = std::min(
      kMostStages, kSharedBytes / SlabCopier::stageBytes(problem, schedule));
  if (schedule.stages < 2)
    return std::nullopt;
  return schedule;
}

/// Two slabs twice as deep rather than three: half as many barriers, where the
/// reduction is long. At 128 × 192 in f32 that takes 38.5 instead of 40.2 ms.
static void deepen(const GemmProblem &problem, GemmSchedule &schedule) {
  constexpr int64_t kDeep = 2 * kDepth, kStages = 2, kLeastSlabs = 4;
  GemmSchedule deeper = schedule;
  deeper.tileDepth = kDeep;
  deeper.stages = kStages;
  if (problem.element.isF32() && problem.depth >= kLeastSlabs * kDeep &&
      kStages * SlabCopier::stageBytes(problem, deeper) <= kSharedBytes)
    schedule = deeper;
}

/// The tiles, none of them deepened.
static SmallVector<GemmSchedule> fitTiles(const GemmProblem &problem) {
  SmallVector<GemmSchedule> candidates;
  int64_t piece = pieceOf(problem);
  for (int64_t rowUnits : {16, 8})
    for (int64_t threadRows : {8, 4, 2})
      for (int64_t columns : {3 * piece, 2 * piece, piece})
        if (auto schedule = fitFma(problem, {threadRows, columns}, rowUnits);
            schedule && TileLeaves::fit(problem, *schedule))
          candidates.push_back(*schedule);
  return candidates;
}

SmallVector<GemmSchedule>
epifold::ptx::fmaCandidates(const GemmProblem &problem) {
  SmallVector<GemmSchedule> candidates = fitTiles(problem);
  for (GemmSchedule schedule : fitTiles(problem)) {
    deepen(problem, schedule);
    if (!llvm::is_contained(candidates, schedule))
      candidates.push_back(schedule);
  }
  return candidates;
}

GemmSchedule epifold::ptx::chooseFma(const GemmProblem &problem, int64_t rows) {
  std::optional<GemmSchedule> best;
  int64_t least = 0;
  for (const GemmSchedule &schedule : fitTiles(problem)) {
    ThreadTile thread = {schedule.tileRows / schedule.rowUnits,
                         schedule.tileColumns / schedule.columnUnits};
    int64_t candidate = cost(problem, schedule, thread, rows);
    if (best && candidate >= least)
      continue;
    best = schedule;
    least = candidate;
  }
  assert(best && "the backend takes too many products");
  deepen(problem, *best);
  return *best;
}
