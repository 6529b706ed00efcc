// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Liveness and sharing of the buffers of a kernel function.

#include "passes/MemoryPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/SizeAnalysis.h"

using namespace mlir;
using namespace epifold;

int64_t epifold::getElementBytes(Type type) {
  return llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(),
                          8);
}

AffineExpr MemoryPlan::getBytes(Value value) const {
  return productOf(getSizes(value), context) * getElementBytes(value.getType());
}

void MemoryPlan::recordSizes(Value value) {
  SmallVector<AffineExpr> result;
  if (auto empty = value.getDefiningOp<kernel::EmptyOp>())
    llvm::append_range(result, empty.getSizes().getResults());
  else if (auto view = value.getDefiningOp<kernel::ViewOp>())
    llvm::append_range(result, view.getSizes().getResults());
  else if (auto launch = value.getDefiningOp<DestinationStyleOpInterface>())
    llvm::append_range(
        result,
        getSizes(
            launch.getDpsInitOperand(cast<OpResult>(value).getResultNumber())
                ->get()));
  else if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (auto map = function.getArgAttrOfType<AffineMapAttr>(
            argument.getArgNumber(), "kernel.sizes"))
      llvm::append_range(result, map.getValue().getResults());
  }
  if (result.empty())
    for (int64_t size : cast<ShapedType>(value.getType()).getShape())
      result.push_back(getAffineConstantExpr(size, context));
  sizes[value] = std::move(result);
}

MemoryPlan::MemoryPlan(func::FuncOp function) : context(function.getContext()) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  Block &block = function.getBody().front();
  for (BlockArgument argument : function.getArguments()) {
    recordSizes(argument);
    places[argument] = {unsigned(buffers.size()), zero};
    buffers.push_back(
        {Kind::Argument, {getBytes(argument)}, argument.getArgNumber(), {}});
  }

  // Allocations are numbered from here until buffers are assigned.
  DenseMap<Value, unsigned> allocationOf;
  unsigned time = 0;
  auto touch = [&](Value value) {
    if (auto entry = allocationOf.find(value); entry != allocationOf.end())
      allocations[entry->second].last = time;
  };
  for (Operation &op : block) {
    ++time;
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType()))
        recordSizes(result);
    for (Value operand : op.getOperands())
      touch(operand);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto elements = dyn_cast<ElementsAttr>(constant.getValue());
      if (!elements)
        continue;
      places[constant] = {unsigned(buffers.size()), zero};
      buffers.push_back({Kind::Constant, {getBytes(constant)}, 0, elements});
    } else if (auto view = dyn_cast<kernel::ViewOp>(op)) {
      Value input = view.getInput();
      AffineExpr offset =
          view.getOffset().getResult(0) * getElementBytes(input.getType());
      if (auto entry = allocationOf.find(input); entry != allocationOf.end())
        allocationOf[view] = entry->second;
      places[view] = {places[input].buffer, places[input].offset + offset};
    } else if (auto launch = dyn_cast<DestinationStyleOpInterface>(op)) {
      for (OpOperand &out : launch.getDpsInitsMutable()) {
        Value result = launch.getTiedOpResult(&out);
        if (out.get().getDefiningOp<kernel::EmptyOp>()) {
          allocationOf[result] = allocations.size();
          allocations.push_back(
              {getBytes(result), time, time, 0, std::nullopt});
          places[result] = {0, zero};
          continue;
        }
        if (auto entry = allocationOf.find(out.get());
            entry != allocationOf.end())
          allocationOf[result] = entry->second;
        // By value: the new entry may move the old one.
        Place place = places[out.get()];
        places[result] = place;
      }
    } else if (auto returnOp = dyn_cast<func::ReturnOp>(op)) {
      for (auto [i, value] : llvm::enumerate(returnOp.getOperands()))
        if (auto entry = allocationOf.find(value); entry != allocationOf.end())
          allocations[entry->second].result = i;
    }
  }

  auto symbols = function->getAttrOfType<ArrayAttr>("kernel.symbols");
  assign(symbols ? symbols.size() : 0);
  for (auto [value, allocation] : allocationOf)
    places[value].buffer = allocations[allocation].buffer;
}

void MemoryPlan::assign(unsigned symbols) {
  // Sizes are compared at a nominal value of every dynamic dimension; sharing
  // is right for any.
  constexpr int64_t nominal = 4096;
  SmallVector<AffineExpr> values(symbols,
                                 getAffineConstantExpr(nominal, context));
  auto estimate = [&](AffineExpr bytes) {
    auto known = dyn_cast<AffineConstantExpr>(bytes.replaceSymbols(values));
    return known ? known.getValue() : 0;
  };
  struct Slot {
    unsigned buffer, freeAfter;
    int64_t bytes;
  };
  SmallVector<Slot> slots;
  for (Allocation &allocation : allocations) {
    int64_t bytes = estimate(allocation.bytes);
    if (allocation.result) {
      buffers.push_back(
          {Kind::Result, {allocation.bytes}, *allocation.result, {}});
      allocation.buffer = buffers.size() - 1;
      continue;
    }
    // The free buffer whose size is nearest: an exact fit costs nothing, a
    // larger one wastes, a smaller one grows.
    Slot *best = nullptr;
    for (Slot &slot : slots)
      if (slot.freeAfter < allocation.first &&
          (!best ||
           std::abs(slot.bytes - bytes) < std::abs(best->bytes - bytes)))
        best = &slot;
    if (!best) {
      buffers.push_back({Kind::Scratch, {}, 0, {}});
      best = &slots.emplace_back(Slot{unsigned(buffers.size() - 1), 0, 0});
    }
    best->freeAfter = allocation.last;
    best->bytes = std::max(best->bytes, bytes);
    SmallVector<AffineExpr> &sizes = buffers[best->buffer].bytes;
    if (!llvm::is_contained(sizes, allocation.bytes))
      sizes.push_back(allocation.bytes);
    allocation.buffer = best->buffer;
  }
}
