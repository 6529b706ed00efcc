// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Evaluation and analysis of indexing maps.

#include "backends/ptx/IndexExpressions.h"

using namespace mlir;
using namespace epifold::ptx;

Value epifold::ptx::evaluate(KernelBuilder &b, AffineExpr expr, ValueRange dims,
                             Value symbol) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return b.i64(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (isa<AffineSymbolExpr>(expr))
    return symbol;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = evaluate(b, binary.getLHS(), dims, symbol);
  Value rhs = evaluate(b, binary.getRHS(), dims, symbol);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return b.add(lhs, rhs);
  case AffineExprKind::Mul:
    return b.mul(lhs, rhs);
  case AffineExprKind::Mod:
    return b.rem(lhs, rhs);
  // Indices are never negative.
  case AffineExprKind::FloorDiv:
    return b.div(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return b.div(b.add(lhs, b.sub(rhs, b.i64(1))), rhs);
  default:
    llvm_unreachable("not a binary expression");
  }
}

Value epifold::ptx::elementOffset(KernelBuilder &b, unsigned operand,
                                  AffineMap map, ValueRange dims,
                                  Value symbol) {
  Value offset = b.i64(0);
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    offset = b.add(b.mul(offset, b.size(operand, dim)),
                   evaluate(b, expr, dims, symbol));
  return offset;
}

/// Whether `expr` is the dimension, or the dimension plus a constant.
static bool isShiftedDim(AffineExpr expr, unsigned dim, int64_t &shift) {
  shift = 0;
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
      sum && sum.getKind() == AffineExprKind::Add)
    if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
      shift = constant.getValue();
      expr = sum.getLHS();
    }
  auto position = dyn_cast<AffineDimExpr>(expr);
  return position && position.getPosition() == dim;
}

Movement epifold::ptx::movementAlong(AffineMap map, unsigned dim) {
  Movement movement = Movement::None;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    int64_t shift;
    if (!expr.isFunctionOfDim(dim))
      continue;
    if (!isShiftedDim(expr, dim, shift))
      return Movement::Other;
    bool isLast = position + 1 == map.getNumResults();
    movement = movement == Movement::None && isLast ? Movement::Contiguous
                                                    : Movement::Linear;
  }
  return movement;
}

Value epifold::ptx::strideAlong(KernelBuilder &b, unsigned operand,
                                AffineMap map, unsigned dim) {
  Value stride = b.i64(0);
  for (auto [position, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(dim))
      stride = b.add(stride, b.stride(operand, position));
  return stride;
}

int64_t epifold::ptx::vectorAlignment(RankedTensorType type, AffineMap map,
                                      unsigned dim, int64_t limit) {
  int64_t shift = 0;
  if (map.getNumResults() == 0 ||
      !isShiftedDim(map.getResults().back(), dim, shift))
    return 1;
  int64_t width = type.getShape().back();
  // A single row of unknown length starts at the operand's pointer.
  if (ShapedType::isDynamic(width))
    width = type.getRank() == 1 ? 0 : 1;
  while (limit > 1 && (width % limit != 0 || shift % limit != 0))
    limit /= 2;
  return limit;
}
