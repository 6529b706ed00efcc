// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers of the routing ops.

#include "ir/graph/GraphDialect.h"
#include "ir/graph/GraphVerify.h"

using namespace mlir;
using namespace epifold::graph;

LogicalResult TopKOp::verify() {
  ShapedType input = shaped(getInput());
  if (failed(verifyRows(*this, getInput())) ||
      failed(expectElement(*this, "values", getValues(),
                           input.getElementType())) ||
      failed(expectElement(*this, "indices", getIndices(),
                           IntegerType::get(getContext(), 32))))
    return failure();
  if (getK() < 1 || getK() > input.getShape().back())
    return emitOpError("k = ")
           << getK() << " must be between 1 and the " << input.getShape().back()
           << " elements of a row";
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = getK();
  if (failed(expectShape(*this, "values", getValues(), shape)))
    return failure();
  return expectShape(*this, "indices", getIndices(), shape);
}

LogicalResult RouteOp::verify() {
  auto routing = cast<RoutingType>(getRouting().getType());
  if (routing.getExperts() < 1 || routing.getTopk() < 1)
    return emitOpError("needs at least one expert and one slot, got ")
           << routing;
  if (failed(expectElement(*this, "indices", getIndices(),
                           IntegerType::get(getContext(), 32))) ||
      failed(expectElement(*this, "counts", getCounts(),
                           IntegerType::get(getContext(), 64))) ||
      failed(expectShape(*this, "indices", getIndices(),
                         {ShapedType::kDynamic, routing.getTopk()})))
    return failure();
  return expectShape(*this, "counts", getCounts(), {routing.getExperts()});
}

static LogicalResult verifyDispatch(Operation *op, Value routingValue,
                                    Value result, std::optional<int64_t> expert,
                                    int64_t width, Type element) {
  auto routing = cast<RoutingType>(routingValue.getType());
  if (expert && (*expert < 0 || *expert >= routing.getExperts()))
    return op->emitOpError("expert ") << *expert << " is outside the "
                                      << routing.getExperts() << " experts";
  if (failed(expectElement(op, "result", result, element)))
    return failure();
  if (expert)
    return expectShape(op, "result", result, {ShapedType::kDynamic, width});
  return expectShape(op, "result", result,
                     {routing.getExperts(), ShapedType::kDynamic, width});
}

LogicalResult DispatchOp::verify() {
  ShapedType input = shaped(getInput());
  if (input.getRank() != 2 || input.isDynamicDim(1))
    return emitOpError("takes [tokens, width] with a static width, got ")
           << input;
  return verifyDispatch(*this, getRouting(), getResult(), getExpert(),
                        input.getDimSize(1), input.getElementType());
}

LogicalResult DispatchSlotOp::verify() {
  ShapedType input = shaped(getInput());
  int64_t topk = cast<RoutingType>(getRouting().getType()).getTopk();
  if (failed(expectShape(*this, "input", getInput(),
                         {ShapedType::kDynamic, topk})))
    return failure();
  return verifyDispatch(*this, getRouting(), getResult(), getExpert(), 1,
                        input.getElementType());
}

LogicalResult CombineOp::verify() {
  auto routing = cast<RoutingType>(getRouting().getType());
  if (getInputs().empty())
    return emitOpError("needs the experts' rows");
  auto first = cast<RaggedType>(getInputs().front().getType());
  for (Value input : getInputs())
    if (input.getType() != first)
      return emitOpError("inputs differ: ")
             << first << " and " << input.getType();
  if (first.isGrouped()
          ? getInputs().size() != 1 || first.getGroups() != routing.getExperts()
          : int64_t(getInputs().size()) != routing.getExperts())
    return emitOpError("takes one value per expert (")
           << routing.getExperts() << ") or one grouped value, got "
           << getInputs().size() << " of " << first;
  return expectShape(*this, "result", getResult(),
                     {ShapedType::kDynamic, first.getWidth()});
}
