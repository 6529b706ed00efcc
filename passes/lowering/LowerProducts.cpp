// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers matrix products and convolutions to kernel.gemm.

#include "passes/lowering/GraphLowering.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace epifold;

void GraphLowering::lowerMatmul(graph::MatmulOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  Lowered lhs = values.find(op.getLhs())->second;
  Product product;
  product.b = tensorOf(op.getRhs());
  product.outMap = AffineMap::get(
      3, 0, {builder.getAffineDimExpr(1), builder.getAffineDimExpr(2)},
      context);
  if (lhs.isRagged()) {
    product.a = lhs.tensor;
    // All experts' rows times one weight are the rows of a plain product; one
    // expert's are a segment.
    if (lhs.expert) {
      product.offsets = lhs.offsets;
      product.expert = lhs.expert;
    }
    setLike(op, gemm(product, empty(analysis.getSizes(op), element)), lhs);
    return;
  }
  product.a = rowsOf(op.getLhs());
  Value rows =
      gemm(product, empty(flattenRows(analysis.getSizes(op)), element));
  set(op, reshape(rows, analysis.getSizes(op)));
}

bool epifold::isPartOfExpertWeights(OpOperand &use) {
  auto slice = use.get().getDefiningOp<graph::SliceOp>();
  return slice && slice.getDim() == 1 &&
         isa<graph::ExpertMatmulOp>(use.getOwner()) &&
         use.getOperandNumber() == 1;
}

void GraphLowering::lowerExpertMatmul(graph::ExpertMatmulOp op) {
  Lowered lhs = values.find(op.getLhs())->second;
  Product product;
  product.a = tensorOf(op.getLhs());
  if (values.contains(op.getRhs())) {
    product.b = tensorOf(op.getRhs());
  } else {
    // A slice of every expert's rows, which was left for this product to read.
    auto slice = op.getRhs().getDefiningOp<graph::SliceOp>();
    product.b = tensorOf(slice.getInput());
    int64_t rows = cast<ShapedType>(product.b.getType()).getDimSize(1);
    product.range = graph::resolveSlice(slice.getBegin(), slice.getEnd(), rows);
  }
  Value out = empty(analysis.getSizes(op), getElementTypeOrSelf(op.getType()));
  if (lhs.isRagged()) {
    product.offsets = lhs.offsets;
    product.outMap = AffineMap::get(
        3, 0, {builder.getAffineDimExpr(1), builder.getAffineDimExpr(2)},
        context);
    setLike(op, gemm(product, out), lhs);
    return;
  }
  product.outMap = builder.getMultiDimIdentityMap(3);
  set(op, gemm(product, out));
}

std::optional<SmallVector<int64_t>>
epifold::planLayout(BlockArgument argument) {
  // A packed parameter must not be read as anything but a convolution's weight,
  // whole or expert by expert.
  std::function<bool(Value, int64_t)> onlyWeights = [&](Value value,
                                                        int64_t rank) {
    return !value.use_empty() &&
           llvm::all_of(value.getUses(), [&](OpOperand &use) {
             Operation *user = use.getOwner();
             if (auto select = dyn_cast<graph::SelectOp>(user))
               return rank == 4 && select.getDim() == 0 &&
                      onlyWeights(select, 3);
             return isa<graph::CausalConv1dOp, graph::ExpertCausalConv1dOp>(
                        user) &&
                    use.getOperandNumber() == 1;
           });
  };
  int64_t rank = cast<ShapedType>(argument.getType()).getRank();
  if ((rank != 3 && rank != 4) || !onlyWeights(argument, rank))
    return std::nullopt;
  return rank == 3 ? SmallVector<int64_t>{2, 0, 1}
                   : SmallVector<int64_t>{0, 3, 1, 2};
}

Value GraphLowering::tapMajorWeight(Value graphWeight) {
  Value weight = tensorOf(graphWeight);
  if (layouts.contains(weight))
    return weight;
  ArrayRef<AffineExpr> sizes = analysis.getSizes(graphWeight);
  unsigned rank = sizes.size(), o = rank - 3;
  SmallVector<AffineExpr> packed(sizes.take_front(o)), index;
  packed.append({sizes[o + 2], sizes[o], sizes[o + 1]});
  for (unsigned i = 0; i < o; ++i)
    index.push_back(builder.getAffineDimExpr(i));
  index.append({builder.getAffineDimExpr(o + 1),
                builder.getAffineDimExpr(o + 2), builder.getAffineDimExpr(o)});
  Value out = empty(packed, getElementTypeOrSelf(weight.getType()));
  return copy(weight, AffineMap::get(rank, 0, index, context), out,
              builder.getMultiDimIdentityMap(rank), false);
}

void GraphLowering::lowerConvolution(Operation *op, Value input, Value weight,
                                     int64_t dilation, bool experts) {
  Value result = op->getResult(0);
  SmallVector<AffineExpr> samples(analysis.getSizes(input));
  if (samples.size() == 2)
    samples.insert(samples.begin(), constant(1));
  Product product;
  product.a = reshape(tensorOf(input), samples);
  product.b = tapMajorWeight(weight);
  product.dilation = dilation;
  // Batch and time are one row dimension for the product.
  ArrayRef<AffineExpr> sizes = analysis.getSizes(result);
  SmallVector<AffineExpr> rows = flattenRows(sizes.drop_front(experts ? 1 : 0));
  if (experts)
    rows.insert(rows.begin(), sizes[0]);
  product.outMap = experts ? builder.getMultiDimIdentityMap(3)
                           : AffineMap::get(3, 0,
                                            {builder.getAffineDimExpr(1),
                                             builder.getAffineDimExpr(2)},
                                            context);
  Value out =
      gemm(product, empty(rows, getElementTypeOrSelf(result.getType())));
  set(result, reshape(out, sizes));
}
