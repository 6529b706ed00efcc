// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits f32 and f64 products: register tiles fed from k-major shared memory,
// two slabs in turn.

#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/gemm/GemmTile.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
class FmaEmitter {
public:
  FmaEmitter(const GemmProblem &problem, const GemmSchedule &schedule)
      : problem(problem), schedule(schedule),
        threads(schedule.rowUnits * schedule.columnUnits),
        piece(16 / problem.elementBytes()),
        rowsOfThread(schedule.tileRows / schedule.rowUnits),
        columnsOfThread(schedule.tileColumns / schedule.columnUnits),
        rowRun(std::min(piece, rowsOfThread)),
        columnRun(std::min(piece, columnsOfThread)),
        b(problem.op, "gemm_fma", {threads, 1, 1}) {}

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// One operand's tile in shared memory, `[stage][k][line]`, and how the
  /// threads fill it.
  struct Panel {
    unsigned operand;
    int64_t lines;
    Value memory;
    SmallVector<RowOfA> rowsA;
    SmallVector<RowOfB> rowsB;
  };

  // Lines are padded so that the stores of a warp, which run along k, fall into
  // different banks.
  int64_t pitch(const Panel &panel) const { return panel.lines + piece; }
  int64_t piecesOfThread(const Panel &panel) const {
    return llvm::divideCeil(panel.lines * (schedule.tileDepth / piece),
                            threads);
  }
  /// (line, k in the slab) of a thread's piece, both i32.
  std::pair<Value, Value> pieceAt(int64_t number);
  Value hasPiece(const Panel &panel, Value line) {
    return b.lt(line, b.i32(panel.lines));
  }

  void makePanels(const GemmTile &tile);
  Values loadSlab(Value index);
  void storeSlab(ValueRange values, Value stage);
  Values loadLines(const Panel &panel, Value stage, Value depth, Value first,
                   int64_t count, int64_t run, int64_t unit);
  Values step(ValueRange accumulators, Value stage, Value depth);
  Values computeSlab(ValueRange accumulators, Value index, Value stage);
  Values mainLoop();
  void epilogue(const GemmTile &tile, ValueRange accumulators);
  int64_t accumulatorIndex(int64_t product, int64_t row, int64_t column) const {
    return (product * rowsOfThread + row) * columnsOfThread + column;
  }

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t threads, piece, rowsOfThread, columnsOfThread, rowRun, columnRun;
  KernelBuilder b;
  SmallVector<Panel> panels; // A, then the B's
};
} // namespace

std::pair<Value, Value> FmaEmitter::pieceAt(int64_t number) {
  int64_t piecesOfLine = schedule.tileDepth / piece;
  Value index = b.add(b.threadId(), b.i32(number * threads));
  return {b.div(index, b.i32(piecesOfLine)),
          b.mul(b.rem(index, b.i32(piecesOfLine)), b.i32(piece))};
}

void FmaEmitter::makePanels(const GemmTile &tile) {
  auto addPanel = [&](unsigned operand, int64_t lines) -> Panel & {
    Panel &panel = panels.emplace_back(Panel{operand, lines, {}, {}, {}});
    panel.memory = b.sharedArray(
        problem.element, schedule.stages * schedule.tileDepth * pitch(panel));
    return panel;
  };
  Panel &a = addPanel(problem.a, schedule.tileRows);
  for (int64_t i : llvm::seq(piecesOfThread(a)))
    a.rowsA.push_back(rowOfA(b, problem, tile, pieceAt(i).first));
  for (int64_t product : llvm::seq(problem.products)) {
    Panel &panel = addPanel(problem.firstB + product, schedule.tileColumns);
    for (int64_t i : llvm::seq(piecesOfThread(panel)))
      panel.rowsB.push_back(
          rowOfB(b, problem, tile, product, pieceAt(i).first));
  }
}

FmaEmitter::Values FmaEmitter::loadSlab(Value index) {
  GemmSlab slab = slabAt(b, problem, schedule, index);
  Values values;
  for (const Panel &panel : panels)
    for (int64_t i : llvm::seq(piecesOfThread(panel))) {
      SlabOfRow row = panel.rowsA.empty()
                          ? slabOfB(b, problem, panel.rowsB[i], slab)
                          : slabOfA(b, problem, panel.rowsA[i], slab);
      llvm::append_range(values, loadPiece(b, problem, schedule, panel.operand,
                                           problem.element, slab, row,
                                           pieceAt(i).second, piece));
    }
  return values;
}

void FmaEmitter::storeSlab(ValueRange values, Value stage) {
  for (const Panel &panel : panels)
    for (int64_t i : llvm::seq(piecesOfThread(panel))) {
      auto [line, depth] = pieceAt(i);
      auto storePiece = [&] {
        Value first = b.add(b.mul(stage, b.i32(schedule.tileDepth)), depth);
        for (int64_t k : llvm::seq(piece)) {
          Value offset =
              b.add(b.mul(b.add(first, b.i32(k)), b.i32(pitch(panel))), line);
          b.store(values[k],
                  b.elementPointer(panel.memory, problem.element, offset));
        }
      };
      bool isWhole =
          (i + 1) * threads <= panel.lines * (schedule.tileDepth / piece);
      if (isWhole)
        storePiece();
      else
        b.ifThen(hasPiece(panel, line), storePiece);
      values = values.drop_front(piece);
    }
}

/// A thread's lines of a panel at one k: `count` of them in runs of `run`,
/// `unit` runs apart.
FmaEmitter::Values FmaEmitter::loadLines(const Panel &panel, Value stage,
                                         Value depth, Value first,
                                         int64_t count, int64_t run,
                                         int64_t unit) {
  Value line = b.mul(b.add(b.mul(stage, b.i32(schedule.tileDepth)), depth),
                     b.i32(pitch(panel)));
  Value start = b.add(line, b.mul(first, b.i32(run)));
  Values values;
  for (int64_t done = 0; done < count; done += run)
    llvm::append_range(
        values, b.loadVector(problem.element,
                             b.elementPointer(panel.memory, problem.element,
                                              b.add(start, b.i32(done * unit))),
                             run));
  return values;
}

/// One k: every accumulator takes one fma.
FmaEmitter::Values FmaEmitter::step(ValueRange accumulators, Value stage,
                                    Value depth) {
  Value threadRow = b.div(b.threadId(), b.i32(schedule.columnUnits));
  Value threadColumn = b.rem(b.threadId(), b.i32(schedule.columnUnits));
  Values rows = loadLines(panels[0], stage, depth, threadRow, rowsOfThread,
                          rowRun, schedule.rowUnits);
  Values next;
  for (int64_t product : llvm::seq(problem.products)) {
    Values columns =
        loadLines(panels[1 + product], stage, depth, threadColumn,
                  columnsOfThread, columnRun, schedule.columnUnits);
    for (int64_t row : llvm::seq(rowsOfThread))
      for (int64_t column : llvm::seq(columnsOfThread))
        next.push_back(
            b.fma(rows[row], columns[column],
                  accumulators[accumulatorIndex(product, row, column)]));
  }
  return next;
}

FmaEmitter::Values FmaEmitter::computeSlab(ValueRange accumulators, Value index,
                                           Value stage) {
  auto whole = [&] {
    Values carried(accumulators);
    for (int64_t k : llvm::seq(schedule.tileDepth))
      carried = step(carried, stage, b.i32(k));
    return carried;
  };
  int64_t rest = problem.depth % schedule.tileDepth;
  if (rest == 0)
    return whole();
  // A tap's last slab is short: a step more would turn an accumulator of -0
  // into +0.
  auto part = [&] {
    return b.forLoop(
        b.i32(0), b.i32(rest), b.i32(1), accumulators,
        [&](Value k, ValueRange carried) { return step(carried, stage, k); });
  };
  Value depth = slabAt(b, problem, schedule, index).depth;
  return b.ifElse(
      b.le(b.add(depth, b.i32(schedule.tileDepth)), b.i32(problem.depth)),
      whole, part);
}

/// While one slab is computed from shared memory the next one is on its way
/// from global memory to registers.
FmaEmitter::Values FmaEmitter::mainLoop() {
  int64_t slabs = countSlabs(problem, schedule);
  storeSlab(loadSlab(b.i32(0)), b.i32(0));
  b.barrier();
  Values zeros(problem.products * rowsOfThread * columnsOfThread,
               b.constant(problem.accumulator, 0));
  return b.forLoop(b.i32(0), b.i32(slabs), b.i32(1), zeros,
                   [&](Value index, ValueRange carried) {
                     Value next =
                         b.min(b.add(index, b.i32(1)), b.i32(slabs - 1));
                     Values loaded = loadSlab(next);
                     Value stage = b.bitAnd(index, b.i32(1));
                     Values accumulators = computeSlab(carried, index, stage);
                     storeSlab(loaded, b.bitXor(stage, b.i32(1)));
                     b.barrier();
                     return accumulators;
                   });
}

void FmaEmitter::epilogue(const GemmTile &tile, ValueRange accumulators) {
  AccumulatorLayout layout;
  Value threadRow = b.div(b.threadId(), b.i32(schedule.columnUnits));
  Value threadColumn = b.rem(b.threadId(), b.i32(schedule.columnUnits));
  for (int64_t row : llvm::seq(rowsOfThread))
    layout.rows.push_back(b.toI64(b.add(
        b.mul(threadRow, b.i32(rowRun)),
        b.i32(row / rowRun * rowRun * schedule.rowUnits + row % rowRun))));
  layout.column =
      b.add(tile.column, b.toI64(b.mul(threadColumn, b.i32(columnRun))));
  for (int64_t column = 0; column < columnsOfThread; column += columnRun)
    layout.runs.push_back(column * schedule.columnUnits);
  layout.runLength = columnRun;
  layout.isFull = problem.columns % schedule.tileColumns == 0;
  emitEpilogue(b, problem, tile, layout,
               [&](int64_t product, int64_t row, int64_t run, int64_t lane) {
                 return accumulators[accumulatorIndex(product, row,
                                                      run * columnRun + lane)];
               });
}

KernelSource FmaEmitter::emit() {
  if (schedule.minBlocks > 1)
    b.setMinBlocksPerProcessor(schedule.minBlocks);
  forEachTile(b, problem, schedule, [&](const GemmTile &tile) {
    makePanels(tile);
    epilogue(tile, mainLoop());
  });
  return b.finish();
}

KernelSource epifold::ptx::emitFmaGemm(const GemmProblem &problem,
                                       const GemmSchedule &schedule) {
  return FmaEmitter(problem, schedule).emit();
}
