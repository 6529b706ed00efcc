// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Evaluates affine expressions without building new ones, so that threads may
// do it.

#include "backends/reference/IndexMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace epifold::reference;
using mlir::AffineExpr;
using mlir::AffineExprKind;

static int64_t evaluateExpression(AffineExpr expression,
                                  llvm::ArrayRef<int64_t> dims,
                                  llvm::ArrayRef<int64_t> symbols) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant.getValue();
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
  int64_t lhs = evaluateExpression(binary.getLHS(), dims, symbols);
  int64_t rhs = evaluateExpression(binary.getRHS(), dims, symbols);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(lhs, rhs);
  case AffineExprKind::Mod:
    return llvm::mod(lhs, rhs);
  default:
    llvm_unreachable("not a binary expression");
  }
}

Tensor::Shape epifold::reference::evaluateMap(mlir::AffineMap map,
                                              llvm::ArrayRef<int64_t> dims,
                                              llvm::ArrayRef<int64_t> symbols) {
  Tensor::Shape results;
  for (AffineExpr expression : map.getResults())
    results.push_back(evaluateExpression(expression, dims, symbols));
  return results;
}

Bounds epifold::reference::evaluateBounds(AffineExpr expression,
                                          llvm::ArrayRef<Bounds> dims,
                                          llvm::ArrayRef<Bounds> symbols) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return {constant.getValue(), constant.getValue()};
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
  Bounds lhs = evaluateBounds(binary.getLHS(), dims, symbols);
  Bounds rhs = evaluateBounds(binary.getRHS(), dims, symbols);
  int64_t divisor = rhs.first; // a constant, by the rules of affine expressions
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return {lhs.first + rhs.first, lhs.second + rhs.second};
  case AffineExprKind::Mul:
    return std::minmax({lhs.first * divisor, lhs.second * divisor});
  case AffineExprKind::FloorDiv:
    return {llvm::divideFloorSigned(lhs.first, divisor),
            llvm::divideFloorSigned(lhs.second, divisor)};
  case AffineExprKind::CeilDiv:
    return {llvm::divideCeilSigned(lhs.first, divisor),
            llvm::divideCeilSigned(lhs.second, divisor)};
  case AffineExprKind::Mod:
    return {0, std::min(std::max<int64_t>(lhs.second, 0), divisor - 1)};
  default:
    llvm_unreachable("not a binary expression");
  }
}

/// Adds scale · expression to a linear form; false when it is not linear.
static bool addLinear(AffineExpr expression, int64_t scale,
                      Tensor::Shape &coefficients, int64_t &symbolCoefficient,
                      int64_t &constant) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression))
    return coefficients[dim.getPosition()] += scale, true;
  if (llvm::isa<mlir::AffineSymbolExpr>(expression))
    return symbolCoefficient += scale, true;
  if (auto number = llvm::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant += scale * number.getValue(), true;
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
  auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  auto add = [&](AffineExpr part, int64_t partScale) {
    return addLinear(part, partScale, coefficients, symbolCoefficient,
                     constant);
  };
  if (expression.getKind() == AffineExprKind::Add)
    return add(binary.getLHS(), scale) && add(binary.getRHS(), scale);
  if (expression.getKind() == AffineExprKind::Mul && factor)
    return add(binary.getLHS(), scale * factor.getValue());
  return false;
}

IndexMap::IndexMap(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape)
    : map(map), strides(shape.size()), coefficients(map.getNumDims(), 0) {
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  for (auto [expression, scale] : llvm::zip(map.getResults(), strides))
    isLinear = isLinear && addLinear(expression, scale, coefficients,
                                     symbolCoefficient, constant);
}

int64_t IndexMap::getOffset(llvm::ArrayRef<int64_t> point,
                            int64_t symbol) const {
  int64_t offset = 0;
  if (isLinear) {
    offset = constant + symbolCoefficient * symbol;
    for (auto [coefficient, position] : llvm::zip(coefficients, point))
      offset += coefficient * position;
    return offset;
  }
  for (auto [expression, stride] : llvm::zip(map.getResults(), strides))
    offset += stride * evaluateExpression(expression, point, symbol);
  return offset;
}

std::optional<int64_t> IndexMap::getInnerStride() const {
  if (!isLinear)
    return std::nullopt;
  return coefficients.empty() ? 0 : coefficients.back();
}

bool IndexMap::isContiguous(llvm::ArrayRef<int64_t> sizes) const {
  int64_t wanted = 1;
  for (size_t dim = sizes.size(); dim-- > 0; wanted *= sizes[dim])
    if (sizes[dim] != 1 && coefficients[dim] != wanted)
      return false;
  return isLinear;
}
