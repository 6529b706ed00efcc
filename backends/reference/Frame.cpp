// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Keeps the values of one evaluation and checks them against their types.

#include "backends/reference/Frame.h"

#include "ir/graph/GraphDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace epifold::reference;

llvm::Error epifold::reference::makeError(mlir::Operation *op,
                                          const llvm::Twine &message) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::isa<mlir::UnknownLoc>(op->getLoc()))
    stream << op->getLoc() << ": ";
  stream << "'" << op->getName() << "' " << message;
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

ElementType epifold::reference::getElementType(mlir::Value value) {
  return *getElementType(mlir::getElementTypeOrSelf(value.getType()));
}

Frame::Frame(mlir::Block &block, Workers &workers)
    : workers(workers), needed{block.getTerminator()} {
  for (mlir::Operation &op : llvm::reverse(block))
    if (needed.contains(&op))
      for (mlir::Value operand : op.getOperands())
        if (mlir::Operation *producer = operand.getDefiningOp())
          needed.insert(producer);
  auto release = [&](mlir::Value value) {
    mlir::Operation *last = value.getDefiningOp();
    for (mlir::Operation *user : value.getUsers()) {
      // A use inside a region counts for the op that holds the region.
      mlir::Operation *inBlock = block.findAncestorOpInBlock(*user);
      if (inBlock && (!last || last->isBeforeInBlock(inBlock)))
        last = inBlock;
    }
    if (last)
      lastUses[last].push_back(value);
  };
  for (mlir::Value argument : block.getArguments())
    release(argument);
  for (mlir::Operation &op : block)
    for (mlir::Value result : op.getResults())
      release(result);
}

Tensor Frame::takeTensor(mlir::Value value, mlir::Operation *op) {
  auto &tensor = std::get<Tensor>(values.find(value)->second);
  auto found = lastUses.find(op);
  bool isLast =
      found != lastUses.end() && llvm::is_contained(found->second, value);
  if (isLast && llvm::count(op->getOperands(), value) == 1)
    return std::move(tensor);
  return tensor;
}

void Frame::release(mlir::Operation *op) {
  if (auto found = lastUses.find(op); found != lastUses.end())
    for (mlir::Value value : found->second)
      values.erase(value);
}

/// Compares an observed shape with a type's, whose dynamic sizes allow any.
static bool fits(llvm::ArrayRef<int64_t> observed,
                 llvm::ArrayRef<int64_t> declared) {
  return observed.size() == declared.size() &&
         llvm::all_of(llvm::zip(observed, declared), [](auto pair) {
           auto [size, wanted] = pair;
           return mlir::ShapedType::isDynamic(wanted) || size == wanted;
         });
}

llvm::Error Frame::define(mlir::Value target, Value value) {
  auto refuse = [&](const llvm::Twine &observed) {
    std::string type;
    llvm::raw_string_ostream(type) << target.getType();
    mlir::Operation *op = target.getDefiningOp();
    return makeError(op ? op : target.getParentBlock()->getParentOp(),
                     "gives " + observed + " where the type is " + type);
  };
  auto shaped = llvm::dyn_cast<mlir::ShapedType>(target.getType());
  if (auto *tensor = std::get_if<Tensor>(&value)) {
    if (!shaped || !fits(tensor->getShape(), shaped.getShape()) ||
        tensor->getElementType() != getElementType(target))
      return refuse(tensor->describe());
  } else if (auto *ragged = std::get_if<Ragged>(&value)) {
    auto type = llvm::dyn_cast<graph::RaggedType>(target.getType());
    if (!type || type.getWidth() != ragged->getWidth() ||
        type.getGroups() != ragged->getGroups() ||
        ragged->rows.getElementType() != getElementType(target))
      return refuse(llvm::Twine(ragged->getGroups()) + " groups of " +
                    ragged->rows.describe() + " rows");
  } else {
    const Routing &routing = *std::get<std::shared_ptr<const Routing>>(value);
    auto type = llvm::dyn_cast<graph::RoutingType>(target.getType());
    if (!type || type.getExperts() != routing.experts ||
        type.getTopk() != routing.topk)
      return refuse("a routing of " + llvm::Twine(routing.experts) +
                    " experts, top " + llvm::Twine(routing.topk));
  }
  values[target] = std::move(value);
  return llvm::Error::success();
}
