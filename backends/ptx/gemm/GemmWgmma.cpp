// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits bf16 and f16 products on Hopper's wgmma: one warpgroup brings slabs of
// the operands into shared memory, others multiply them.

#include "backends/ptx/gemm/AsyncAsm.h"
#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/gemm/WgmmaAsm.h"
#include "backends/ptx/gemm/WgmmaOperands.h"
#include "backends/ptx/gemm/WgmmaStore.h"

#include <utility>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kSlab = 64; // elements of a line: 128 bytes
constexpr int64_t kGroupThreads = 128, kGroupRows = 64;
constexpr int64_t kFragmentColumns = 8; // of which four lanes hold two each
constexpr int64_t kRunFragments = 4;    // of permuted columns
constexpr int64_t kBoxColumns = 64;     // of what WgmmaStore stores at once
/// Eight lines of 128 bytes: the unit of the swizzle.
constexpr int64_t kAlignment = 1024;
/// i64 words in which the producer describes a tile.
constexpr int64_t kTileWords = 4;

/// A matrix of accumulators: 64 lines of one operand by `count` of the other.
struct Accumulators {
  int64_t count;
  /// First lines in a stage of what gives it rows and columns.
  Value lineOfRows, lineOfColumns;
};

/// Warpgroup 0 produces, the others consume. A slab's stage has two barriers:
/// full, when its bytes are there, and empty, when every consumer warp has done
/// with it. With the first slab of a tile the producer says which one it is, so
/// consumers need no search; each goes at its own pace, as far apart as there
/// are stages: while one is in its epilogue, the other has the matrix unit.
class WgmmaEmitter {
public:
  WgmmaEmitter(const GemmProblem &problem, const GemmSchedule &schedule)
      : problem(problem), schedule(schedule),
        consumers(schedule.rowUnits * schedule.columnUnits),
        b(problem.op, "gemm_wgmma", {kGroupThreads * (1 + consumers), 1, 1}),
        operands(b, problem, schedule, kGroupThreads),
        store(schedule.storesBoxes ? std::make_optional<WgmmaStore>(b, problem)
                                   : std::nullopt),
        slabs(countSlabs(problem, schedule)) {
    assert(schedule.tileDepth == kSlab && schedule.residentBlocks);
  }

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  Value groupNumber() { return b.div(b.threadId(), b.i32(kGroupThreads)); }
  Value consumerNumber() { return b.sub(groupNumber(), b.i32(1)); }
  Value threadInGroup() { return b.rem(b.threadId(), b.i32(kGroupThreads)); }
  Value warpInGroup() { return b.div(threadInGroup(), b.i32(32)); }

  /// Stages follow each other by position, the number of the slab in the
  /// block's whole sequence.
  Value stageAt(Value position) {
    return b.rem(position, b.i32(schedule.stages));
  }
  /// Parity of the position's phase of its stage's full barrier.
  Value parityAt(Value position) {
    return b.bitAnd(b.div(position, b.i32(schedule.stages)), b.i32(1));
  }
  Value byteOf(Value stage) {
    return b.mul(stage, b.i32(SlabCopier::stageBytes(problem, schedule)));
  }
  Value full(Value stage) { return b.add(barriers, b.mul(stage, b.i32(8))); }
  Value empty(Value stage) {
    return b.add(full(stage), b.i32(schedule.stages * 8));
  }

  std::pair<int64_t, int64_t> registersOfRoles() const;
  void initBarriers();
  void produce(TileWalk &walk, WgmmaOperands::Role role);
  void announceTile(const GemmTile &tile, Value stage);
  GemmTile readTile(Value stage);
  void consume();
  SmallVector<Accumulators> blocks();
  Value firstRow();
  Value firstColumn();
  int64_t shareOfColumns() const {
    return schedule.tileColumns / schedule.columnUnits;
  }
  int64_t bytesOfStages() const {
    return schedule.stages * SlabCopier::stageBytes(problem, schedule);
  }
  Values multiplySlab(ValueRange accumulators, Value stage);
  Values multiplyTile(Value position);
  void release(Value stage);
  void skipTile(Value position);
  void epilogue(const GemmTile &tile, ValueRange accumulators);
  AccumulatorLayout layoutOfRows(const GemmTile &tile);
  AccumulatorLayout layoutOfColumns(const GemmTile &tile);

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t consumers;
  KernelBuilder b;
  WgmmaOperands operands;
  std::optional<WgmmaStore> store;
  int64_t slabs;
  Value memory, boxes, tiles;
  Value barriers; // i32 address
};
} // namespace

//===--- Producer
//--------------------------------------------------------------------------------------------------===//

void WgmmaEmitter::initBarriers() {
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] {
    for (int64_t stage : llvm::seq(schedule.stages)) {
      initBarrier(b, full(b.i32(stage)), operands.arrivals());
      initBarrier(b, empty(b.i32(stage)), consumers * 4);
    }
    fenceBarrierInits(b);
  });
  b.barrier();
}

/// No tile ends at a row before its first one: that is how the last message
/// says that there is none.
void WgmmaEmitter::announceTile(const GemmTile &tile, Value stage) {
  Value first = b.mul(stage, b.i32(kTileWords));
  Value words[kTileWords] = {tile.group, tile.row, tile.rowEnd, tile.column};
  for (int64_t i : llvm::seq(kTileWords))
    b.store(words[i],
            b.elementPointer(tiles, b.getI64Type(), b.add(first, b.i32(i))));
}

GemmTile WgmmaEmitter::readTile(Value stage) {
  Value first = b.mul(stage, b.i32(kTileWords));
  Values words =
      b.loadVector(b.getI64Type(),
                   b.elementPointer(tiles, b.getI64Type(), first), kTileWords);
  return {words[0], {}, words[1], words[2], words[3]};
}

/// The tiles' slabs, as far as they are the role's. A warp goes this way
/// together, as finding a tile takes all of it; then one lane copies boxes.
void WgmmaEmitter::produce(TileWalk &walk, WgmmaOperands::Role role) {
  using Role = WgmmaOperands::Role;
  auto acquire = [&](Value position) {
    Value stage = stageAt(position);
    waitForPhase(b, empty(stage), b.bitXor(parityAt(position), b.i32(1)));
    return stage;
  };
  auto forCopiers = [&](llvm::function_ref<void()> body) {
    if (role == Role::All)
      body();
    else
      b.ifThen(b.eq(b.laneId(), b.i32(0)), body);
  };
  // The message is part of the first slab, whose barrier makes it seen.
  auto announce = [&](const GemmTile &tile, Value stage) {
    if (role != Role::Bs)
      b.ifThen(b.eq(b.threadId(), b.i32(0)),
               [&] { announceTile(tile, stage); });
  };
  auto copy = [&](Value slab, Value stage) {
    operands.copySlab(role, slab, byteOf(stage), full(stage));
  };

  Value end = b.whileLoop(
      {walk.first(), b.i32(0)},
      [&](ValueRange carried) { return walk.exists(carried[0]); },
      [&](ValueRange carried) -> Values {
        GemmTile tile = walk.at(carried[0]);
        operands.locate(tile, memory);
        forCopiers([&] {
          Value stage = acquire(carried[1]);
          announce(tile, stage);
          copy(b.i32(0), stage);
          b.forLoop(b.i32(1), b.i32(slabs), b.i32(1), [&](Value slab) {
            copy(slab, acquire(b.add(carried[1], slab)));
          });
        });
        return {walk.next(carried[0]), b.add(carried[1], b.i32(slabs))};
      })[1];
  forCopiers([&] {
    Value stage = acquire(end);
    GemmTile none = {b.i64(0), b.i64(0), b.i64(1), b.i64(0), b.i64(0)};
    announce(none, stage);
    operands.skipSlab(role, full(stage));
  });
}

//===--- Consumers
//-------------------------------------------------------------------------------------------------===//

/// The accumulators of the calling warpgroup. The B's lie one after the other
/// in a stage: a warpgroup that has all columns multiplies A by all of them in
/// one instruction.
SmallVector<Accumulators> WgmmaEmitter::blocks() {
  Value consumer = consumerNumber();
  Value rowUnit = b.div(consumer, b.i32(schedule.columnUnits));
  Value columnUnit = b.rem(consumer, b.i32(schedule.columnUnits));
  Value rows = b.mul(rowUnit, b.i32(kGroupRows));
  auto lineOfB = [&](int64_t product, Value column) {
    int64_t first = schedule.tileRows + product * schedule.tileColumns;
    return b.add(b.i32(first), column);
  };
  SmallVector<Accumulators> result;
  if (schedule.swapsOperands) {
    for (int64_t product : llvm::seq(problem.products)) {
      Value column = b.mul(columnUnit, b.i32(shareOfColumns()));
      result.push_back({schedule.tileRows, lineOfB(product, column), b.i32(0)});
    }
  } else if (schedule.columnUnits == 1) {
    result.push_back(
        {problem.products * schedule.tileColumns, rows, lineOfB(0, b.i32(0))});
  } else {
    int64_t share = shareOfColumns();
    for (int64_t product : llvm::seq(problem.products))
      result.push_back(
          {share, rows, lineOfB(product, b.mul(columnUnit, b.i32(share)))});
  }
  return result;
}

/// Starts the products of a slab.
///
/// All steps of a slab are taken, those past the end of a tap too: there both
/// operands are +0, and a step of zero products leaves the accumulator's bits
/// alone. (It would turn -0 into +0, but no step gives -0.)
WgmmaEmitter::Values WgmmaEmitter::multiplySlab(ValueRange accumulators,
                                                Value stage) {
  auto descriptor = [&](Value line) {
    return matrixDescriptor(
        b, memory, b.add(byteOf(stage), b.mul(line, b.i32(kSlab * 2))));
  };
  SmallVector<WgmmaPart> parts;
  for (const Accumulators &block : blocks())
    parts.push_back({block.count, descriptor(block.lineOfRows),
                     descriptor(block.lineOfColumns)});
  return startWgmma(b, problem.element, parts, kSlab, accumulators);
}

void WgmmaEmitter::release(Value stage) {
  b.ifThen(b.eq(b.laneId(), b.i32(0)), [&] { arrive(b, empty(stage)); });
}

/// The sums of the tile whose slabs start at `position`. The products of a slab
/// start while those of the one before still run, whose stage is then free.
WgmmaEmitter::Values WgmmaEmitter::multiplyTile(Value position) {
  auto step = [&](ValueRange accumulators, Value current) {
    Value stage = stageAt(current);
    waitForPhase(b, full(stage), parityAt(current));
    // cp.async writes as threads do; wgmma reads by another way.
    if (operands.usesThreads())
      fenceShared(b);
    return waitForWgmma(b, multiplySlab(accumulators, stage), /*running=*/1);
  };
  int64_t count = 0;
  for (const Accumulators &block : blocks())
    count += block.count / 2;
  Values zeros(count, b.constant(b.getF32Type(), 0));
  Values first = step(zeros, position);
  Values sums = b.forLoop(b.i32(1), b.i32(slabs), b.i32(1), first,
                          [&](Value slab, ValueRange carried) {
                            Value current = b.add(position, slab);
                            Values result = step(carried, current);
                            release(stageAt(b.sub(current, b.i32(1))));
                            return result;
                          });
  sums = waitForWgmma(b, sums, /*running=*/0);
  release(stageAt(b.add(position, b.i32(slabs - 1))));
  return sums;
}

/// Passes over a tile of which the calling warpgroup has no rows.
void WgmmaEmitter::skipTile(Value position) {
  b.forLoop(b.i32(0), b.i32(slabs), b.i32(1), [&](Value slab) {
    Value current = b.add(position, slab), stage = stageAt(current);
    waitForPhase(b, full(stage), parityAt(current));
    release(stage);
  });
}

/// The calling warpgroup's first row in a tile, i64.
Value WgmmaEmitter::firstRow() {
  if (schedule.swapsOperands || schedule.rowUnits == 1)
    return b.i64(0);
  Value unit = b.div(consumerNumber(), b.i32(schedule.columnUnits));
  return b.toI64(b.mul(unit, b.i32(kGroupRows)));
}

/// And its first column.
Value WgmmaEmitter::firstColumn() {
  if (schedule.columnUnits == 1)
    return b.i64(0);
  Value unit = b.rem(consumerNumber(), b.i32(schedule.columnUnits));
  return b.toI64(b.mul(unit, b.i32(shareOfColumns())));
}

void WgmmaEmitter::consume() {
  if (store)
    store->enter(boxes, consumerNumber(), shareOfColumns() / kBoxColumns);
  auto receive = [&](Value position) {
    Value stage = stageAt(position);
    waitForPhase(b, full(stage), parityAt(position));
    return readTile(stage);
  };
  auto carry = [&](Value position, const GemmTile &tile) -> Values {
    return {position, tile.group, tile.row, tile.rowEnd, tile.column};
  };
  b.whileLoop(
      carry(b.i32(0), receive(b.i32(0))),
      [&](ValueRange carried) { return b.lt(carried[2], carried[3]); },
      [&](ValueRange carried) {
        Value position = carried[0];
        GemmTile tile = {carried[1], {}, carried[2], carried[3], carried[4]};
        Value hasRows = b.lt(b.add(tile.row, firstRow()), tile.rowEnd);
        b.ifElse(
            hasRows,
            [&]() -> Values {
              epilogue(tile, multiplyTile(position));
              return {};
            },
            [&]() -> Values {
              skipTile(position);
              return {};
            });
        Value next = b.add(position, b.i32(slabs));
        return carry(next, receive(next));
      });
  if (store)
    store->finish();
}

//===--- Epilogue
//--------------------------------------------------------------------------------------------------===//

/// Warp w of a group holds its rows 16 w ...; lane l of it holds rows l / 4 and
/// l / 4 + 8, and of each 32 columns the run l mod 4, or, where columns are not
/// permuted, of each 8.
AccumulatorLayout WgmmaEmitter::layoutOfRows(const GemmTile &tile) {
  bool permutes = WgmmaOperands::permutesColumns(problem, schedule);
  int64_t lanes = 4;
  AccumulatorLayout layout;
  layout.runLength = permutes ? kRunFragments * 2 : 2;
  Value row =
      b.add(b.toI32(firstRow()), b.add(b.mul(warpInGroup(), b.i32(16)),
                                       b.div(b.laneId(), b.i32(lanes))));
  for (int64_t half : {0, 8})
    layout.rows.push_back(b.toI64(b.add(row, b.i32(half))));
  Value column =
      b.mul(b.rem(b.laneId(), b.i32(lanes)), b.i32(layout.runLength));
  layout.column = b.add(b.add(tile.column, firstColumn()), b.toI64(column));
  for (int64_t run = 0; run < shareOfColumns(); run += lanes * layout.runLength)
    layout.runs.push_back(run);
  return layout;
}

/// With swapped operands the same for columns: lane l holds columns l / 4 and
/// l / 4 + 8 of the warp's sixteen, and of each eight rows 2 (l mod 4) and the
/// next one.
AccumulatorLayout WgmmaEmitter::layoutOfColumns(const GemmTile &tile) {
  AccumulatorLayout layout;
  Value row = b.mul(b.rem(b.laneId(), b.i32(4)), b.i32(2));
  for (int64_t first = 0; first < schedule.tileRows; first += kFragmentColumns)
    for (int64_t next : {0, 1})
      layout.rows.push_back(b.toI64(b.add(row, b.i32(first + next))));
  Value unit = b.rem(consumerNumber(), b.i32(schedule.columnUnits));
  Value column = b.add(
      b.mul(unit, b.i32(kGroupRows)),
      b.add(b.mul(warpInGroup(), b.i32(16)), b.div(b.laneId(), b.i32(4))));
  layout.column = b.add(tile.column, b.toI64(column));
  layout.runs = {0, 8};
  layout.runLength = 1;
  return layout;
}

void WgmmaEmitter::epilogue(const GemmTile &tile, ValueRange accumulators) {
  bool swaps = schedule.swapsOperands;
  AccumulatorLayout layout = swaps ? layoutOfColumns(tile) : layoutOfRows(tile);
  layout.isFull = problem.columns % schedule.tileColumns == 0;
  int64_t ofProduct = accumulators.size() / problem.products;
  // Four accumulators a fragment: two neighbours along the instruction's
  // columns, then the same eight rows further.
  auto at = [&](int64_t product, int64_t row, int64_t run, int64_t lane) {
    int64_t inProduct = swaps ? row / 2 * 4 + run * 2 + row % 2
                              : (run * layout.runLength / 2 + lane / 2) * 4 +
                                    row * 2 + lane % 2;
    return accumulators[product * ofProduct + inProduct];
  };
  auto emitDirectly = [&]() -> Values {
    emitEpilogue(b, problem, tile, layout, at);
    return {};
  };
  if (!store) {
    emitDirectly();
    return;
  }
  Value row = b.add(tile.row, firstRow());
  Value column = b.add(tile.column, firstColumn());
  Value isFull = b.logicalAnd(
      b.le(b.add(row, b.i64(kGroupRows)), tile.rowEnd),
      b.le(b.add(column, b.i64(shareOfColumns())), b.i64(problem.columns)));
  b.ifElse(
      isFull,
      [&]() -> Values {
        AccumulatorLayout full = layout;
        full.isFull = true;
        store->locate(tile.group, row, column);
        emitEpilogue(b, problem, tile, full, at, *store);
        return {};
      },
      emitDirectly);
}

/// Registers of a producer's and of a consumer's thread: what three warpgroups
/// have of a multiprocessor, shared out. Addresses of gathered rows take some.
std::pair<int64_t, int64_t> WgmmaEmitter::registersOfRoles() const {
  assert(consumers == 2);
  if (operands.usesThreads())
    return {72, 216};
  return {40, 232};
}

KernelSource WgmmaEmitter::emit() {
  // Without it the registers at entry, which the warpgroups share out, are not
  // known.
  b.setMinBlocksPerProcessor(1);
  // All is dynamic: not every linker of the driver aligns what is dynamic
  // behind what is static as it asks for.
  int64_t bytes = bytesOfStages();
  auto place = [&](int64_t size) { return std::exchange(bytes, bytes + size); };
  int64_t boxesAt = place(store ? WgmmaStore::sharedBytes(consumers) : 0);
  int64_t tilesAt = place(8 * kTileWords * schedule.stages);
  int64_t barriersAt = place(8 * 2 * schedule.stages);
  int64_t walkAt = place(TileWalk::sharedBytes(problem, schedule));
  memory = b.dynamicShared(bytes, kAlignment);
  auto at = [&](int64_t byte) {
    return b.elementPointer(memory, b.getI8Type(), b.i32(byte));
  };
  boxes = at(boxesAt);
  tiles = at(tilesAt);
  barriers = sharedAddress(b, at(barriersAt));
  TileWalk walk(b, problem, schedule, at(walkAt));
  initBarriers();
  auto [ofProducer, ofConsumers] = registersOfRoles();
  b.ifElse(
      b.eq(groupNumber(), b.i32(0)),
      [&]() -> Values {
        giveRegistersBack(b, ofProducer);
        using Role = WgmmaOperands::Role;
        if (operands.usesThreads()) {
          produce(walk, Role::All);
        } else {
          // A warp for each operand: one alone is slower than small slabs are
          // multiplied.
          auto byWarp = [&](int64_t warp, Role role) {
            b.ifThen(b.eq(b.warpId(), b.i32(warp)),
                     [&] { produce(walk, role); });
          };
          byWarp(0, Role::A);
          byWarp(1, Role::Bs);
        }
        return {};
      },
      [&]() -> Values {
        takeRegisters(b, ofConsumers);
        consume();
        return {};
      });
  return b.finish();
}

KernelSource epifold::ptx::emitWgmmaGemm(const GemmProblem &problem,
                                         const GemmSchedule &schedule) {
  return WgmmaEmitter(problem, schedule).emit();
}
