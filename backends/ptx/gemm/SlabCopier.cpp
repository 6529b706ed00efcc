// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits cp.async of a product's operands, or loads and stores where rows are
// not aligned.

#include "backends/ptx/gemm/SlabCopier.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

Value SlabCopier::swizzledByte(Value line, Value piece) {
  // With p pieces a line, 8 / p lines fill all banks once and share a
  // permutation.
  int64_t pieces = piecesOfLine(), sharing = llvm::Log2_64(8 / pieces);
  Value permutation = b.bitAnd(b.shiftRight(line, sharing), b.i32(pieces - 1));
  return b.add(b.mul(line, b.i32(lineBytes())),
               b.mul(b.bitXor(piece, permutation), b.i32(kPieceBytes)));
}

Value SlabCopier::columnOfLine(Value line) {
  if (problem.usesMatrixUnit())
    return line;
  // Columns 8 i + q → q p + i inside each 8 p.
  int64_t bits = llvm::Log2_64(piece());
  Value inRun = b.bitAnd(b.shiftRight(line, 3), b.i32(piece() - 1));
  Value run = b.shiftLeft(b.bitAnd(line, b.i32(7)), bits);
  Value high = b.bitAnd(line, b.i32(~(8 * piece() - 1)));
  return b.bitOr(b.bitOr(inRun, run), high);
}

void SlabCopier::setStarts(Panel &panel, bool isEven) {
  int64_t count = isEven ? 1 : piecesOfThread(panel);
  for (int64_t i : llvm::seq(count)) {
    Value row =
        panel.rowsA.empty() ? panel.rowsB[i].offset : panel.rowsA[i].offset;
    panel.starts.push_back(
        b.elementPointer(b.pointer(panel.operand), problem.element,
                         b.add(row, b.toI64(depthOfThread()))));
  }
}

Value SlabCopier::source(const Panel &panel, int64_t number, Value distance) {
  auto pointer = [&](Value base, Value offset) {
    return b.elementPointer(base, problem.element, offset);
  };
  if (panel.starts.size() > 1)
    return pointer(panel.starts[number], distance);
  // A row outside the operand has an address outside, too, but is not read.
  // Permuting moves bits of a line's number, so a distance of lines whose bits
  // the first line does not have is one of columns.
  Value lines = b.i32(number * threads / piecesOfLine());
  Value rows = panel.rowsA.empty() ? columnOfLine(lines) : lines;
  return pointer(pointer(panel.starts.front(), distance),
                 b.mul(b.toI64(rows), b.i64(problem.depth)));
}

void SlabCopier::locate(const GemmTile &tile, Value firstStage) {
  assert(llvm::isPowerOf2_64(threads) && "lines are told apart by their bits");
  memory = firstStage;
  panels.clear();
  if (parts.a)
    locateA(tile);
  if (parts.bs)
    locateBs(tile);
}

void SlabCopier::locateA(const GemmTile &tile) {
  Panel &a =
      panels.emplace_back(Panel{problem.a, schedule.tileRows, 0, {}, {}, {}});
  for (int64_t i : llvm::seq(piecesOfThread(a))) {
    RowOfA row = rowOfA(b, problem, tile, lineOfPiece(i));
    // One long division a thread: a sample has fewer than 2^31 steps.
    if (problem.isConvolution && i > 0) {
      Value first = b.toI32(a.rowsA.front().time);
      Value time = b.add(first, b.i32(i * threads / piecesOfLine()));
      row.time = b.toI64(b.rem(time, b.toI32(b.size(problem.a, 1))));
    }
    a.rowsA.push_back(row);
  }
  setStarts(a, /*isEven=*/!problem.hasGather);
}

void SlabCopier::locateBs(const GemmTile &tile) {
  bool isFull = problem.columns % schedule.tileColumns == 0;
  for (int64_t product : llvm::seq(problem.products)) {
    Panel &panel = panels.emplace_back(Panel{problem.firstB + unsigned(product),
                                             schedule.tileColumns,
                                             firstByteOfB(product),
                                             {},
                                             {},
                                             {}});
    for (int64_t i : llvm::seq(piecesOfThread(panel))) {
      RowOfB row =
          rowOfB(b, problem, tile, product, columnOfLine(lineOfPiece(i)));
      if (isFull)
        row.isValid = b.i1(true);
      panel.rowsB.push_back(row);
    }
    setStarts(panel, /*isEven=*/true);
  }
}

/// The piece in one copy where rows are read in pieces, else one an element.
void SlabCopier::copyAsync(const Panel &panel, int64_t number,
                           const GemmSlab &slab, const SlabOfRow &distance,
                           Value target) {
  int64_t step = problem.readsPieces(piece()) ? piece() : 1;
  int64_t copied = step * problem.elementBytes();
  // Only copies of 16 bytes can pass by the L1.
  auto cache = copied == kPieceBytes ? NVVM::LoadCacheModifierKind::CG
                                     : NVVM::LoadCacheModifierKind::CA;
  for (int64_t first = 0; first < piece(); first += step) {
    // A source size of 0 reads nothing, wherever the address points, and fills
    // the target with zeros.
    Value isThere =
        b.logicalAnd(distance.isValid,
                     isInsideTap(b, problem, schedule, slab,
                                 b.add(depthOfThread(), b.i32(first)), step));
    auto skip = [&](Value pointer) {
      return b.elementPointer(pointer, problem.element, b.i64(first));
    };
    NVVM::CpAsyncOp::create(
        b, skip(target), skip(source(panel, number, distance.offset)), copied,
        cache, b.select(isThere, b.i32(copied), b.i32(0)));
  }
}

void SlabCopier::copyPiece(const Panel &panel, int64_t number,
                           const GemmSlab &slab, Value stageStart) {
  auto slabOfRow = [&](bool fromRow) {
    if (panel.rowsA.empty()) {
      RowOfB row = panel.rowsB[number];
      row.offset = fromRow ? row.offset : b.i64(0);
      return slabOfB(b, problem, row, slab);
    }
    RowOfA row = panel.rowsA[number];
    row.offset = fromRow ? row.offset : b.i64(0);
    return slabOfA(b, problem, row, slab);
  };
  Value pieceOfLine = b.rem(b.threadId(), b.i32(piecesOfLine()));
  Value byte = b.add(b.add(stageStart, b.i32(panel.firstByte)),
                     swizzledByte(lineOfPiece(number), pieceOfLine));
  Value target = b.elementPointer(memory, b.getI8Type(), byte);
  if (!problem.readsPieces(piece()) && problem.usesMatrixUnit()) {
    b.storeVector(loadPiece(b, problem, schedule, panel.operand, b.getI16Type(),
                            slab, slabOfRow(true), depthOfThread(), piece()),
                  target);
    return;
  }
  // The distance from the row's start is the same for all rows of an operand.
  copyAsync(panel, number, slab, slabOfRow(false), target);
}

void SlabCopier::copySlab(Value index, Value stageStart) {
  GemmSlab slab = slabAt(b, problem, schedule, index);
  for (const Panel &panel : panels)
    for (int64_t i : llvm::seq(piecesOfThread(panel))) {
      auto copy = [&] { copyPiece(panel, i, slab, stageStart); };
      if ((i + 1) * threads <= panel.lines * piecesOfLine())
        copy();
      else
        b.ifThen(b.lt(lineOfPiece(i), b.i32(panel.lines)), copy);
    }
}

/// `stages - 1` slabs are on their way while one is computed. After the wait of
/// iteration i slab i is complete in every thread's view once all passed the
/// barrier, which also says that slab i - 1 is read and its stage free.
KernelBuilder::Values SlabCopier::forEachSlab(
    ValueRange inits,
    llvm::function_ref<KernelBuilder::Values(ValueRange, Value, Value)> body) {
  int64_t slabs = countSlabs(problem, schedule), ahead = schedule.stages - 1;
  auto startOf = [&](Value slab) {
    return b.mul(b.rem(slab, b.i32(schedule.stages)), b.i32(stageBytes()));
  };
  for (int64_t slab : llvm::seq(ahead)) {
    if (slab < slabs)
      copySlab(b.i32(slab), startOf(b.i32(slab)));
    NVVM::CpAsyncCommitGroupOp::create(b);
  }
  return b.forLoop(b.i32(0), b.i32(slabs), b.i32(1), inits,
                   [&](Value index, ValueRange carried) {
                     NVVM::CpAsyncWaitGroupOp::create(b, ahead - 1);
                     b.barrier();
                     Value next = b.add(index, b.i32(ahead));
                     b.ifThen(b.lt(next, b.i32(slabs)),
                              [&] { copySlab(next, startOf(next)); });
                     NVVM::CpAsyncCommitGroupOp::create(b);
                     return body(carried, index, startOf(index));
                   });
}
