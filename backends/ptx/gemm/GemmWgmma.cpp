// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits bf16 and f16 products on Hopper's wgmma: one warpgroup brings slabs of
// the operands into shared memory, others multiply them.

#include "backends/ptx/gemm/AsyncAsm.h"
#include "backends/ptx/gemm/DeferredEpilogue.h"
#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/gemm/TileFeed.h"
#include "backends/ptx/gemm/TileLeaves.h"
#include "backends/ptx/gemm/WgmmaAsm.h"
#include "backends/ptx/gemm/WgmmaOperands.h"
#include "backends/ptx/gemm/WgmmaPipeline.h"
#include "backends/ptx/gemm/WgmmaShare.h"

#include <utility>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kSlab = 64; // elements of a line: 128 bytes
constexpr int64_t kGroupThreads = WgmmaShare::kThreads, kGroupWarps = 4;
/// Eight lines of 128 bytes: the unit of the swizzle.
constexpr int64_t kAlignment = 1024;

/// Warpgroup 0 produces, the others consume. One warp searches tiles and tells
/// all others; each consumer goes at its own pace, as far apart as there are
/// stages: while one is in its epilogue, the other has the matrix unit.
class WgmmaEmitter {
public:
  WgmmaEmitter(const GemmProblem &problem, const GemmSchedule &schedule)
      : problem(problem), schedule(schedule),
        consumers(schedule.rowUnits * schedule.columnUnits),
        b(problem.launch, "gemm_wgmma", {kGroupThreads * (1 + consumers), 1, 1},
          /*usesStatus=*/TileFeed::drawsTiles(problem, schedule)),
        operands(b, problem, schedule, kGroupThreads),
        deferred(schedule.defersEpilogue ? std::make_optional<DeferredEpilogue>(
                                               b, problem, schedule)
                                         : std::nullopt),
        pipeline(b, schedule.stages, SlabCopier::stageBytes(problem, schedule)),
        feed(b, problem, schedule), slabs(countSlabs(problem, schedule)) {
    assert(schedule.tileDepth == kSlab && schedule.residentBlocks);
  }

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  using Role = WgmmaOperands::Role;

  Value groupNumber() { return b.div(b.threadId(), b.i32(kGroupThreads)); }
  WgmmaShare share() {
    return {b, problem, schedule, b.sub(groupNumber(), b.i32(1))};
  }

  std::pair<int64_t, int64_t> registersOfRoles() const;
  bool copiesEarly() const;
  void produceAll(TileWalk &walk);
  void produce(TileWalk &walk, Role role);
  void consume();
  Values multiplySlab(ValueRange accumulators, Value stage);
  Values multiplyTile(Value position, ValueRange kept);
  void skipTile(Value position);
  Values multiplyAndStore(GemmTile tile, Value sequence, Value position,
                          ValueRange kept);

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t consumers;
  KernelBuilder b;
  WgmmaOperands operands;
  std::optional<DeferredEpilogue> deferred;
  std::optional<TileLeaves> leaves;
  WgmmaPipeline pipeline;
  TileFeed feed;
  int64_t slabs;
  Value memory;
};
} // namespace

//===--- Producer
//--------------------------------------------------------------------------------------------------===//

/// A tile and what goes with it around a loop.
static KernelBuilder::Values carry(const GemmTile &tile, ValueRange others) {
  KernelBuilder::Values values = {tile.group, tile.groupOfB, tile.row,
                                  tile.rowEnd, tile.column};
  llvm::append_range(values, others);
  return values;
}
static GemmTile tileOf(ValueRange carried) {
  return {carried[0], carried[1], carried[2], carried[3], carried[4]};
}
static ValueRange othersOf(ValueRange carried) { return carried.drop_front(5); }

/// The tiles' slabs, as far as they are the role's. A warp goes this way
/// together, as finding a tile takes all of it; where boxes are copied, one
/// lane does so. The block's first warp leads.
void WgmmaEmitter::produce(TileWalk &walk, Role role) {
  Value zero = b.i32(0);
  bool mayLead = role != Role::Bs;
  auto forThose = [&](Value condition, llvm::function_ref<Value()> body) {
    return b.ifElse(
        condition, [&]() -> Values { return {body()}; },
        [&]() -> Values { return {zero}; })[0];
  };
  auto forCopiers = [&](llvm::function_ref<Value()> body) {
    return role == Role::All ? body() : forThose(b.eq(b.laneId(), zero), body);
  };
  auto tell = [&](Value number, Value sequence) {
    if (mayLead)
      b.ifThen(b.eq(b.warpId(), zero),
               [&] { feed.tell(walk, number, sequence); });
  };
  // The next tile is drawn before the last slab, as the answer takes a while.
  auto drawAtLast = [&](Value slab) {
    if (!mayLead)
      return zero;
    return forThose(
        b.logicalAnd(b.eq(slab, b.i32(slabs - 1)), b.eq(b.threadId(), zero)),
        [&] { return feed.draw(walk); });
  };
  auto copySlabs = [&](Value position) {
    return b.forLoop(zero, b.i32(slabs), b.i32(1), {zero},
                     [&](Value slab, ValueRange) -> Values {
                       Value ticket = drawAtLast(slab);
                       Value stage = pipeline.acquire(b.add(position, slab));
                       operands.copySlab(role, slab, pipeline.byteOf(stage),
                                         pipeline.full(stage));
                       return {ticket};
                     })[0];
  };

  Value first = mayLead ? walk.first() : zero;
  tell(first, zero);
  // What copies B knows its first tile now.
  if (copiesEarly() && mayLead)
    b.waitForPrevious();
  // Carries the tile, its number in the sequence, its first slab's position,
  // and the leader's number in the walk.
  Value end = othersOf(b.whileLoop(
      carry(feed.await(zero), {zero, zero, first}),
      [&](ValueRange carried) { return feed.isTile(tileOf(carried)); },
      [&](ValueRange carried) -> Values {
        ValueRange others = othersOf(carried);
        Value position = others[1], number = others[2];
        operands.locate(tileOf(carried), memory);
        Value ticket = forCopiers([&] { return copySlabs(position); });
        if (mayLead)
          number = forThose(b.eq(b.warpId(), zero),
                            [&] { return feed.next(walk, number, ticket); });
        Value sequence = b.add(others[0], b.i32(1));
        tell(number, sequence);
        return carry(feed.await(sequence),
                     {sequence, b.add(position, b.i32(slabs)), number});
      }))[1];
  // A last slab without bytes brings the consumers the sequence's end.
  forCopiers([&] {
    Value stage = pipeline.acquire(end);
    operands.skipSlab(role, pipeline.full(stage));
    return zero;
  });
}

void WgmmaEmitter::produceAll(TileWalk &walk) {
  if (operands.usesThreads())
    return produce(walk, Role::All);
  // A warp for each operand: one alone is slower than small slabs are
  // multiplied.
  auto byWarp = [&](int64_t warp, Role role) {
    b.ifThen(b.eq(b.warpId(), b.i32(warp)), [&] { produce(walk, role); });
  };
  byWarp(0, Role::A);
  byWarp(1, Role::Bs);
}

//===--- Consumers
//-------------------------------------------------------------------------------------------------===//

/// Starts the products of a slab.
///
/// All steps of a slab are taken, those past the end of a tap too: there both
/// operands are +0, and a step of zero products leaves the accumulator's bits
/// alone. (It would turn -0 into +0, but no step gives -0.)
WgmmaEmitter::Values WgmmaEmitter::multiplySlab(ValueRange accumulators,
                                                Value stage) {
  auto descriptor = [&](Value line) {
    return matrixDescriptor(
        b, memory,
        b.add(pipeline.byteOf(stage), b.mul(line, b.i32(kSlab * 2))));
  };
  SmallVector<WgmmaPart> parts;
  for (const WgmmaShare::Matrix &matrix : share().matrices())
    parts.push_back({matrix.count, descriptor(matrix.lineOfRows),
                     descriptor(matrix.lineOfColumns)});
  return startWgmma(b, problem.element, parts, kSlab, accumulators);
}

/// The sums of the tile whose slabs start at `position`. The products of a slab
/// start while those of the one before still run, whose stage is then free.
/// What was kept of the tile before is dealt with in the shadow of the first
/// slabs.
WgmmaEmitter::Values WgmmaEmitter::multiplyTile(Value position,
                                                ValueRange kept) {
  auto start = [&](ValueRange accumulators, Value current) {
    Value stage = pipeline.await(current);
    // cp.async writes as threads do; wgmma reads by another way.
    if (operands.usesThreads())
      fenceShared(b);
    return multiplySlab(accumulators, stage);
  };
  auto releaseBefore = [&](Value current) {
    pipeline.release(pipeline.stageAt(b.sub(current, b.i32(1))));
  };
  constexpr int64_t kMostShadows = 8;
  int64_t pieces = deferred ? deferred->countPieces() : 0;
  int64_t shadows = deferred ? std::min(slabs, kMostShadows) : 1;
  Values sums(share().countAccumulators(), b.constant(b.getF32Type(), 0));
  for (int64_t slab : llvm::seq(shadows)) {
    Value current = b.add(position, b.i32(slab));
    sums = start(sums, current);
    for (int64_t piece :
         llvm::seq(pieces * slab / shadows, pieces * (slab + 1) / shadows))
      deferred->emitPiece(kept, piece);
    sums = waitForWgmma(b, sums, /*running=*/1);
    if (slab > 0)
      releaseBefore(current);
  }
  sums = b.forLoop(b.i32(shadows), b.i32(slabs), b.i32(1), sums,
                   [&](Value slab, ValueRange carried) {
                     Value current = b.add(position, slab);
                     Values result = waitForWgmma(b, start(carried, current),
                                                  /*running=*/1);
                     releaseBefore(current);
                     return result;
                   });
  sums = waitForWgmma(b, sums, /*running=*/0);
  releaseBefore(b.add(position, b.i32(slabs)));
  return sums;
}

/// Passes over a tile of which the calling warpgroup has no rows.
void WgmmaEmitter::skipTile(Value position) {
  b.forLoop(b.i32(0), b.i32(slabs), b.i32(1), [&](Value slab) {
    pipeline.release(pipeline.await(b.add(position, slab)));
  });
}

void WgmmaEmitter::consume() {
  if (copiesEarly())
    b.waitForPrevious();
  auto positionOf = [&](Value sequence) {
    return b.mul(sequence, b.i32(slabs));
  };
  auto receive = [&](Value sequence, ValueRange kept) -> Values {
    pipeline.await(positionOf(sequence));
    Values values = carry(feed.receive(sequence), {sequence});
    llvm::append_range(values, kept);
    return values;
  };
  Values end = b.whileLoop(
      receive(b.i32(0), deferred ? deferred->nothing() : Values()),
      [&](ValueRange carried) { return feed.isTile(tileOf(carried)); },
      [&](ValueRange carried) {
        Value sequence = othersOf(carried)[0];
        ValueRange kept = othersOf(carried).drop_front();
        Value position = positionOf(sequence);
        GemmTile tile = tileOf(carried);
        Value hasRows = b.lt(b.add(tile.row, share().firstRow()), tile.rowEnd);
        Values keptNow = b.ifElse(
            hasRows,
            [&] { return multiplyAndStore(tile, sequence, position, kept); },
            [&]() -> Values {
              skipTile(position);
              return Values(kept);
            });
        return receive(b.add(sequence, b.i32(1)), keptNow);
      });
  if (deferred)
    for (int64_t piece : llvm::seq(deferred->countPieces()))
      deferred->emitPiece(othersOf(end).drop_front(), piece);
}

/// Multiplies a tile's slabs; returns what is kept of it where epilogues are
/// deferred.
WgmmaEmitter::Values WgmmaEmitter::multiplyAndStore(GemmTile tile,
                                                    Value sequence,
                                                    Value position,
                                                    ValueRange kept) {
  WgmmaShare own = share();
  AccumulatorLayout layout = own.layout(tile);
  GemmEpilogue epilogue(b, problem, tile, layout);
  epilogue.loadRowValues();
  Values sums = multiplyTile(position, kept);
  // Read anew, so that the tile needs no registers while it is multiplied.
  tile = feed.receive(sequence);
  layout = own.layout(tile);
  auto at = [&](int64_t product, int64_t row, int64_t run, int64_t lane) {
    return sums[own.indexOf(layout, product, row, run, lane)];
  };
  if (deferred)
    return deferred->keep(tile, layout, epilogue, at);
  epilogue.emit(at);
  if (leaves)
    leaves->mergeStored(tile, b.add(tile.row, own.firstRow()),
                        b.add(tile.column, own.firstColumn()),
                        WgmmaShare::kRows, own.columns(), /*teams=*/1);
  return {};
}

//===--- Frame
//-----------------------------------------------------------------------------------------------------===//

/// Registers of a producer's and of a consumer's thread: what three warpgroups
/// have of a multiprocessor, shared out. Addresses of gathered rows take some.
std::pair<int64_t, int64_t> WgmmaEmitter::registersOfRoles() const {
  assert(consumers == 2);
  if (operands.usesThreads())
    return {72, 216};
  return {40, 232};
}

/// Whether B's stages are filled while the launch before still runs: it writes
/// neither the B's nor where the groups begin.
bool WgmmaEmitter::copiesEarly() const {
  bool areSettled = llvm::all_of(llvm::seq(problem.products), [&](int64_t i) {
    return b.isSettled(problem.firstB + i);
  });
  return areSettled && !operands.usesThreads() &&
         (!problem.isRagged || b.isSettled(problem.offsets));
}

KernelSource WgmmaEmitter::emit() {
  // Without it the registers at entry, which the warpgroups share out, are not
  // known.
  b.setMinBlocksPerProcessor(1);
  // All is dynamic: not every linker of the driver aligns what is dynamic
  // behind what is static as it asks for.
  int64_t bytes = pipeline.bytesOfStages();
  auto place = [&](int64_t size) { return std::exchange(bytes, bytes + size); };
  int64_t wordsAt = place(pipeline.bytesOfWords());
  int64_t feedAt = place(TileFeed::sharedBytes(schedule));
  int64_t walkAt = place(TileWalk::sharedBytes(problem, schedule));
  int64_t threads = kGroupThreads * (1 + consumers);
  int64_t leavesAt = place(TileLeaves::sharedBytes(problem, threads));
  memory = b.dynamicShared(bytes, kAlignment);
  auto at = [&](int64_t byte) {
    return b.elementPointer(memory, b.getI8Type(), b.i32(byte));
  };
  if (problem.leaves)
    leaves.emplace(b, problem, threads, at(leavesAt),
                   [this] { syncThreads(b, groupNumber(), kGroupThreads); });
  b.ifThen(b.eq(b.threadId(), b.i32(0)), [&] { operands.prefetchMaps(); });
  feed.start(at(feedAt));
  pipeline.start(at(wordsAt), operands.arrivals(), consumers * kGroupWarps);
  if (!copiesEarly())
    b.waitForPrevious();
  TileWalk walk(b, problem, schedule, at(walkAt));
  auto [ofProducer, ofConsumers] = registersOfRoles();
  b.ifElse(
      b.eq(groupNumber(), b.i32(0)),
      [&]() -> Values {
        giveRegistersBack(b, ofProducer);
        produceAll(walk);
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
