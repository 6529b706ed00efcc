// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits f32 and f64 products: register tiles fed by 16-byte reads along k.

#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/TileLeaves.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
/// The threads of a warp along rows and columns of the tile, and how many lines
/// of shared memory lie between a thread's neighbouring ones.
constexpr int64_t kWarpRows = 4, kWarpColumns = 8, kLineStep = 8;

/// A thread multiplies `rowsOfThread` rows by `columnsOfThread` columns of each
/// product. Rows of A and B lie in shared memory as in global memory, so
/// operands are copied there without passing through registers, and a thread
/// reads 16 bytes along k of each of its rows and columns.
///
/// Neighbouring lanes read neighbouring lines, whose pieces at one depth take
/// different banks; a thread's own lines are eight apart, so that one address
/// and constants reach them all. Lanes are placed so that the 16 of half a warp
/// read two rows of A and eight columns of B, each of which several want: every
/// read then takes the fewest passes.
class FmaEmitter {
public:
  FmaEmitter(const GemmProblem &problem, const GemmSchedule &schedule)
      : problem(problem), schedule(schedule),
        threads(schedule.rowUnits * schedule.columnUnits),
        rowsOfThread(schedule.tileRows / schedule.rowUnits),
        columnsOfThread(schedule.tileColumns / schedule.columnUnits),
        b(problem.launch, "gemm_fma", {threads, 1, 1}),
        copier(b, problem, schedule, threads), piece(copier.piece()) {
    assert(schedule.rowUnits % kLineStep == 0 &&
           schedule.columnUnits % kWarpColumns == 0 &&
           columnsOfThread % piece == 0);
  }

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// i32 number of the thread along rows and along columns.
  Value threadRow();
  Value threadColumn();
  /// i32: the first of a thread's lines among those of A or of a B.
  Value firstLine(Value thread, int64_t linesOfThread);
  Values loadPiece(Value address, int64_t line);
  void multiplyPiece(Values &accumulators, Value stageStart, Value number,
                     int64_t steps);
  Values computeSlab(ValueRange accumulators, Value index, Value stageStart);
  Values mainLoop();
  void epilogue(const GemmTile &tile, ValueRange accumulators);

  Value shared(Value byte) {
    return b.elementPointer(memory, b.getI8Type(), byte);
  }
  int64_t accumulatorIndex(int64_t product, int64_t row, int64_t column) const {
    return (product * rowsOfThread + row) * columnsOfThread + column;
  }

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t threads, rowsOfThread, columnsOfThread;
  KernelBuilder b;
  SlabCopier copier;
  int64_t piece; // elements
  Value memory;
};
} // namespace

Value FmaEmitter::threadRow() {
  Value warp = b.div(b.warpId(), b.i32(schedule.columnUnits / kWarpColumns));
  Value low = b.rem(b.laneId(), b.i32(2));
  Value high = b.mul(b.div(b.laneId(), b.i32(2 * kWarpColumns)), b.i32(2));
  return b.add(b.mul(warp, b.i32(kWarpRows)), b.add(high, low));
}

Value FmaEmitter::threadColumn() {
  Value warp = b.rem(b.warpId(), b.i32(schedule.columnUnits / kWarpColumns));
  Value inWarp = b.rem(b.div(b.laneId(), b.i32(2)), b.i32(kWarpColumns));
  return b.add(b.mul(warp, b.i32(kWarpColumns)), inWarp);
}

Value FmaEmitter::firstLine(Value thread, int64_t linesOfThread) {
  Value run =
      b.mul(b.div(thread, b.i32(kLineStep)), b.i32(kLineStep * linesOfThread));
  return b.add(run, b.rem(thread, b.i32(kLineStep)));
}

/// The piece at `address` (i32) of a thread's line number `line`.
FmaEmitter::Values FmaEmitter::loadPiece(Value address, int64_t line) {
  Value byte = b.add(address, b.i32(line * kLineStep * copier.lineBytes()));
  return b.loadVector(problem.element, shared(byte), piece);
}

/// The first `steps` k of piece `number` (i32) of a slab.
void FmaEmitter::multiplyPiece(Values &accumulators, Value stageStart,
                               Value number, int64_t steps) {
  auto addressOf = [&](Value thread, int64_t linesOfThread, int64_t firstByte) {
    Value byte = copier.swizzledByte(firstLine(thread, linesOfThread), number);
    return b.add(b.add(stageStart, byte), b.i32(firstByte));
  };
  Value ofA = addressOf(threadRow(), rowsOfThread, 0);
  SmallVector<Values> rows;
  for (int64_t row : llvm::seq(rowsOfThread))
    rows.push_back(loadPiece(ofA, row));
  for (int64_t product : llvm::seq(problem.products)) {
    Value ofB = addressOf(threadColumn(), columnsOfThread,
                          copier.firstByteOfB(product));
    for (int64_t column : llvm::seq(columnsOfThread)) {
      Values values = loadPiece(ofB, column);
      for (int64_t k : llvm::seq(steps))
        for (int64_t row : llvm::seq(rowsOfThread)) {
          Value &sum = accumulators[accumulatorIndex(product, row, column)];
          sum = b.fma(rows[row][k], values[k], sum);
        }
    }
  }
}

FmaEmitter::Values FmaEmitter::computeSlab(ValueRange accumulators, Value index,
                                           Value stageStart) {
  auto whole = [&] {
    Values carried(accumulators);
    for (int64_t number : llvm::seq(schedule.tileDepth / piece))
      multiplyPiece(carried, stageStart, b.i32(number), piece);
    return carried;
  };
  int64_t rest = problem.depth % schedule.tileDepth;
  if (rest == 0)
    return whole();
  // A tap's last slab is short: a step more would turn an accumulator of -0
  // into +0.
  auto part = [&] {
    Values carried =
        b.forLoop(b.i32(0), b.i32(rest / piece), b.i32(1), accumulators,
                  [&](Value number, ValueRange values) {
                    Values next(values);
                    multiplyPiece(next, stageStart, number, piece);
                    return next;
                  });
    if (rest % piece)
      multiplyPiece(carried, stageStart, b.i32(rest / piece), rest % piece);
    return carried;
  };
  Value depth = slabAt(b, problem, schedule, index).depth;
  return b.ifElse(
      b.le(b.add(depth, b.i32(schedule.tileDepth)), b.i32(problem.depth)),
      whole, part);
}

FmaEmitter::Values FmaEmitter::mainLoop() {
  Values zeros(problem.products * rowsOfThread * columnsOfThread,
               b.constant(problem.accumulator, 0));
  return copier.forEachSlab(
      zeros, [&](ValueRange carried, Value index, Value stageStart) {
        return computeSlab(carried, index, stageStart);
      });
}

void FmaEmitter::epilogue(const GemmTile &tile, ValueRange accumulators) {
  AccumulatorLayout layout;
  Value firstRow = firstLine(threadRow(), rowsOfThread);
  for (int64_t row : llvm::seq(rowsOfThread))
    layout.rows.push_back(b.toI64(b.add(firstRow, b.i32(row * kLineStep))));
  // As SlabCopier has placed the columns.
  Value thread = threadColumn();
  Value firstColumn =
      b.add(b.mul(b.div(thread, b.i32(kLineStep)),
                  b.i32(kLineStep * columnsOfThread)),
            b.mul(b.rem(thread, b.i32(kLineStep)), b.i32(piece)));
  layout.column = b.add(tile.column, b.toI64(firstColumn));
  for (int64_t column = 0; column < columnsOfThread; column += piece)
    layout.runs.push_back(column * kLineStep);
  layout.runLength = piece;
  layout.isFull = problem.columns % schedule.tileColumns == 0;
  GemmEpilogue(b, problem, tile, layout)
      .emit([&](int64_t product, int64_t row, int64_t run, int64_t lane) {
        return accumulators[accumulatorIndex(product, row, run * piece + lane)];
      });
}

KernelSource FmaEmitter::emit() {
  // Even one block is worth saying: without it ptxas spills to fit more.
  b.setMinBlocksPerProcessor(schedule.minBlocks);
  forEachTile(b, problem, schedule, [&](const GemmTile &tile) {
    memory = b.dynamicShared(schedule.stages * copier.stageBytes());
    copier.locate(tile, memory);
    epilogue(tile, mainLoop());
    if (problem.leaves)
      TileLeaves(b, problem, threads, memory, [&] { b.barrier(); })
          .mergeStored(tile, tile.row, tile.column, schedule.tileRows,
                       schedule.tileColumns, threads / (32 * kLeafWarps));
  });
  return b.finish();
}

KernelSource epifold::ptx::emitFmaGemm(const GemmProblem &problem,
                                       const GemmSchedule &schedule) {
  return FmaEmitter(problem, schedule).emit();
}
