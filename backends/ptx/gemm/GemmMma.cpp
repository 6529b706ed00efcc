// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits bf16 and f16 products on mma.sync: ldmatrix, m16n8k16.

#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/TileLeaves.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kSlab = 32; // elements of a line of shared memory
constexpr int64_t kStep = 16; // k of one mma
constexpr int64_t kMmaRows = 16, kMmaColumns = 8;

class MmaEmitter {
public:
  MmaEmitter(const GemmProblem &problem, const GemmSchedule &schedule)
      : problem(problem), schedule(schedule),
        threads(32 * schedule.rowUnits * schedule.columnUnits),
        rowFragments(schedule.tileRows / schedule.rowUnits / kMmaRows),
        columnFragments(schedule.tileColumns / schedule.columnUnits /
                        kMmaColumns),
        b(problem.launch, "gemm_mma", {threads, 1, 1}),
        copier(b, problem, schedule, threads) {
    assert(schedule.tileDepth == kSlab);
  }

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  Values loadFragment(Value address);
  Value multiply(ArrayRef<Value> a, ArrayRef<Value> bOperand,
                 ArrayRef<Value> c);
  Values computeStep(ValueRange accumulators, ArrayRef<Values> columns,
                     Value stageStart, int64_t stepInSlab);
  Values computeSlab(ValueRange accumulators, Value index, Value stageStart);
  Values mainLoop();
  void epilogue(const GemmTile &tile, ValueRange accumulators);

  Value shared(Value byte) {
    return b.elementPointer(memory, b.getI8Type(), byte);
  }
  Value warpRow() {
    return b.mul(b.div(b.warpId(), b.i32(schedule.columnUnits)),
                 b.i32(rowFragments * kMmaRows));
  }
  Value warpColumn() {
    return b.mul(b.rem(b.warpId(), b.i32(schedule.columnUnits)),
                 b.i32(columnFragments * kMmaColumns));
  }
  /// The first of the four accumulators of a fragment.
  int64_t accumulatorIndex(int64_t product, int64_t row, int64_t column) const {
    return ((product * rowFragments + row) * columnFragments + column) * 4;
  }

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t threads, rowFragments, columnFragments;
  KernelBuilder b;
  SlabCopier copier;
  Value memory;
};
} // namespace

//===--- Shared memory to accumulators
//-----------------------------------------------------------------------------===//

/// Four 8×8 matrices, one 32-bit register a lane each.
MmaEmitter::Values MmaEmitter::loadFragment(Value byte) {
  Type i32 = b.getI32Type();
  Type type =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32});
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value loaded =
      NVVM::LdMatrixOp::create(b, type, shared(byte), 4, NVVM::MMALayout::row,
                               shape, NVVM::LdStMatrixEltType::B16);
  Values registers;
  for (int64_t i : llvm::seq(4)) {
    Value value = LLVM::ExtractValueOp::create(b, loaded, i);
    // The f16 form of the op takes pairs, the bf16 form plain registers.
    if (problem.element.isF16())
      value = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()),
                                      value);
    registers.push_back(value);
  }
  return registers;
}

Value MmaEmitter::multiply(ArrayRef<Value> a, ArrayRef<Value> bOperand,
                           ArrayRef<Value> c) {
  Type f32 = b.getF32Type();
  Type type =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  NVVM::MMATypes element =
      problem.element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  return NVVM::MmaOp::create(
      b, type, a, bOperand, c, ArrayRef<int64_t>{kMmaRows, kMmaColumns, kStep},
      std::nullopt, std::nullopt, std::array{element, element},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
}

/// Sixteen k of a slab; `columns` holds B's fragments of the whole slab.
MmaEmitter::Values MmaEmitter::computeStep(ValueRange accumulators,
                                           ArrayRef<Values> columns,
                                           Value stageStart,
                                           int64_t stepInSlab) {
  // Lane l addresses line l mod 16, and piece l / 16 of the step.
  Value line = b.add(warpRow(), b.rem(b.laneId(), b.i32(16)));
  Value piece = b.add(b.div(b.laneId(), b.i32(16)),
                      b.i32(stepInSlab * kStep / SlabCopier::kPiece));
  Value first = b.add(stageStart, copier.swizzledByte(line, piece));
  SmallVector<Values> rows;
  for (int64_t row : llvm::seq(rowFragments))
    rows.push_back(
        loadFragment(b.add(first, b.i32(row * kMmaRows * copier.lineBytes()))));
  Values next(accumulators);
  for (int64_t product : llvm::seq(problem.products))
    for (int64_t row : llvm::seq(rowFragments))
      for (int64_t column : llvm::seq(columnFragments)) {
        int64_t index = accumulatorIndex(product, row, column);
        ArrayRef<Value> fragment =
            ArrayRef(columns[product * columnFragments + column])
                .slice(2 * stepInSlab, 2);
        Value result =
            multiply(rows[row], fragment, ArrayRef(next).slice(index, 4));
        for (int64_t i : llvm::seq(4))
          next[index + i] = LLVM::ExtractValueOp::create(b, result, i);
      }
  return next;
}

MmaEmitter::Values MmaEmitter::computeSlab(ValueRange accumulators, Value index,
                                           Value stageStart) {
  // Lane l addresses line l mod 8, and piece l / 8: the registers of both steps
  // of eight columns in one load.
  Value line = b.add(warpColumn(), b.rem(b.laneId(), b.i32(8)));
  Value first =
      b.add(stageStart, copier.swizzledByte(line, b.div(b.laneId(), b.i32(8))));
  SmallVector<Values> columns;
  for (int64_t product : llvm::seq(problem.products))
    for (int64_t column : llvm::seq(columnFragments)) {
      int64_t byte = copier.firstByteOfB(product) +
                     column * kMmaColumns * copier.lineBytes();
      columns.push_back(loadFragment(b.add(first, b.i32(byte))));
    }
  Values half = computeStep(accumulators, columns, stageStart, 0);
  int64_t rest = problem.depth % kSlab;
  if (rest == 0 || rest > kStep)
    return computeStep(half, columns, stageStart, 1);
  // The second half of a tap's last slab is no step of the product.
  Value depth = slabAt(b, problem, schedule, index).depth;
  return b.ifElse(
      b.le(b.add(depth, b.i32(kSlab)), b.i32(problem.depth)),
      [&] { return computeStep(half, columns, stageStart, 1); },
      [&] { return half; });
}

MmaEmitter::Values MmaEmitter::mainLoop() {
  int64_t count = problem.products * rowFragments * columnFragments * 4;
  Values zeros(count, b.constant(b.getF32Type(), 0));
  return copier.forEachSlab(
      zeros, [&](ValueRange carried, Value index, Value stageStart) {
        return computeSlab(carried, index, stageStart);
      });
}

void MmaEmitter::epilogue(const GemmTile &tile, ValueRange accumulators) {
  // Of a fragment lane l holds columns 2 (l mod 4) and the next one of rows l /
  // 4 and l / 4 + 8.
  AccumulatorLayout layout;
  Value firstRow = b.add(warpRow(), b.div(b.laneId(), b.i32(4)));
  for (int64_t row : llvm::seq(rowFragments * 2))
    layout.rows.push_back(b.toI64(b.add(firstRow, b.i32(row * 8))));
  Value firstColumn =
      b.add(warpColumn(), b.mul(b.rem(b.laneId(), b.i32(4)), b.i32(2)));
  layout.column = b.add(tile.column, b.toI64(firstColumn));
  for (int64_t column : llvm::seq(columnFragments))
    layout.runs.push_back(column * kMmaColumns);
  layout.runLength = 2;
  layout.isFull = problem.columns % schedule.tileColumns == 0;
  GemmEpilogue(b, problem, tile, layout)
      .emit([&](int64_t product, int64_t row, int64_t run, int64_t lane) {
        return accumulators[accumulatorIndex(product, row / 2, run) +
                            row % 2 * 2 + lane];
      });
}

KernelSource MmaEmitter::emit() {
  if (schedule.minBlocks > 1)
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

KernelSource epifold::ptx::emitMmaGemm(const GemmProblem &problem,
                                       const GemmSchedule &schedule) {
  return MmaEmitter(problem, schedule).emit();
}
