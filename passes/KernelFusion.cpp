// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the patterns that fuse kernel ops share.

#include "passes/KernelFusion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace epifold;

SmallVector<Value> epifold::inlineScalarCode(OpBuilder &builder, Block &block,
                                             ValueRange arguments) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

SmallVector<AffineExpr> epifold::findSizes(Value tensor) {
  tensor = kernel::getDestination(tensor);
  if (auto empty = tensor.getDefiningOp<kernel::EmptyOp>())
    return SmallVector<AffineExpr>(empty.getSizes().getResults());
  if (auto view = tensor.getDefiningOp<kernel::ViewOp>())
    return SmallVector<AffineExpr>(view.getSizes().getResults());
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    if (auto function =
            dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto map = function.getArgAttrOfType<AffineMapAttr>(
              argument.getArgNumber(), "kernel.sizes"))
        return SmallVector<AffineExpr>(map.getValue().getResults());
  SmallVector<AffineExpr> sizes;
  for (int64_t size : cast<ShapedType>(tensor.getType()).getShape()) {
    if (ShapedType::isDynamic(size))
      return {};
    sizes.push_back(getAffineConstantExpr(size, tensor.getContext()));
  }
  return sizes;
}

unsigned IndexedOperands::add(Value value, AffineMap map) {
  for (unsigned i = 0; i < values.size(); ++i)
    if (values[i] == value && maps[i] == map)
      return i;
  values.push_back(value);
  maps.push_back(map);
  return values.size() - 1;
}
