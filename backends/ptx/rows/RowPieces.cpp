// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the walk of a block's threads over rows in pieces.

#include "backends/ptx/rows/RowPieces.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace epifold::ptx;

RowPieces RowPieces::get(Operation *op, unsigned operand) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  int64_t columns = type.getShape().back();
  if (ShapedType::isDynamic(columns))
    return {1, kBlockThreads};
  int64_t vector = 128 / type.getElementTypeBitWidth();
  int64_t width = columns % vector == 0 ? vector : 1;
  int64_t pieces = std::max<int64_t>(columns / width, 1);
  return {width, std::min<int64_t>(llvm::PowerOf2Ceil(pieces), kBlockThreads)};
}

Value RowPieces::getRow(KernelBuilder &b) const {
  Value first = b.mul(b.toI64(b.blockId()), b.i64(getRowsPerBlock()));
  return b.add(first, b.toI64(b.div(b.threadId(), b.i32(rowThreads))));
}

Value RowPieces::getGridRows(KernelBuilder &b) const {
  return b.mul(b.toI64(b.gridDim()), b.i64(getRowsPerBlock()));
}

void RowPieces::forEach(KernelBuilder &b, Value columns,
                        function_ref<void(Value)> body) const {
  Value first =
      b.mul(b.toI64(b.rem(b.threadId(), b.i32(rowThreads))), b.i64(width));
  b.forLoop(first, columns, b.i64(rowThreads * width), body);
}

KernelBuilder::Values RowPieces::load(KernelBuilder &b, unsigned operand,
                                      Value offset) const {
  Type type = b.elementType(operand);
  return b.loadVector(type, b.elementPointer(b.pointer(operand), type, offset),
                      width);
}

void RowPieces::store(KernelBuilder &b, const KernelBuilder::Values &values,
                      unsigned operand, Value offset) const {
  b.storeVector(values, b.elementPointer(b.pointer(operand),
                                         b.elementType(operand), offset));
}
