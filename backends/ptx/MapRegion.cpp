// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the loads, the region and the stores of elementwise launches, in
// 16-byte pieces where all that runs along the innermost dimension allows.

#include "backends/ptx/MapRegion.h"

#include "backends/ptx/IndexExpressions.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

MapRegion::MapRegion(kernel::MapOp op) : op(op), launch(op) {
  auto cascade = dyn_cast<kernel::CascadeOp>(op->getParentOp());
  if (cascade)
    launch = cascade;
  SmallVector<Value> operands(op.getIns());
  llvm::append_range(operands, op.getOuts());
  unsigned offsets = op.getIns().size();
  for (auto [i, operand, map] : llvm::enumerate(
           operands, op.getIndexingMaps().getAsValueRange<AffineMapAttr>())) {
    // In the launch itself offsets come between ins and outs.
    unsigned number = i < offsets || !op.getOffsets() ? i : i + 1;
    Access access{cascade ? cascade.findOperand(operand) : number,
                  cast<RankedTensorType>(operand.getType()), map};
    (i < offsets ? ins : outs).push_back(access);
    if (int64_t(i) == int64_t(op.getDomain())) {
      assert(access.operand && "the domain is a tensor of the launch");
      domain = *access.operand;
      shape = access.type;
    }
  }
  // A ragged row may be a single element: then there are no columns.
  hasColumns = shape.getRank() > (op.getOffsets() ? 1 : 0);
  chooseWidth();
}

bool MapRegion::usesExpert() const {
  return llvm::any_of(
      llvm::concat<const Access>(ins, outs),
      [](const Access &access) { return access.map.isFunctionOfSymbol(0); });
}

/// As many elements as the widest 16-byte access takes, if every tensor that
/// runs along the innermost dimension allows.
void MapRegion::chooseWidth() {
  if (!hasColumns || ShapedType::isDynamic(shape.getShape().back()))
    return;
  unsigned column = shape.getRank() - 1;
  int64_t limit = 1;
  for (const Access &access : llvm::concat<const Access>(ins, outs))
    if (movementAlong(access.map, column) == Movement::Contiguous)
      limit = std::max<int64_t>(
          limit,
          std::min<int64_t>(8, 128 / access.type.getElementTypeBitWidth()));
  while (shape.getShape().back() % limit != 0)
    limit /= 2;
  for (const Access &access : outs)
    if (movementAlong(access.map, column) != Movement::Contiguous)
      return;
  for (const Access &access : llvm::concat<const Access>(ins, outs))
    if (movementAlong(access.map, column) == Movement::Contiguous)
      limit = vectorAlignment(access.type, access.map, column, limit);
  width = limit;
}

bool MapRegion::isVector(const Access &access) const {
  return width > 1 &&
         movementAlong(access.map, shape.getRank() - 1) == Movement::Contiguous;
}

KernelBuilder::Values MapRegion::load(KernelBuilder &b, const Access &access,
                                      ValueRange point, Value expert) const {
  unsigned operand = *access.operand;
  Type element = access.type.getElementType();
  Value offset = elementOffset(b, operand, access.map, point, expert);
  if (isVector(access))
    return b.loadVector(
        element, b.elementPointer(b.pointer(operand), element, offset), width);
  KernelBuilder::Values values = {b.loadElement(operand, offset)};
  bool isBroadcast =
      !hasColumns ||
      movementAlong(access.map, shape.getRank() - 1) == Movement::None;
  for (int64_t lane : llvm::seq<int64_t>(1, width)) {
    if (isBroadcast) {
      values.push_back(values.front());
      continue;
    }
    KernelBuilder::Values shifted(point);
    shifted.back() = b.add(shifted.back(), b.i64(lane));
    values.push_back(b.loadElement(
        operand, elementOffset(b, operand, access.map, shifted, expert)));
  }
  return values;
}

SmallVector<KernelBuilder::Values> MapRegion::compute(KernelBuilder &b,
                                                      ValueRange point,
                                                      Value expert,
                                                      OwnValue own) const {
  SmallVector<KernelBuilder::Values> loaded, results(outs.size());
  for (const Access &access : ins)
    loaded.push_back(access.operand
                         ? load(b, access, point, expert)
                         : KernelBuilder::Values(width, own(access.map)));
  for (int64_t lane : llvm::seq(width)) {
    KernelBuilder::Values arguments = llvm::map_to_vector(
        loaded, [&](KernelBuilder::Values &values) { return values[lane]; });
    for (auto [out, value] :
         llvm::enumerate(b.inlineRegion(op.getBody(), arguments)))
      results[out].push_back(value);
  }
  return results;
}

void MapRegion::store(KernelBuilder &b, ArrayRef<KernelBuilder::Values> results,
                      ValueRange point, Value expert) const {
  for (auto [access, values] : llvm::zip(outs, results)) {
    Value offset = elementOffset(b, *access.operand, access.map, point, expert);
    b.storeVector(values,
                  b.elementPointer(b.pointer(*access.operand),
                                   access.type.getElementType(), offset));
  }
}
