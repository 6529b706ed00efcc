// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.combine` and `kernel.ordered_sum`: sums of rows in ascending
// order, one thread a column piece.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowPieces.h"
#include "backends/ptx/rows/StatusReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// Up to this many terms are loaded before the first is added.
static constexpr int64_t kUnrolledTerms = 16;

using Values = KernelBuilder::Values;

static Values extendAll(KernelBuilder &b, const Values &values) {
  return llvm::map_to_vector(values,
                             [&](Value value) { return b.extend(value); });
}

/// Adds `count` terms of `width` elements in ascending order; the sum starts as
/// the first term.
static Values sumTerms(KernelBuilder &b, Value count, int64_t staticCount,
                       Type type, int64_t width,
                       function_ref<Values(Value i)> term) {
  auto addTo = [&](ValueRange sum, ValueRange next) {
    return llvm::map_to_vector(
        llvm::zip_equal(sum, next), [&](auto pair) -> Value {
          return arith::AddFOp::create(b, std::get<0>(pair), std::get<1>(pair));
        });
  };
  if (!ShapedType::isDynamic(staticCount) && staticCount > 0 &&
      staticCount <= kUnrolledTerms) {
    SmallVector<Values> terms;
    for (int64_t i = 0; i < staticCount; ++i)
      terms.push_back(term(b.i64(i)));
    Values sum = terms.front();
    for (const Values &next : llvm::drop_begin(terms))
      sum = addTo(sum, next);
    return sum;
  }
  // -0 + x is x for every x, -0 included.
  Values start(width, b.constant(type, -0.0));
  auto addBatch = [&](Value first, ValueRange carried) {
    SmallVector<Values> terms;
    SmallVector<Value> exists;
    for (int64_t i = 0; i < kUnrolledTerms; ++i) {
      Value here = b.add(first, b.i64(i));
      exists.push_back(b.lt(here, count));
      terms.push_back(term(b.select(exists.back(), here, first)));
    }
    Values sum(carried);
    for (auto [next, isTerm] : llvm::zip_equal(terms, exists))
      for (auto [old, added] : llvm::zip_equal(sum, addTo(sum, next)))
        old = b.select(isTerm, added, old);
    return sum;
  };
  return b.forLoop(b.i64(0), count, b.i64(kUnrolledTerms), start, addBatch);
}

static Values roundAll(KernelBuilder &b, const Values &values, Type type) {
  return llvm::map_to_vector(values,
                             [&](Value value) { return b.round(value, type); });
}

FailureOr<KernelSource> epifold::ptx::emitCombine(kernel::CombineOp op) {
  constexpr unsigned rows = 0, rowOfSlot = 1, out = 2;
  RowPieces pieces = RowPieces::get(op, out);
  KernelBuilder b(op, "combine", RowPieces::getBlock());
  Type type = kernel::getComputeType(b.elementType(rows));
  b.setGrid(b.gridSize(out, 0).ceilDiv(pieces.getRowsPerBlock()));
  Value token = pieces.getRow(b), columns = b.size(out, 1),
        slots = b.i64(op.getSlots());
  Value firstSlot = b.mul(token, slots);

  b.ifThen(b.lt(token, b.size(out, 0)), [&] {
    pieces.forEach(b, columns, [&](Value column) {
      // A slot without a row reads row 0, so that all loads are in flight at
      // once, and counts as NaN.
      auto term = [&](Value slot) {
        Value row = b.toI64(b.loadElement(rowOfSlot, b.add(firstSlot, slot)));
        Value hasRow = isIndexInside(b, row, b.size(rows, 0));
        Value offset =
            b.add(b.mul(b.select(hasRow, row, b.i64(0)), columns), column);
        return llvm::map_to_vector(
            extendAll(b, pieces.load(b, rows, offset)), [&](Value value) {
              return b.select(hasRow, value, notANumber(b, value.getType()));
            });
      };
      Values sum = sumTerms(b, slots, op.getSlots(), type, pieces.width, term);
      pieces.store(b, roundAll(b, sum, b.elementType(out)), out,
                   b.add(b.mul(token, columns), column));
    });
  });
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitOrderedSum(kernel::OrderedSumOp op) {
  constexpr unsigned in = 0, out = 1;
  constexpr int64_t threads = 256;
  KernelBuilder b(op, "ordered_sum", {threads, 1, 1});
  Type type = kernel::getComputeType(b.elementType(in));
  // A sum cannot be shared: the more terms it has, the more threads are to have
  // columns of their own, each with the least that a warp reads in one go.
  int64_t staticColumns = b.tensorType(out).getDimSize(1),
          staticTerms = b.tensorType(in).getDimSize(1);
  bool isLong =
      ShapedType::isDynamic(staticTerms) || staticTerms > kUnrolledTerms;
  bool isPaired = b.elementType(in).getIntOrFloatBitWidth() == 16 &&
                  !ShapedType::isDynamic(staticColumns) &&
                  staticColumns % 2 == 0;
  RowPieces pieces = RowPieces::get(op, out);
  if (isLong)
    pieces.width = isPaired ? 2 : 1;
  b.setGrid((b.gridSize(out, 0) * b.gridSize(out, 1).ceilDiv(pieces.width))
                .ceilDiv(threads));
  Value rows = b.size(out, 0), columns = b.size(out, 1), terms = b.size(in, 1);
  Value rowPieces = b.ceilDiv(columns, pieces.width);
  Value number =
      b.add(b.mul(b.toI64(b.blockId()), b.i64(threads)), b.toI64(b.threadId()));

  b.ifThen(b.lt(number, b.mul(rows, rowPieces)), [&] {
    Value row = b.div(number, rowPieces);
    Value column = b.mul(b.rem(number, rowPieces), b.i64(pieces.width));
    Value start = b.mul(row, terms);
    auto term = [&](Value i) {
      return extendAll(
          b,
          pieces.load(b, in, b.add(b.mul(b.add(start, i), columns), column)));
    };
    Values sum = sumTerms(b, terms, staticTerms, type, pieces.width, term);
    pieces.store(b, roundAll(b, sum, b.elementType(out)), out,
                 b.add(b.mul(row, columns), column));
  });
  return b.finish();
}
