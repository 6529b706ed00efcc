// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits bf16 and f16 products on Hopper's wgmma, which reads both operands from
// shared memory.

#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/WgmmaAsm.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kSlab = 64; // elements of a line: 128 bytes
constexpr int64_t kGroupThreads = 128, kGroupRows = 64;
constexpr int64_t kFragmentColumns = 8; // of which four lanes hold two each
constexpr int64_t kRunFragments = 4, kRunLength = 8; // of a thread
/// Eight lines of 128 bytes: the unit of the swizzle.
constexpr int64_t kAlignment = 1024;

class WgmmaEmitter {
public:
  WgmmaEmitter(const GemmProblem &problem, const GemmSchedule &schedule)
      : problem(problem), schedule(schedule),
        columns(problem.products * schedule.tileColumns),
        b(problem.op, "gemm_mma",
          {kGroupThreads * schedule.rowUnits * schedule.columnUnits, 1, 1}),
        copier(b, problem, schedule,
               kGroupThreads * schedule.rowUnits * schedule.columnUnits),
        slabs(countSlabs(problem, schedule)),
        ahead(std::min(schedule.stages - 2, slabs - 1)) {
    assert(schedule.tileDepth == kSlab && schedule.columnUnits == 1 &&
           schedule.tileRows == kGroupRows * schedule.rowUnits);
  }

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  Value groupNumber() { return b.div(b.threadId(), b.i32(kGroupThreads)); }
  /// The first byte of the stage of the slab at `position`.
  Value stageOf(Value position) {
    return b.mul(b.rem(position, b.i32(schedule.stages)),
                 b.i32(copier.stageBytes()));
  }
  Values multiplySlab(ValueRange accumulators, Value stageStart);
  Values iterate(ValueRange accumulators, Value position,
                 llvm::function_ref<void()> copy);
  std::pair<Value, GemmTile> computeTile(TileWalk &walk, const GemmTile &tile,
                                         Value number, Value position);
  void epilogue(const GemmTile &tile, ValueRange accumulators);

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t columns; // of all products together
  KernelBuilder b;
  SlabCopier copier;
  int64_t slabs;
  /// Slabs on their way while one is multiplied.
  int64_t ahead;
  Value memory;
};
} // namespace

/// Starts the products of a slab. The B's lie one after the other, so that one
/// instruction multiplies A by all of them.
///
/// All steps of a slab are taken, those past the end of a tap too: there both
/// operands are +0, and a step of zero products leaves the accumulator's bits
/// alone. (It would turn -0 into +0, but no step gives -0.)
WgmmaEmitter::Values WgmmaEmitter::multiplySlab(ValueRange accumulators,
                                                Value stageStart) {
  Value firstByte = b.add(
      stageStart, b.mul(groupNumber(), b.i32(kGroupRows * copier.lineBytes())));
  Value a = matrixDescriptor(b, memory, firstByte);
  Value bs = matrixDescriptor(b, memory,
                              b.add(stageStart, b.i32(copier.firstByteOfB(0))));
  return startWgmma(b, problem.element, columns, kSlab, accumulators, a, bs);
}

/// Multiplies the slab at `position` of the block's whole sequence while `copy`
/// starts the copies of the one `ahead` of it.
///
/// The products start while those of the slab before still run, and the
/// iteration ends when the latter are done: so past the barrier all threads are
/// done with the slab before that, whose stage takes the copies.
WgmmaEmitter::Values WgmmaEmitter::iterate(ValueRange accumulators,
                                           Value position,
                                           llvm::function_ref<void()> copy) {
  // Every thread makes its own copies visible to wgmma, which reads shared
  // memory by another way than loads and stores do.
  NVVM::CpAsyncWaitGroupOp::create(b, ahead - 1);
  fenceSharedForWgmma(b);
  b.barrier();
  Values running = multiplySlab(accumulators, stageOf(position));
  copy();
  NVVM::CpAsyncCommitGroupOp::create(b);
  return waitForWgmma(b, running, /*running=*/1);
}

/// A tile whose first slabs are copied or on their way; `position` is the first
/// one's place in the block's sequence. The last iterations copy the first
/// slabs of the tile after it, which is returned with its number; what its rows
/// need is loaded while products run.
std::pair<Value, GemmTile> WgmmaEmitter::computeTile(TileWalk &walk,
                                                     const GemmTile &tile,
                                                     Value number,
                                                     Value position) {
  auto copyAhead = [&](Value slab) {
    Value next = b.add(slab, b.i32(ahead));
    copier.copySlab(next, stageOf(b.add(position, next)));
  };
  auto iterateAt = [&](ValueRange accumulators, Value slab) {
    return iterate(accumulators, b.add(position, slab),
                   [&] { copyAhead(slab); });
  };
  Values zeros(columns / 2, b.constant(b.getF32Type(), 0));
  Values first = iterateAt(zeros, b.i32(0));

  Value next = walk.next(number), hasNext = walk.exists(next);
  GemmTile nextTile = walk.at(b.select(hasNext, next, number));

  Values last = b.forLoop(
      b.i32(1), b.i32(slabs - ahead), b.i32(1), first,
      [&](Value slab, ValueRange carried) { return iterateAt(carried, slab); });
  copier.locate(nextTile, memory);
  for (int64_t slab : llvm::seq(ahead)) {
    Value current = b.add(position, b.i32(slabs - ahead + slab));
    last = iterate(last, current, [&] {
      b.ifThen(hasNext, [&] {
        copier.copySlab(b.i32(slab), stageOf(b.add(current, b.i32(ahead))));
      });
    });
  }
  epilogue(tile, waitForWgmma(b, last, /*running=*/0));
  return {next, nextTile};
}

void WgmmaEmitter::epilogue(const GemmTile &tile, ValueRange accumulators) {
  // Warp w of a group holds its rows 16 w ...; lane l of it holds rows l / 4
  // and l / 4 + 8, and of each 32 columns the run l mod 4, as SlabCopier has
  // placed the columns.
  AccumulatorLayout layout;
  Value firstRow =
      b.add(b.mul(b.warpId(), b.i32(16)), b.div(b.laneId(), b.i32(4)));
  for (int64_t row : {0, 8})
    layout.rows.push_back(b.toI64(b.add(firstRow, b.i32(row))));
  Value firstColumn = b.mul(b.rem(b.laneId(), b.i32(4)), b.i32(kRunLength));
  layout.column = b.add(tile.column, b.toI64(firstColumn));
  for (int64_t column = 0; column < schedule.tileColumns;
       column += kRunFragments * kFragmentColumns)
    layout.runs.push_back(column);
  layout.runLength = kRunLength;
  layout.isFull = problem.columns % schedule.tileColumns == 0;

  // Fragment 4 i + f of the thread holds columns 2 f and 2 f + 1 of run i.
  emitEpilogue(b, problem, tile, layout,
               [&](int64_t product, int64_t row, int64_t run, int64_t lane) {
                 int64_t fragment =
                     product * schedule.tileColumns / kFragmentColumns +
                     run * kRunFragments + lane / 2;
                 return accumulators[fragment * 4 + row * 2 + lane % 2];
               });
}

KernelSource WgmmaEmitter::emit() {
  if (schedule.minBlocks > 1)
    b.setMinBlocksPerProcessor(schedule.minBlocks);
  TileWalk walk(b, problem, schedule);
  memory = b.dynamicShared(schedule.stages * copier.stageBytes(), kAlignment);
  Value number = walk.first();
  b.ifThen(walk.exists(number), [&] {
    GemmTile tile = walk.at(number);
    copier.locate(tile, memory);
    for (int64_t slab : llvm::seq(ahead)) {
      copier.copySlab(b.i32(slab), stageOf(b.i32(slab)));
      NVVM::CpAsyncCommitGroupOp::create(b);
    }
    Values state = {number,   b.i32(0),    tile.group, tile.groupOfB,
                    tile.row, tile.rowEnd, tile.column};
    llvm::append_range(state, copier.getRows());
    b.whileLoop(
        state, [&](ValueRange carried) { return walk.exists(carried[0]); },
        [&](ValueRange carried) {
          GemmTile current = {carried[2], carried[3], carried[4], carried[5],
                              carried[6]};
          copier.setRows(carried.drop_front(7));
          auto [next, after] =
              computeTile(walk, current, carried[0], carried[1]);
          Values result = {next,        b.add(carried[1], b.i32(slabs)),
                           after.group, after.groupOfB,
                           after.row,   after.rowEnd,
                           after.column};
          llvm::append_range(result, copier.getRows());
          return result;
        });
  });
  return b.finish();
}

KernelSource epifold::ptx::emitWgmmaGemm(const GemmProblem &problem,
                                         const GemmSchedule &schedule) {
  return WgmmaEmitter(problem, schedule).emit();
}
