// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads a kernel.gemm and chooses tiles for it.

#include "backends/ptx/gemm/GemmSchedule.h"

#include "backends/ptx/gemm/GemmFmaSchedule.h"
#include "backends/ptx/gemm/SlabCopier.h"

#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

GemmProblem::GemmProblem(kernel::GemmOp op)
    : op(op), products(op.getB().size()), columns(op.getResultColumns()),
      rowsOfB(op.getRowsOfB()), depth(op.getDepth()), taps(op.getTaps()),
      groups(op.getGroups()), isConvolution(op.isConvolution()),
      isRagged(op.isRagged()), hasGroup(op.getGroup().has_value()),
      hasGather(static_cast<bool>(op.getGather())),
      hasGroupedA(!op.isConvolution() && typeOf(op.getA()).getRank() == 3),
      element(typeOf(op.getA()).getElementType()),
      accumulator(op.getAccumulatorType()) {
  gather = firstB + products;
  offsets = gather + (hasGather ? 1 : 0);
  firstExtra = offsets + (isRagged ? 1 : 0);
  firstOut = firstExtra + op.getExtras().size();
}

/// Rows of a group when they are known at compile time, else a number that
/// fills any tile.
static int64_t knownRows(const GemmProblem &problem) {
  ArrayRef<int64_t> shape = typeOf(problem.op.getA()).getShape().drop_back();
  if (problem.hasGather)
    shape = typeOf(problem.op.getGather()).getShape();
  else if (problem.hasGroupedA)
    shape = shape.drop_front();
  int64_t rows = 1;
  for (int64_t size : shape)
    rows = ShapedType::isDynamic(size)           ? INT32_MAX
           : llvm::MulOverflow(rows, size, rows) ? INT32_MAX
                                                 : rows;
  return rows;
}

/// A product's share of a tile's columns: the accumulators of all products of a
/// column sit in one thread.
static int64_t shareOfColumns(int64_t columns, int64_t products,
                              int64_t least) {
  return std::max<int64_t>(least,
                           columns / int64_t(llvm::PowerOf2Ceil(products)));
}

static GemmSchedule chooseMatrixUnit(const GemmProblem &problem) {
  int64_t rows = knownRows(problem);
  if (rows <= 16)
    return {16, shareOfColumns(128, problem.products, 64), 32, 4, 1, 8, 8, 1};
  if (rows <= 64)
    return {64, shareOfColumns(128, problem.products, 32), 32, 4, 2, 4, 8, 2};
  // Loads of single elements hold many addresses, and many products many
  // accumulators: no room for a second block.
  bool needsRegisters = problem.products > 4 || !problem.readsPieces(8);
  return {128, shareOfColumns(128, problem.products, 32),
          32,  4,
          2,   4,
          8,   needsRegisters ? 1 : 2};
}

/// Fits wgmma to the tile: as many stages as `sharedBytes` hold. It needs one
/// to be multiplied, one that may still be read, and one on its way.
static std::optional<GemmSchedule> fitWgmma(const GemmProblem &problem,
                                            GemmSchedule schedule,
                                            int64_t sharedBytes) {
  if (schedule.tileRows != 128 || !problem.readsPieces(SlabCopier::kPiece))
    return std::nullopt;
  schedule.tileDepth = 64;
  schedule.rowUnits = 2;
  schedule.columnUnits = 1;
  schedule.usesWgmma = true;
  constexpr int64_t kMostStages = 4;
  schedule.stages = std::min(
      kMostStages, sharedBytes / SlabCopier::stageBytes(problem, schedule));
  if (schedule.stages < 3 || countSlabs(problem, schedule) < 2)
    return std::nullopt;
  return schedule;
}

/// For wgmma: wide tiles where that leaves enough of them,
/// and blocks that stay. Over ragged rows the latter were measured to be
/// slower, 8 % of a layer of 64 experts, so there blocks come and go.
static GemmSchedule widenForWgmma(const GemmProblem &problem,
                                  GemmSchedule schedule) {
  constexpr int64_t kProcessors = 132;
  bool hasManyGroups = problem.isRagged && !problem.hasGroup;
  int64_t rowTiles = llvm::divideCeil(knownRows(problem), schedule.tileRows);
  rowTiles =
      hasManyGroups ? rowTiles + problem.groups : rowTiles * problem.groups;
  int64_t wide = shareOfColumns(256, problem.products, 32);
  if (problem.columns > schedule.tileColumns &&
      rowTiles * llvm::divideCeil(problem.columns, wide) >= kProcessors) {
    schedule.tileColumns = wide;
    schedule.minBlocks = 1;
  }
  if (!hasManyGroups) {
    schedule.rasterRows = 16;
    schedule.residentBlocks = kProcessors * schedule.minBlocks;
  }
  return schedule;
}

GemmSchedule epifold::ptx::chooseSchedule(const GemmProblem &problem,
                                          bool hasWgmma) {
  // Shared memory of a block on Hopper.
  constexpr int64_t kMostShared = 227 * 1024;
  if (!problem.usesMatrixUnit())
    return chooseFma(problem, knownRows(problem));
  GemmSchedule common = chooseMatrixUnit(problem);
  if (!hasWgmma)
    return common;
  GemmSchedule wide = widenForWgmma(problem, common);
  int64_t shared = kMostShared / wide.minBlocks - 1024;
  return fitWgmma(problem, wide, shared).value_or(common);
}
