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

/// Cuts the dimensions `sizes` into runs whose products are `original`; none
/// when they are not.
static SmallVector<int64_t> findRuns(ArrayRef<AffineExpr> sizes,
                                     ArrayRef<AffineExpr> original) {
  SmallVector<int64_t> runs;
  for (AffineExpr whole : llvm::reverse(original)) {
    AffineExpr product = getAffineConstantExpr(1, whole.getContext());
    int64_t run = 0;
    while (!sizes.empty() && (run == 0 || product != whole)) {
      product = sizes.back() * product;
      sizes = sizes.drop_back();
      ++run;
    }
    if (product != whole)
      return {};
    runs.insert(runs.begin(), run);
  }
  for (AffineExpr size : sizes)
    if (size != getAffineConstantExpr(1, size.getContext()))
      return {};
  if (!runs.empty())
    runs.front() += sizes.size();
  return runs;
}

/// Whether each operand either has all dimensions of a run or repeats them all.
static bool agreeOnRuns(ArrayRef<ArrayRef<AffineExpr>> operands,
                        ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> runs) {
  AffineExpr one = getAffineConstantExpr(1, sizes.front().getContext());
  for (ArrayRef<AffineExpr> operand : operands) {
    int64_t absent = int64_t(sizes.size()) - int64_t(operand.size());
    int64_t dim = 0;
    for (int64_t run : runs) {
      bool anyRepeated = false, anyOwn = false;
      for (int64_t end = dim + run; dim < end; ++dim) {
        if (sizes[dim] == one)
          continue;
        bool isRepeated = dim < absent || operand[dim - absent] == one;
        anyRepeated |= isRepeated;
        anyOwn |= !isRepeated;
      }
      if (anyRepeated && anyOwn)
        return false;
    }
  }
  return true;
}

/// The runs of dimensions that a launch over `sizes` sees as one: those in
/// which the launch before it made an operand, so that both have one domain.
static SmallVector<int64_t> chooseRuns(ArrayRef<const Lowered *> operands,
                                       ArrayRef<AffineExpr> sizes) {
  SmallVector<int64_t> separate(sizes.size(), 1);
  if (sizes.empty())
    return separate;
  SmallVector<ArrayRef<AffineExpr>> sizesOfOperands;
  for (const Lowered *operand : operands)
    sizesOfOperands.push_back(operand->sizes);
  for (const Lowered *operand : operands) {
    if (ArrayRef<AffineExpr>(operand->sizes) != sizes)
      continue;
    SmallVector<int64_t> runs =
        findRuns(sizes, findOriginalSizes(operand->tensor));
    if (!runs.empty() && agreeOnRuns(sizesOfOperands, sizes, runs))
      return runs;
  }
  return separate;
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
    SmallVector<const Lowered *> operands;
    for (Value operand : op->getOperands())
      if (const Lowered &lowered = values.find(operand)->second; lowered.tensor)
        operands.push_back(&lowered);
    runs = chooseRuns(operands, domain);
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
