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
  unsigned rank = rows ? 2 : analysis.getSizes(result).size();
  for (Value operand : op->getOperands()) {
    const Lowered &lowered = values.find(operand)->second;
    if (!lowered.tensor)
      continue;
    ins.push_back(lowered.tensor);
    maps.push_back(lowered.isRagged() ? rowsMap(lowered.sizes, context)
                   : rows ? besideRows(lowered.sizes, context)
                          : broadcastMap(lowered.sizes, rank, context));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Value out = empty(analysis.getSizes(result), element);
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
    set(result, mapped);
  return success();
}
