// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers any op with scalar meaning to a map over its result.

#include "passes/lowering/GraphLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace epifold;

/// Index of a dense operand of `sizes` at a point of `rank` dimensions, aligned
/// from the last; size 1 repeats.
static AffineMap broadcastMap(ArrayRef<AffineExpr> sizes, unsigned rank,
                              MLIRContext *context) {
  SmallVector<AffineExpr> index;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    auto known = dyn_cast<AffineConstantExpr>(size);
    unsigned dim = rank - sizes.size() + i;
    index.push_back(known && known.getValue() == 1
                        ? getAffineConstantExpr(0, context)
                        : getAffineDimExpr(dim, context));
  }
  return AffineMap::get(rank, 0, index, context);
}

/// Index of a dense operand beside ragged rows: (row, column) are dimensions 0
/// and 1, the row's expert is symbol 0.
static AffineMap besideRows(ArrayRef<AffineExpr> sizes, MLIRContext *context) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  auto isOne = [&](AffineExpr size) {
    return size == getAffineConstantExpr(1, context);
  };
  SmallVector<AffineExpr> index;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    unsigned fromLast = sizes.size() - 1 - i;
    if (isOne(size))
      index.push_back(zero);
    else if (fromLast == 0)
      index.push_back(getAffineDimExpr(1, context));
    else // The verifier allows size 1 in the row dimension only, so this is the
         // expert's.
      index.push_back(getAffineSymbolExpr(0, context));
  }
  return AffineMap::get(2, 1, index, context);
}

/// Index of ragged rows of `sizes` in a domain of ragged rows: one column may
/// repeat.
static AffineMap rowsMap(ArrayRef<AffineExpr> sizes, MLIRContext *context) {
  AffineExpr one = getAffineConstantExpr(1, context);
  AffineExpr column = sizes[1] == one ? getAffineConstantExpr(0, context)
                                      : getAffineDimExpr(1, context);
  return AffineMap::get(2, 0, {getAffineDimExpr(0, context), column}, context);
}

/// Lengths of the runs of leading dimensions that every operand either has or
/// repeats as one; the last dimension stays by itself. So [batch, time, width]
/// is [rows, width] to a launch, as it is to the product before it.
static SmallVector<int64_t> findRuns(ArrayRef<ArrayRef<AffineExpr>> operands,
                                     ArrayRef<AffineExpr> sizes,
                                     AffineExpr one) {
  auto isRepeated = [&](ArrayRef<AffineExpr> operand, unsigned dim) {
    int64_t at = int64_t(dim) - int64_t(sizes.size() - operand.size());
    return at < 0 || (operand[at] == one && sizes[dim] != one);
  };
  SmallVector<int64_t> runs;
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    bool joins =
        dim > 0 && dim + 1 < sizes.size() &&
        llvm::all_of(operands, [&](ArrayRef<AffineExpr> operand) {
          return isRepeated(operand, dim - 1) == isRepeated(operand, dim);
        });
    if (joins)
      ++runs.back();
    else
      runs.push_back(1);
  }
  return runs;
}

/// `sizes` (aligned from the last) with each run multiplied into one size.
static SmallVector<AffineExpr> joinRuns(ArrayRef<AffineExpr> sizes,
                                        ArrayRef<int64_t> runs,
                                        MLIRContext *context) {
  SmallVector<AffineExpr> joined;
  int64_t end = sizes.size();
  for (int64_t run : llvm::reverse(runs)) {
    if (end <= 0)
      break;
    int64_t begin = std::max<int64_t>(0, end - run);
    joined.insert(joined.begin(),
                  productOf(sizes.slice(begin, end - begin), context));
    end = begin;
  }
  return joined;
}

LogicalResult
GraphLowering::lowerElementwise(graph::ElementwiseOpInterface op) {
  Value result = op->getResult(0);
  Type element = getElementTypeOrSelf(result.getType());
  const Lowered *rows = nullptr;
  for (Value operand : op->getOperands()) {
    const Lowered &lowered = values.find(operand)->second;
    if (!lowered.isRagged())
      continue;
    if (rows &&
        (rows->offsets != lowered.offsets || rows->expert != lowered.expert)) {
      InFlightDiagnostic diagnostic =
          op->emitOpError("combines rows of different routings or experts");
      diagnostic.attachNote(operand.getLoc()) << "one operand is made here";
      return diagnostic;
    }
    rows = &lowered;
  }

  // Splats become constants of the scalar code, everything else an operand.
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;
  SmallVector<AffineExpr> domain(analysis.getSizes(result));
  SmallVector<int64_t> runs;
  if (!rows) {
    SmallVector<ArrayRef<AffineExpr>> sizes;
    for (Value operand : op->getOperands())
      if (const Lowered &lowered = values.find(operand)->second; lowered.tensor)
        sizes.push_back(lowered.sizes);
    runs = findRuns(sizes, domain, constant(1));
    domain = joinRuns(domain, runs, context);
  }
  unsigned rank = domain.size();
  for (Value operand : op->getOperands()) {
    const Lowered &lowered = values.find(operand)->second;
    if (!lowered.tensor)
      continue;
    if (rows) {
      ins.push_back(lowered.tensor);
      maps.push_back(lowered.isRagged() ? rowsMap(lowered.sizes, context)
                                        : besideRows(lowered.sizes, context));
      continue;
    }
    SmallVector<AffineExpr> joined = joinRuns(lowered.sizes, runs, context);
    ins.push_back(reshape(lowered.tensor, joined));
    maps.push_back(broadcastMap(joined, rank, context));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Value out = empty(domain, element);
  std::optional<Lowered> domainRows =
      rows ? std::optional<Lowered>(*rows) : std::nullopt;
  Value mapped =
      map(ins, maps, out, domainRows ? &*domainRows : nullptr, std::nullopt,
          [&](ValueRange args) {
            SmallVector<Value> scalars;
            unsigned next = 0;
            for (Value operand : op->getOperands()) {
              const Lowered &lowered = values.find(operand)->second;
              Value scalar = lowered.tensor
                                 ? args[next++]
                                 : arith::ConstantOp::create(builder, location,
                                                             lowered.splat)
                                       .getResult();
              scalars.push_back(widen(builder, location, scalar));
            }
            return SmallVector<Value>{narrow(
                builder, location, op.buildScalar(builder, scalars), element)};
          });
  if (domainRows)
    setLike(result, mapped, *domainRows);
  else
    set(result, reshape(mapped, analysis.getSizes(result)));
  return success();
}
