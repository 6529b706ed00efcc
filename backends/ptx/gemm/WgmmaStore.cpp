// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fills boxes in the 128-byte swizzle and starts their copies.

#include "backends/ptx/gemm/WgmmaStore.h"

#include "backends/ptx/gemm/AsyncAsm.h"
#include "backends/ptx/gemm/WgmmaOperands.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kThreads = 128; // of a warpgroup
static constexpr int64_t kRows = 64, kColumns = 64, kBytes = 2;
static constexpr int64_t kLineBytes = kColumns * kBytes, kPieceBytes = 16;
static constexpr int64_t kBoxBytes = kRows * kLineBytes, kBoxes = 2;
/// Columns in which a quad of lanes has a run each.
static constexpr int64_t kQuadColumns = 32;

bool WgmmaStore::fits(const GemmProblem &problem,
                      const GemmSchedule &schedule) {
  kernel::GemmOp op = problem.op;
  if (!WgmmaOperands::permutesColumns(problem, schedule) ||
      op.getOuts().size() != 1 ||
      schedule.tileColumns / schedule.columnUnits % kColumns != 0)
    return false;
  auto type = cast<RankedTensorType>(op.getOuts().front().getType());
  auto map = cast<AffineMapAttr>(op.getIndexingMaps().getValue().back());
  MLIRContext *context = op.getContext();
  AffineExpr group, rows, columns;
  bindDims(context, group, rows, columns);
  AffineMap flat = AffineMap::get(3, map.getValue().getNumSymbols(),
                                  {rows, columns}, context);
  AffineMap grouped = AffineMap::get(3, map.getValue().getNumSymbols(),
                                     {group, rows, columns}, context);
  return type.getElementTypeBitWidth() == kBytes * 8 &&
         !type.getElementType().isInteger() &&
         problem.columns * kBytes % kPieceBytes == 0 &&
         type.getShape().back() == problem.columns &&
         (map.getValue() == flat || map.getValue() == grouped);
}

int64_t WgmmaStore::sharedBytes(int64_t warpgroups) {
  return warpgroups * kBoxes * kBoxBytes;
}

WgmmaStore::WgmmaStore(KernelBuilder &b, const GemmProblem &problem)
    : b(b), rank(b.tensorType(problem.firstOut).getRank()) {
  unsigned out = problem.firstOut;
  AffineExpr rows = b.gridSize(out, rank - 2);
  int64_t rowBytes = problem.columns * kBytes;
  TensorMap boxes{out,
                  {b.gridConstant(problem.columns), rows},
                  {b.gridConstant(rowBytes)},
                  {kColumns, kRows}};
  if (rank == 3) {
    boxes.sizes.push_back(b.gridSize(out, 0));
    boxes.strides.push_back(rows * rowBytes);
    boxes.box.push_back(1);
  }
  map = b.tensorMap(boxes);
}

void WgmmaStore::enter(Value firstBox, Value warpgroup, int64_t count) {
  memory = b.elementPointer(firstBox, b.getI8Type(),
                            b.mul(warpgroup, b.i32(kBoxes * kBoxBytes)));
  number = warpgroup;
  rounds = count;
}

void WgmmaStore::locate(Value newGroup, Value newRow, Value newColumn) {
  group = newGroup;
  row = newRow;
  column = newColumn;
}

void WgmmaStore::forFirstThread(llvm::function_ref<void()> body) {
  b.ifThen(b.eq(b.rem(b.threadId(), b.i32(kThreads)), b.i32(0)), body);
}

void WgmmaStore::synchronize() {
  syncThreads(b, b.add(number, b.i32(1)), kThreads);
}

Value WgmmaStore::boxOf(int64_t round) {
  return b.elementPointer(memory, b.getI8Type(),
                          b.i32(round % kBoxes * kBoxBytes));
}

int64_t WgmmaStore::runsOfRound() const { return kColumns / kQuadColumns; }

/// The box was last read by the store before the last one, or by the last one
/// of a tile with an odd number of them.
void WgmmaStore::beginRound(int64_t round) {
  int64_t running = rounds % kBoxes == 0 || round > 0 ? kBoxes - 1 : 0;
  forFirstThread([&] { waitForReadsOfStores(b, running); });
  synchronize();
}

/// Warp w holds lines 16 w + l / 4 and the one eight further; the quad's lanes
/// hold neighbouring pieces of a line.
void WgmmaStore::put(int64_t rowNumber, int64_t run, ValueRange values) {
  Value lane = b.laneId();
  Value warp = b.div(b.rem(b.threadId(), b.i32(kThreads)), b.i32(32));
  Value swizzle = b.div(lane, b.i32(4)); // the line's place among eight
  Value line =
      b.add(b.add(b.mul(warp, b.i32(16)), swizzle), b.i32(8 * rowNumber));
  Value piece = b.add(b.rem(lane, b.i32(4)), b.i32(4 * (run % runsOfRound())));
  Value byte = b.add(b.mul(line, b.i32(kLineBytes)),
                     b.mul(b.bitXor(piece, swizzle), b.i32(kPieceBytes)));
  int64_t round = run / runsOfRound();
  b.storeVector(values, b.elementPointer(boxOf(round), b.getI8Type(), byte));
}

void WgmmaStore::endRound(int64_t round) {
  fenceShared(b);
  synchronize();
  forFirstThread([&] {
    KernelBuilder::Values coordinates = {
        b.add(b.toI32(column), b.i32(round * kColumns)), b.toI32(row)};
    if (rank == 3)
      coordinates.push_back(b.toI32(group));
    storeBox(b, map, coordinates, sharedAddress(b, boxOf(round)));
    commitStores(b);
  });
  if (visitor)
    visitor(round, boxOf(round));
}

void WgmmaStore::finish() {
  forFirstThread([&] { waitForReadsOfStores(b, 0); });
}
