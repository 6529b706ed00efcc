// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks of shapes and element types that the ops' verifiers share.

#ifndef EPIFOLD_IR_GRAPH_GRAPHVERIFY_H
#define EPIFOLD_IR_GRAPH_GRAPHVERIFY_H

#include "ir/graph/GraphDialect.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

namespace epifold::graph {

inline mlir::ShapedType shaped(mlir::Value value) {
  return mlir::cast<mlir::ShapedType>(value.getType());
}

/// Checks that `value` has `shape`; a dynamic size fits any.
inline mlir::LogicalResult expectShape(mlir::Operation *op,
                                       llvm::StringRef what, mlir::Value value,
                                       llvm::ArrayRef<int64_t> shape) {
  if (shaped(value).getRank() == int64_t(shape.size()) &&
      mlir::succeeded(
          mlir::verifyCompatibleShape(shaped(value).getShape(), shape)))
    return mlir::success();
  mlir::InFlightDiagnostic diagnostic = op->emitOpError()
                                        << what << " must have shape [";
  llvm::interleave(
      shape,
      [&](int64_t size) {
        mlir::ShapedType::isDynamic(size) ? diagnostic << "?"
                                          : diagnostic << size;
      },
      [&] { diagnostic << ", "; });
  return diagnostic << "], got " << value.getType();
}

inline mlir::LogicalResult expectElement(mlir::Operation *op,
                                         llvm::StringRef what,
                                         mlir::Value value, mlir::Type type) {
  if (shaped(value).getElementType() == type)
    return mlir::success();
  return op->emitOpError() << what << " must hold " << type << ", got "
                           << value.getType();
}

inline bool sizesAgree(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) ||
         mlir::ShapedType::isDynamic(b);
}

/// The last dimension is reduced: its size must be known.
inline mlir::LogicalResult verifyRows(mlir::Operation *op, mlir::Value input) {
  mlir::ShapedType type = shaped(input);
  if (type.getRank() < 1 ||
      mlir::ShapedType::isDynamic(type.getShape().back()) ||
      type.getShape().back() < 1)
    return op->emitOpError("needs rows of a static, positive length, got ")
           << type;
  return mlir::success();
}

} // namespace epifold::graph

#endif // EPIFOLD_IR_GRAPH_GRAPHVERIFY_H
