// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds which dimensions two shapes of the same elements share, and moves an
// elementwise launch from one to the other.

#include "passes/ReshapeMap.h"

#include "passes/KernelFusion.h"

using namespace mlir;
using namespace epifold;

static bool isOne(AffineExpr size) {
  return size == getAffineConstantExpr(1, size.getContext());
}

static AffineExpr countElements(ArrayRef<AffineExpr> sizes,
                                MLIRContext *context) {
  AffineExpr count = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    count = count * size;
  return count;
}

/// For each dimension of `from`, its index in the dimensions of `to`; null
/// where the shapes, which have as many elements, cut them differently.
/// Dimensions agree from either end on as long as their sizes do; those of one
/// element are anywhere.
static SmallVector<AffineExpr> matchDims(ArrayRef<AffineExpr> from,
                                         ArrayRef<AffineExpr> to,
                                         MLIRContext *context) {
  SmallVector<AffineExpr> result(from.size());
  SmallVector<unsigned> ofFrom, ofTo;
  for (auto [i, size] : llvm::enumerate(from))
    if (isOne(size))
      result[i] = getAffineConstantExpr(0, context);
    else
      ofFrom.push_back(i);
  for (auto [i, size] : llvm::enumerate(to))
    if (!isOne(size))
      ofTo.push_back(i);
  auto match = [&](auto first, auto second) {
    for (auto [i, j] : llvm::zip(first, second)) {
      if (from[i] != to[j])
        break;
      result[i] = getAffineDimExpr(j, context);
    }
  };
  match(ofFrom, ofTo);
  match(llvm::reverse(ofFrom), llvm::reverse(ofTo));
  return result;
}

static bool startsWithInput(kernel::ViewOp view) {
  return view.getOffset().getResult(0) ==
         getAffineConstantExpr(0, view.getContext());
}

bool epifold::isReshape(kernel::ViewOp view) {
  MLIRContext *context = view.getContext();
  SmallVector<AffineExpr> sizes = findSizes(view.getInput());
  return !sizes.empty() && startsWithInput(view) &&
         countElements(sizes, context) ==
             countElements(view.getSizes().getResults(), context);
}

static AffineMap mapOf(kernel::MapOp op, unsigned operand) {
  return cast<AffineMapAttr>(op.getIndexingMaps()[operand]).getValue();
}

/// Operand `i` holds an element for each of the launch, in the same order.
static bool isWhole(kernel::MapOp op, unsigned i, ArrayRef<AffineExpr> domain) {
  return mapOf(op, i).isIdentity() &&
         ArrayRef(findSizes(op->getOperand(i))) == domain;
}

/// Rows of `value` may be cut anew: it starts where its buffer does, and so at
/// an address that suits rows of any length.
static bool startsBuffer(Value value) {
  auto view = value.getDefiningOp<kernel::ViewOp>();
  return !view || (startsWithInput(view) && startsBuffer(view.getInput()));
}

/// `map` over the dimensions that `newDims` gives the old ones; null when it
/// uses one that is not among them.
static AffineMap moveMap(AffineMap map, ArrayRef<AffineExpr> newDims,
                         unsigned rank) {
  for (auto [i, dim] : llvm::enumerate(newDims))
    if (!dim && map.isFunctionOfDim(i))
      return {};
  SmallVector<AffineExpr> dims(newDims);
  for (AffineExpr &dim : dims)
    if (!dim)
      dim = getAffineConstantExpr(0, map.getContext()); // Not used.
  return map.replaceDimsAndSymbols(dims, {}, rank, 0);
}

bool epifold::canReshapeMap(kernel::MapOp op, ArrayRef<AffineExpr> sizes) {
  unsigned ins = op.getIns().size();
  if (op.getOffsets() || op.getOuts().size() != 1 || sizes.empty() ||
      !op.getOuts().front().getDefiningOp<kernel::EmptyOp>() ||
      !mapOf(op, ins).isIdentity())
    return false;
  SmallVector<AffineExpr> domain = findSizes(op.getOuts().front());
  SmallVector<AffineExpr> dims = matchDims(domain, sizes, op.getContext());
  return llvm::all_of(llvm::seq(ins), [&](unsigned i) {
    if (isWhole(op, i, domain))
      return sizes.back() == domain.back() || startsBuffer(op->getOperand(i));
    return bool(moveMap(mapOf(op, i), dims, sizes.size()));
  });
}

static SmallVector<int64_t> shapeOf(ArrayRef<AffineExpr> sizes) {
  return llvm::map_to_vector(sizes, [](AffineExpr size) -> int64_t {
    auto known = dyn_cast<AffineConstantExpr>(size);
    return known ? known.getValue() : ShapedType::kDynamic;
  });
}

static AffineMap symbolMap(ArrayRef<AffineExpr> exprs) {
  return AffineMap::inferFromExprList(exprs, exprs.front().getContext())
      .front();
}

/// `value` with shape `sizes`: what it is a view of, where that has it.
static Value reshape(OpBuilder &builder, Location location, Value value,
                     ArrayRef<AffineExpr> sizes) {
  for (Value base = value;;) {
    if (ArrayRef(findSizes(base)) == sizes)
      return base;
    auto view = base.getDefiningOp<kernel::ViewOp>();
    if (!view || !isReshape(view))
      break;
    base = view.getInput();
  }
  auto type = cast<RankedTensorType>(value.getType()).clone(shapeOf(sizes));
  return kernel::ViewOp::create(builder, location, type, value,
                                symbolMap(builder.getAffineConstantExpr(0)),
                                symbolMap(sizes));
}

kernel::MapOp epifold::reshapeMap(PatternRewriter &rewriter, kernel::MapOp op,
                                  ArrayRef<AffineExpr> sizes) {
  MLIRContext *context = op.getContext();
  unsigned ins = op.getIns().size(), rank = sizes.size();
  Location location = op.getLoc();
  SmallVector<AffineExpr> domain = findSizes(op.getOuts().front());
  SmallVector<AffineExpr> dims = matchDims(domain, sizes, context);
  AffineMap identity = AffineMap::getMultiDimIdentityMap(rank, context);
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  rewriter.setInsertionPoint(op);
  for (unsigned i : llvm::seq(ins)) {
    bool whole = isWhole(op, i, domain);
    Value value = op->getOperand(i);
    values.push_back(whole ? reshape(rewriter, location, value, sizes) : value);
    maps.push_back(whole ? identity : moveMap(mapOf(op, i), dims, rank));
  }
  maps.push_back(identity);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  auto newType = type.clone(shapeOf(sizes));
  Value out =
      kernel::EmptyOp::create(rewriter, location, newType, symbolMap(sizes));
  auto reshaped = kernel::MapOp::create(
      rewriter, location, newType, values, /*offsets=*/Value(), out,
      rewriter.getAffineMapArrayAttr(maps), op.getDomainAttr(),
      /*group=*/IntegerAttr());
  rewriter.inlineRegionBefore(op.getBody(), reshaped.getBody(),
                              reshaped.getBody().end());
  Value viewed = kernel::ViewOp::create(
      rewriter, location, type, reshaped.getResult(0),
      symbolMap(rewriter.getAffineConstantExpr(0)), symbolMap(domain));
  rewriter.replaceOp(op, viewed);
  return reshaped;
}
