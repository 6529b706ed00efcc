// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers constants, views and the copies that no view can express.

#include "passes/lowering/GraphLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace epifold;

void GraphLowering::lowerConstant(graph::ConstantOp op) {
  Lowered lowered;
  llvm::append_range(lowered.sizes, analysis.getSizes(op));
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (dense && dense.isSplat())
    lowered.splat = cast<TypedAttr>(dense.getSplatValue<Attribute>());
  else
    lowered.tensor = arith::ConstantOp::create(builder, location,
                                               cast<TypedAttr>(op.getValue()));
  values[op] = std::move(lowered);
}

Value GraphLowering::takeRange(const Lowered &input, int64_t dim,
                               AffineExpr begin, ArrayRef<AffineExpr> sizes) {
  // Contiguous when nothing larger than 1 lies outside the dimension.
  ArrayRef<AffineExpr> all(input.sizes);
  bool contiguous = llvm::all_of(all.take_front(dim), [&](AffineExpr size) {
    return size == constant(1);
  });
  if (contiguous)
    return view(input.tensor,
                begin * productOf(all.drop_front(dim + 1), context), sizes);
  auto start = dyn_cast<AffineConstantExpr>(begin);
  if (!start)
    return {};
  unsigned rank = all.size();
  SmallVector<AffineExpr> index;
  for (unsigned i = 0; i < rank; ++i)
    index.push_back(builder.getAffineDimExpr(i));
  index[dim] = index[dim] + start.getValue();
  Value out = empty(sizes, getElementTypeOrSelf(input.tensor.getType()));
  return copy(input.tensor, AffineMap::get(rank, 0, index, context), out,
              builder.getMultiDimIdentityMap(rank), false);
}

void GraphLowering::lowerSelect(graph::SelectOp op) {
  tensorOf(op.getInput());
  const Lowered &input = values.find(op.getInput())->second;
  if (auto layout = layouts.find(input.tensor); layout != layouts.end()) {
    // A packed parameter keeps its experts outermost: selecting one leaves the
    // packed weights of that expert.
    SmallVector<AffineExpr> packed, rest;
    for (int64_t dim : ArrayRef<int64_t>(layout->second).drop_front())
      rest.push_back(input.sizes[dim]);
    Value part = view(input.tensor,
                      constant(op.getIndex()) * productOf(rest, context), rest);
    SmallVector<int64_t> order;
    for (int64_t dim : ArrayRef<int64_t>(layout->second).drop_front())
      order.push_back(dim - 1);
    layouts[part] = order;
    set(op, part);
    return;
  }
  SmallVector<AffineExpr> kept(input.sizes);
  kept[op.getDim()] = constant(1);
  Lowered source = input;
  Value range = takeRange(source, op.getDim(), constant(op.getIndex()), kept);
  set(op, reshape(range, analysis.getSizes(op)));
}

LogicalResult GraphLowering::lowerSlice(graph::SliceOp op) {
  // Products read their part of each expert's weight where it lies.
  if (!op->use_empty() && llvm::all_of(op->getUses(), isPartOfExpertWeights))
    return success();
  tensorOf(op.getInput());
  Lowered source = values.find(op.getInput())->second;
  AffineExpr size = source.sizes[op.getDim()];
  AffineExpr begin =
      op.getBegin() < 0 ? size + op.getBegin() : constant(op.getBegin());
  Value range = takeRange(source, op.getDim(), begin, analysis.getSizes(op));
  if (!range)
    return op.emitOpError("begins at ")
           << op.getBegin()
           << " from the end of a dynamic dimension, which no view and no copy "
              "can express here; make the dimension static or the outermost of "
              "rows of 16 bytes";
  set(op, range);
  return success();
}

void GraphLowering::lowerTranspose(graph::TransposeOp op) {
  Value input = tensorOf(op.getInput());
  Value out =
      empty(analysis.getSizes(op), getElementTypeOrSelf(input.getType()));
  unsigned rank = op.getPermutation().size();
  SmallVector<AffineExpr> index(rank);
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    index[dim] = builder.getAffineDimExpr(i);
  set(op, copy(input, AffineMap::get(rank, 0, index, context), out,
               builder.getMultiDimIdentityMap(rank), false));
}

void GraphLowering::lowerStack(graph::StackOp op) {
  Value out = empty(analysis.getSizes(op), getElementTypeOrSelf(op.getType()));
  unsigned rank = analysis.getSizes(op.getInputs().front()).size();
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    SmallVector<AffineExpr> index{constant(i)};
    llvm::append_range(index, identity.getResults());
    out = copy(tensorOf(input), identity, out,
               AffineMap::get(rank, 0, index, context), /*domainIsInput=*/true);
  }
  set(op, out);
}

LogicalResult GraphLowering::lowerConcat(graph::ConcatOp op) {
  ArrayRef<AffineExpr> sizes = analysis.getSizes(op);
  Value out = empty(sizes, getElementTypeOrSelf(op.getType()));
  unsigned rank = sizes.size();
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  AffineExpr position = constant(0);
  for (Value input : op.getInputs()) {
    auto start = dyn_cast<AffineConstantExpr>(position);
    if (!start)
      return op.emitOpError(
                 "joins after an input of dynamic size in dimension ")
             << op.getDim() << "; only the last may be dynamic";
    SmallVector<AffineExpr> index(identity.getResults());
    index[op.getDim()] = index[op.getDim()] + start.getValue();
    out = copy(tensorOf(input), identity, out,
               AffineMap::get(rank, 0, index, context), /*domainIsInput=*/true);
    position = position + analysis.getSizes(input)[op.getDim()];
  }
  set(op, out);
  return success();
}
