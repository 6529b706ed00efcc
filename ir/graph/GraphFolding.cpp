// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How ops that are not elementwise become one op over all experts.

#include "ir/graph/GraphDialect.h"

using namespace mlir;
using namespace epifold::graph;

static ShapedType shaped(Value value) {
  return cast<ShapedType>(value.getType());
}

/// `result`'s type with the expert dimension, or null with a reason.
static ShapedType stackResult(Value result, int64_t experts,
                              std::string &reason) {
  ShapedType type = stackType(result.getType(), experts);
  if (!type)
    reason = "its rows are grouped already";
  return type;
}

Value SelectOp::buildFolded(OpBuilder &b, ValueRange operands, ArrayRef<bool>,
                            int64_t experts, std::string &reason) {
  return SelectOp::create(b, getLoc(),
                          stackResult(getResult(), experts, reason),
                          operands[0], getDim() + 1, getIndex());
}

Value SliceOp::buildFolded(OpBuilder &b, ValueRange operands, ArrayRef<bool>,
                           int64_t experts, std::string &reason) {
  return SliceOp::create(b, getLoc(), stackResult(getResult(), experts, reason),
                         operands[0], b.getI64IntegerAttr(getDim() + 1),
                         getBeginAttr(), getEndAttr());
}

Value ReshapeOp::buildFolded(OpBuilder &b, ValueRange operands, ArrayRef<bool>,
                             int64_t experts, std::string &reason) {
  return ReshapeOp::create(
      b, getLoc(), stackResult(getResult(), experts, reason), operands[0]);
}

Value TransposeOp::buildFolded(OpBuilder &b, ValueRange operands,
                               ArrayRef<bool>, int64_t experts,
                               std::string &reason) {
  SmallVector<int64_t> permutation{0};
  for (int64_t dim : getPermutation())
    permutation.push_back(dim + 1);
  return TransposeOp::create(b, getLoc(),
                             stackResult(getResult(), experts, reason),
                             operands[0], permutation);
}

Value SoftmaxOp::buildFolded(OpBuilder &b, ValueRange operands, ArrayRef<bool>,
                             int64_t experts, std::string &reason) {
  return SoftmaxOp::create(b, getLoc(),
                           stackResult(getResult(), experts, reason),
                           operands[0], getAccuracyAttr());
}

Value RmsNormOp::buildFolded(OpBuilder &b, ValueRange operands,
                             ArrayRef<bool> stacked, int64_t experts,
                             std::string &reason) {
  if (stacked[1]) {
    reason = "each expert has its own scale";
    return {};
  }
  return RmsNormOp::create(b, getLoc(),
                           stackResult(getResult(), experts, reason),
                           operands[0], operands[1], getEpsilonAttr());
}

Value LayerNormOp::buildFolded(OpBuilder &b, ValueRange operands,
                               ArrayRef<bool> stacked, int64_t experts,
                               std::string &reason) {
  if (stacked[1] || stacked[2]) {
    reason = "each expert has its own scale or bias";
    return {};
  }
  return LayerNormOp::create(
      b, getLoc(), stackResult(getResult(), experts, reason), operands[0],
      operands[1], operands[2], getEpsilonAttr());
}

Value MatmulOp::buildFolded(OpBuilder &b, ValueRange operands,
                            ArrayRef<bool> stacked, int64_t experts,
                            std::string &reason) {
  ShapedType type = stackResult(getResult(), experts, reason);
  if (!type)
    return {};
  if (!stacked[1]) // The experts share the weight: one product over all rows.
    return MatmulOp::create(b, getLoc(), type, operands[0], operands[1]);
  Value lhs = operands[0];
  int64_t rank = shaped(lhs).getRank() - (stacked[0] ? 1 : 0);
  if (rank == 2 || isa<RaggedType>(lhs.getType()))
    return ExpertMatmulOp::create(b, getLoc(), type, lhs, operands[1]);
  // [..., m, k] becomes rows for the product and gets its dimensions back after
  // it.
  ArrayRef<int64_t> lhsShape = shaped(lhs).getShape();
  int64_t rows = 1;
  for (int64_t size : lhsShape.drop_front(stacked[0] ? 1 : 0).drop_back())
    rows = ShapedType::isDynamic(size) || ShapedType::isDynamic(rows)
               ? ShapedType::kDynamic
               : rows * size;
  if (ShapedType::isDynamic(rows) &&
      llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1) {
    reason = "its input has several dynamic dimensions";
    return {};
  }
  SmallVector<int64_t> flat{rows, lhsShape.back()};
  if (stacked[0])
    flat.insert(flat.begin(), experts);
  Value rowsOfLhs = ReshapeOp::create(
      b, getLoc(), RankedTensorType::get(flat, shaped(lhs).getElementType()),
      lhs);
  auto product = RankedTensorType::get({experts, rows, type.getShape().back()},
                                       type.getElementType());
  Value result =
      ExpertMatmulOp::create(b, getLoc(), product, rowsOfLhs, operands[1]);
  return ReshapeOp::create(b, getLoc(), type, result);
}

Value CausalConv1dOp::buildFolded(OpBuilder &b, ValueRange operands,
                                  ArrayRef<bool> stacked, int64_t experts,
                                  std::string &reason) {
  if (stacked[0]) {
    reason = "the experts' inputs differ";
    return {};
  }
  return ExpertCausalConv1dOp::create(
      b, getLoc(), stackResult(getResult(), experts, reason), operands[0],
      operands[1], getDilationAttr());
}
