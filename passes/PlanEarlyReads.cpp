// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that says what products may read while the launch before them runs.

#include "passes/Passes.h"

namespace epifold {
#define GEN_PASS_DEF_PLANEARLYREADSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

/// The buffer that `value` is, or is a view of.
static Value getBuffer(Value value) {
  while (true) {
    value = kernel::getDestination(value);
    auto view = value.getDefiningOp<kernel::ViewOp>();
    if (!view)
      return value;
    value = view.getInput();
  }
}

/// The numbers of the operands that `before`, the launch right before the
/// product, does not write.
static SmallVector<int64_t> findSettled(kernel::GemmOp op,
                                        DestinationStyleOpInterface before) {
  auto isWritten = [&](Value operand) {
    return llvm::any_of(before.getDpsInits(), [&](Value out) {
      return getBuffer(out) == getBuffer(operand);
    });
  };
  SmallVector<int64_t> settled;
  auto add = [&](OpOperand &operand) {
    if (!isWritten(operand.get()))
      settled.push_back(operand.getOperandNumber());
  };
  for (OpOperand &b : op.getBMutable())
    add(b);
  for (OpOperand &offsets : op.getOffsetsMutable())
    add(offsets);
  return settled;
}

namespace {
struct PlanEarlyReads : epifold::impl::PlanEarlyReadsPassBase<PlanEarlyReads> {
  void runOnOperation() override {
    // Of the first launch nobody knows what came before.
    DestinationStyleOpInterface before;
    for (auto launch : getOperation()
                           .getBody()
                           .front()
                           .getOps<DestinationStyleOpInterface>()) {
      auto op = dyn_cast<kernel::GemmOp>(launch.getOperation());
      if (op && before)
        op->setAttr(
            kernel::kSettledAttrName,
            DenseI64ArrayAttr::get(&getContext(), findSettled(op, before)));
      before = launch;
    }
  }
};
} // namespace
