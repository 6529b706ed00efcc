// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves two launches into the region of one.

#include "passes/Cascade.h"

#include "mlir/IR/IRMapping.h"
#include "passes/FusionRemarks.h"

using namespace mlir;
using namespace epifold;

/// What `value` is a view of.
static Value getSource(Value value) {
  while (auto view = value.getDefiningOp<kernel::ViewOp>())
    value = view.getInput();
  return value;
}

/// Clones `value`'s views of what the region has into it.
static Value materialize(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  auto view = value.getDefiningOp<kernel::ViewOp>();
  materialize(builder, view.getInput(), mapping);
  return builder.clone(*view, mapping)->getResult(0);
}

/// Clones a launch, or those that a cascade holds, with other operands; returns
/// the results.
static SmallVector<Value> cloneLaunches(OpBuilder &builder, Operation *op,
                                        ValueRange operands) {
  auto cascade = dyn_cast<kernel::CascadeOp>(op);
  if (!cascade) {
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    return SmallVector<Value>(copy->getResults());
  }
  Block &block = cascade.getBody().front();
  IRMapping mapping;
  mapping.map(block.getArguments(), operands);
  for (Operation &inner : block.without_terminator())
    builder.clone(inner, mapping);
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookup(value); });
}

kernel::CascadeOp epifold::replaceByCascade(PatternRewriter &rewriter,
                                            Operation *first, Operation *second,
                                            bool keepsFirst) {
  SmallVector<Value> ins, outs;
  auto isOfFirst = [&](Value value) {
    return getSource(value).getDefiningOp() == first;
  };
  for (Operation *op : {first, second}) {
    auto launch = cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (launch.isDpsInit(&operand)) {
        if (op == second || keepsFirst)
          outs.push_back(operand.get());
      } else if (op == first || !isOfFirst(operand.get())) {
        ins.push_back(operand.get());
      }
    }
  }
  auto cascade =
      kernel::CascadeOp::create(rewriter, fuseLocations(second, first),
                                TypeRange(ValueRange(outs)), ins, outs);

  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<Location> locations(cascade->getNumOperands(), cascade.getLoc());
  Block *block = rewriter.createBlock(&cascade.getBody(), {},
                                      cascade->getOperandTypes(), locations);
  unsigned nextIn = 0, nextOut = ins.size();
  SmallVector<Value> written;
  IRMapping mapping;
  for (Operation *op : {first, second}) {
    auto launch = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!launch.isDpsInit(&operand))
        operands.push_back(op == second && isOfFirst(operand.get())
                               ? materialize(rewriter, operand.get(), mapping)
                               : Value(block->getArgument(nextIn++)));
      else if (op == second || keepsFirst)
        operands.push_back(block->getArgument(nextOut++));
      else
        operands.push_back(
            rewriter.clone(*operand.get().getDefiningOp())->getResult(0));
    }
    SmallVector<Value> results = cloneLaunches(rewriter, op, operands);
    mapping.map(op->getResults(), results);
    if (op == second || keepsFirst)
      llvm::append_range(written, results);
  }
  kernel::YieldOp::create(rewriter, cascade.getLoc(), written);

  // `second` reads `first`, so it goes first.
  ValueRange results = cascade.getResults();
  rewriter.replaceOp(second, results.take_back(second->getNumResults()));
  if (keepsFirst) {
    rewriter.replaceOp(first, results.take_front(first->getNumResults()));
    return cascade;
  }
  for (Operation *user : llvm::make_early_inc_range(first->getUsers()))
    rewriter.eraseOp(user);
  rewriter.eraseOp(first);
  return cascade;
}
