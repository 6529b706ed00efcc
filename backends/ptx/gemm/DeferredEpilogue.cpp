// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Packs a tile's sums or results, and stores them piece by piece.

#include "backends/ptx/gemm/DeferredEpilogue.h"

#include "backends/ptx/gemm/WgmmaAsm.h"
#include "backends/ptx/gemm/WgmmaOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static constexpr int64_t kByte = 8; // bits
/// Rows of a thread lie so far apart.
static constexpr int64_t kRowDistance = 8;

static bool is16Bits(Type type) { return type.isBF16() || type.isF16(); }

/// Whether all that uses the sums is their rounding to 16 bits, and the region
/// needs nothing else.
static bool roundsSumsFirst(const GemmProblem &problem) {
  Block &epilogue = problem.op.getEpilogue().front();
  return problem.op.getExtras().empty() &&
         llvm::all_of(epilogue.getArguments(), [&](Value sum) {
           return llvm::all_of(sum.getUsers(), [&](Operation *user) {
             return isa<arith::TruncFOp>(user) &&
                    user->getResult(0).getType() == problem.element;
           });
         });
}

/// Whether the region has functions to compute, which is worth more registers
/// than only to store late.
static bool keepsSumsOf(const GemmProblem &problem) {
  return roundsSumsFirst(problem) &&
         llvm::any_of(problem.op.getEpilogue().front().getOperations(),
                      llvm::IsaPred<kernel::MathOp>);
}

bool DeferredEpilogue::fits(const GemmProblem &problem,
                            const GemmSchedule &schedule) {
  constexpr int64_t kMostRegisters = 64;
  int64_t columns = schedule.tileColumns / schedule.columnUnits;
  int64_t outs = problem.op.getOuts().size();
  int64_t kept = keepsSumsOf(problem) ? problem.products : outs;
  bool areWhole = problem.columns % schedule.tileColumns == 0;
  kernel::GemmOp op = problem.op;
  auto maps = op.getIndexingMaps().getAsValueRange<AffineMapAttr>();
  auto mapsOfExtras = llvm::make_range(
      maps.begin(), std::next(maps.begin(), op.getExtras().size()));
  auto mapsOfOuts = llvm::make_range(mapsOfExtras.end(), maps.end());
  // Threads that gather rows are slower beside it than the epilogue is.
  return !problem.hasGather && !problem.leaves &&
         WgmmaOperands::permutesColumns(problem, schedule) &&
         problem.columns % kColumns == 0 && columns % kQuadColumns == 0 &&
         kept * columns * kRows / 4 / 2 <= kMostRegisters &&
         llvm::all_of(op.getOuts(),
                      [](Value out) {
                        return is16Bits(getElementTypeOrSelf(out.getType()));
                      }) &&
         llvm::all_of(llvm::zip(op.getOuts(), mapsOfOuts),
                      [](auto outAndMap) {
                        auto [out, map] = outAndMap;
                        return GemmEpilogue::hasEvenRows(map) &&
                               GemmEpilogue::storesRuns(
                                   cast<RankedTensorType>(out.getType()), map,
                                   kColumns);
                      }) &&
         (areWhole || llvm::all_of(mapsOfExtras, [](AffineMap map) {
            return GemmEpilogue::dependsOnRowAlone(map);
          }));
}

DeferredEpilogue::DeferredEpilogue(KernelBuilder &b, const GemmProblem &problem,
                                   const GemmSchedule &schedule)
    : b(b), problem(problem), keepsSums(keepsSumsOf(problem)),
      runs(schedule.tileColumns / schedule.columnUnits / kQuadColumns) {}

/// Of a thread: for each row the number of its runs that exist, a byte each of
/// an i32; where its first row starts in each out (i64); then the registers of
/// each piece.
KernelBuilder::Values DeferredEpilogue::nothing() {
  Values kept = {b.i32(0)};
  kept.append(countOuts(), b.i64(0));
  kept.append(countPieces() * countKept() * kRegisters, b.i32(0));
  return kept;
}

/// Neighbours of 16 bits, two in an i32.
static KernelBuilder::Values packPairs(KernelBuilder &b, ValueRange values) {
  KernelBuilder::Values sources, pairs;
  for (Value value : values)
    if (auto rounding = value.getDefiningOp<arith::TruncFOp>())
      if (rounding.getIn().getType().isF32())
        sources.push_back(rounding.getIn());
  if (sources.size() == values.size())
    return roundPairs(b, values[0].getType(), sources);
  auto bitsOf = [&](Value value) -> Value {
    value = arith::BitcastOp::create(b, b.getI16Type(), value);
    return arith::ExtUIOp::create(b, b.getI32Type(), value);
  };
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(
        b.bitOr(bitsOf(values[i]), b.shiftLeft(bitsOf(values[i + 1]), 16)));
  return pairs;
}

KernelBuilder::Values DeferredEpilogue::unpack(ValueRange registers,
                                               Type element) {
  Values values;
  for (Value pair : registers)
    for (int64_t bits : {0, 16}) {
      Value half =
          arith::TruncIOp::create(b, b.getI16Type(), b.shiftRight(pair, bits));
      values.push_back(arith::BitcastOp::create(b, element, half));
    }
  return values;
}

KernelBuilder::Values DeferredEpilogue::keep(const GemmTile &tile,
                                             const AccumulatorLayout &layout,
                                             GemmEpilogue &epilogue,
                                             AccumulatorAt accumulator) {
  Values kept;
  Value existing = b.i32(runs);
  if (!layout.isFull) {
    // Runs lie kQuadColumns apart.
    Value columns = b.sub(b.i64(problem.columns), layout.column);
    existing = b.toI32(b.max(
        b.i64(0),
        b.min(b.i64(runs), b.ceilDiv(b.max(columns, b.i64(0)), kQuadColumns))));
  }
  Value existingOfRows = b.i32(0);
  for (int64_t row : llvm::seq(kRows)) {
    Value number = b.add(tile.row, layout.rows[row]);
    Value ofRow = b.select(b.lt(number, tile.rowEnd), existing, b.i32(0));
    existingOfRows = b.bitOr(existingOfRows, b.shiftLeft(ofRow, row * kByte));
  }
  kept.push_back(existingOfRows);
  llvm::append_range(kept, epilogue.offsetsOfOuts(/*row=*/0));
  for (int64_t piece : llvm::seq(countPieces())) {
    auto [row, run] = placeOf(piece);
    if (!keepsSums) {
      for (ValueRange results : epilogue.compute(row, run, accumulator))
        llvm::append_range(kept, packPairs(b, results));
      continue;
    }
    for (int64_t product : llvm::seq(problem.products)) {
      Values sums;
      for (int64_t column : llvm::seq(kColumns))
        sums.push_back(accumulator(product, row, run, column));
      llvm::append_range(kept, roundPairs(b, problem.element, sums));
    }
  }
  return kept;
}

/// Stores 16 bytes where `condition` holds, without a branch: products of the
/// matrix unit are running.
static void storeIf(KernelBuilder &b, Value condition, Value pointer,
                    ValueRange registers) {
  KernelBuilder::Values operands = {
      arith::ExtUIOp::create(b, b.getI32Type(), condition), pointer};
  llvm::append_range(operands, registers);
  LLVM::InlineAsmOp::create(
      b, LLVM::LLVMVoidType::get(b.getContext()), operands,
      "{\n.reg .pred exists;\nsetp.ne.b32 exists, $0, 0;\n"
      "@exists st.global.v4.b32 [$1], {$2, $3, $4, $5};\n}",
      "r,l,r,r,r,r,~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
}

/// A few columns at a time, which takes fewer registers.
SmallVector<KernelBuilder::Values>
DeferredEpilogue::applyRegion(ValueRange registers) {
  constexpr int64_t kAtOnce = 4;
  SmallVector<Values> packed(countOuts());
  for (int64_t first = 0; first < kColumns; first += kAtOnce) {
    SmallVector<Values> sums, results(countOuts());
    for (int64_t product : llvm::seq(problem.products))
      sums.push_back(
          unpack(registers.slice(product * kRegisters + first / 2, kAtOnce / 2),
                 problem.element));
    for (int64_t column : llvm::seq(kAtOnce)) {
      // The region's first step, to round the sums, finds them rounded.
      Values arguments;
      for (const Values &ofProduct : sums)
        arguments.push_back(ofProduct[column]);
      for (auto [out, value] :
           llvm::enumerate(b.inlineRegion(problem.op.getEpilogue(), arguments)))
        results[out].push_back(value);
    }
    for (auto [ofOut, values] : llvm::zip(packed, results))
      llvm::append_range(ofOut, packPairs(b, values));
  }
  return packed;
}

void DeferredEpilogue::emitPiece(ValueRange kept, int64_t piece) {
  int64_t registersOfOut = countKept() * kRegisters;
  ValueRange registers =
      kept.slice(1 + countOuts() + piece * registersOfOut, registersOfOut);
  SmallVector<Values> results;
  if (keepsSums)
    results = applyRegion(registers);
  else
    for (int64_t out : llvm::seq(countOuts()))
      results.push_back(Values(registers.slice(out * kRegisters, kRegisters)));
  store(kept, piece, results);
}

void DeferredEpilogue::store(ValueRange kept, int64_t piece,
                             ArrayRef<Values> results) {
  auto [row, run] = placeOf(piece);
  Value existing = b.bitAnd(b.shiftRight(kept[0], row * kByte), b.i32(0xff));
  kernel::GemmOp op = problem.op;
  auto maps =
      llvm::to_vector(op.getIndexingMaps().getAsValueRange<AffineMapAttr>());
  for (int64_t out : llvm::seq(countOuts())) {
    unsigned operand = problem.firstOut + out;
    Value stride =
        GemmEpilogue::rowStride(b, operand, maps[op.getExtras().size() + out]);
    Value distance = b.add(b.mul(stride, b.i64(row * kRowDistance)),
                           b.i64(run * kQuadColumns));
    storeIf(b, b.lt(b.i32(run), existing),
            b.elementPointer(b.pointer(operand), b.elementType(operand),
                             b.add(kept[1 + out], distance)),
            results[out]);
  }
}
