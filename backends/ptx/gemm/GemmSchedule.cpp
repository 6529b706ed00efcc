// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads a kernel.gemm and chooses tiles for it.

#include "backends/ptx/gemm/GemmSchedule.h"

#include "backends/ptx/gemm/GemmFmaSchedule.h"
#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/TileLeaves.h"
#include "backends/ptx/gemm/TunedSchedules.h"
#include "backends/ptx/gemm/WgmmaCost.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

GemmProblem::GemmProblem(kernel::GemmOp op)
    : op(op), launch(op), products(op.getB().size()),
      columns(op.getResultColumns()), rowsOfB(op.getRowsOfB()),
      depth(op.getDepth()), taps(op.getTaps()), groups(op.getGroups()),
      isConvolution(op.isConvolution()), isRagged(op.isRagged()),
      hasGroup(op.getGroup().has_value()),
      hasGather(static_cast<bool>(op.getGather())),
      hasGroupedA(!op.isConvolution() && typeOf(op.getA()).getRank() == 3),
      element(typeOf(op.getA()).getElementType()),
      accumulator(op.getAccumulatorType()) {
  gather = firstB + products;
  offsets = gather + (hasGather ? 1 : 0);
  firstExtra = offsets + (isRagged ? 1 : 0);
  firstOut = firstExtra + op.getExtras().size();
  auto cascade = dyn_cast<kernel::CascadeOp>(op->getParentOp());
  if (!cascade)
    return;
  launch = cascade;
  // The operands of a cascade are those of its launches, one for one.
  if (cascade.getFirst() == op) {
    auto stats = cast<kernel::LeafStatsOp>(cascade.getSecond());
    leaves = {*cascade.findOperand(stats.getOuts().front()), stats.getGroups()};
    return;
  }
  firstB = *cascade.findOperand(op.getB().front());
  firstExtra = firstB + products;
  firstOut = *cascade.findOperand(op.getOuts().front());
}

std::optional<int64_t> epifold::ptx::knownRows(const GemmProblem &problem) {
  ArrayRef<int64_t> shape = typeOf(problem.op.getA()).getShape().drop_back();
  if (problem.hasGather)
    shape = typeOf(problem.op.getGather()).getShape();
  else if (problem.hasGroupedA)
    shape = shape.drop_front();
  int64_t rows = 1;
  for (int64_t size : shape)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(rows, size, rows))
      return std::nullopt;
  return rows;
}

/// A product's share of a tile's columns: the accumulators of all products of a
/// column sit in one thread.
static int64_t shareOfColumns(int64_t columns, int64_t products,
                              int64_t least) {
  return std::max<int64_t>(least,
                           columns / int64_t(llvm::PowerOf2Ceil(products)));
}

namespace {
/// Tiles of mma.sync for few rows, some and many. What is left to the lower
/// ones is to wait for memory, with as many slabs on their way as the least of
/// the targets has shared memory for.
struct MmaTiles {
  explicit MmaTiles(const GemmProblem &problem);
  GemmSchedule few, some, many;
};
} // namespace

MmaTiles::MmaTiles(const GemmProblem &problem) {
  few = {16, shareOfColumns(128, problem.products, 64), 32, 8, 1, 8, 8, 1};
  int64_t columns = problem.columns <= 64 ? 64 : 128;
  int64_t least = problem.leaves ? kernel::kLeaf : 32;
  some = {64, shareOfColumns(columns, problem.products, least), 32, 6, 2, 4, 8,
          2};
  // Loads of single elements hold many addresses, and many products many
  // accumulators: no room for a second block.
  bool needsRegisters = problem.products > 4 || !problem.readsPieces(8);
  many = {128, shareOfColumns(128, problem.products, least),
          32,  4,
          2,   4,
          8,   needsRegisters ? 1 : 2};
}

/// High tiles where there are enough of them for most multiprocessors of a
/// large chip, else lower ones.
static GemmSchedule chooseMmaSync(const GemmProblem &problem, int64_t rows) {
  constexpr int64_t kEnoughTiles = 64;
  MmaTiles tiles(problem);
  int64_t columnTiles =
      llvm::divideCeil(problem.columns, tiles.some.tileColumns) *
      (problem.isRagged ? 1 : problem.groups);
  auto isEnough = [&](const GemmSchedule &tile) {
    return llvm::divideCeil(rows, tile.tileRows) * columnTiles >=
               kEnoughTiles ||
           problem.isRagged;
  };
  if ((rows <= 16 || !isEnough(tiles.some)) &&
      TileLeaves::fit(problem, tiles.few))
    return tiles.few;
  return rows <= 64 || !isEnough(tiles.many) ? tiles.some : tiles.many;
}

SmallVector<GemmSchedule>
epifold::ptx::fallbackCandidates(const GemmProblem &problem) {
  if (!problem.usesMatrixUnit())
    return fmaCandidates(problem);
  MmaTiles tiles(problem);
  SmallVector<GemmSchedule> candidates = {tiles.few, tiles.some, tiles.many};
  llvm::erase_if(candidates, [&](const GemmSchedule &schedule) {
    return !TileLeaves::fit(problem, schedule);
  });
  return candidates;
}

/// wgmma where it can read the operands, else mma.sync.
static GemmSchedule chooseForRows(const GemmProblem &problem, bool hasWgmma,
                                  int64_t rows) {
  if (hasWgmma && problem.readsPieces(SlabCopier::kPiece))
    if (auto schedule = chooseWgmma(problem, rows))
      return *schedule;
  // Some groups have twice their share.
  int64_t ofGroup = problem.hasManyGroups()
                        ? llvm::divideCeil(2 * rows, problem.groups)
                        : rows;
  return chooseMmaSync(problem, ofGroup);
}

SmallVector<GemmSchedule>
epifold::ptx::chooseSchedules(const GemmProblem &problem, bool hasWgmma) {
  if (!problem.usesMatrixUnit())
    return {chooseFma(problem, knownRows(problem).value_or(INT32_MAX))};
  if (std::optional<int64_t> rows = knownRows(problem))
    return {chooseForRows(problem, hasWgmma, *rows)};
  constexpr int64_t kMany = 1 << 20;
  SmallVector<int64_t> bounds = {64, 512, 2048, kMany};
  // Rows of ragged groups count together; few of them are in few groups.
  if (problem.hasManyGroups())
    bounds = {problem.groups, problem.groups * 8, problem.groups * 64,
              problem.groups * kMany};
  // Of neighbours that are alike the last bound counts.
  SmallVector<GemmSchedule> result;
  for (int64_t bound : bounds) {
    GemmSchedule schedule = chooseForRows(problem, hasWgmma, bound);
    if (!result.empty()) {
      schedule.mostRows = result.back().mostRows;
      if (schedule == result.back())
        result.pop_back();
    }
    schedule.mostRows = bound;
    result.push_back(schedule);
  }
  result.back().mostRows = std::nullopt;
  return result;
}
