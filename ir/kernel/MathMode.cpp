// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads the math mode from the function around an op.

#include "ir/kernel/MathMode.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace epifold::kernel;

std::optional<MathMode>
epifold::kernel::symbolizeMathMode(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<MathMode>>(name)
      .Case("portable", MathMode::Portable)
      .Case("fast", MathMode::Fast)
      .Default(std::nullopt);
}

llvm::StringRef epifold::kernel::stringifyMathMode(MathMode mode) {
  return mode == MathMode::Fast ? "fast" : "portable";
}

MathMode epifold::kernel::getMathMode(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto name = op->getAttrOfType<StringAttr>(mathModeAttrName))
      return symbolizeMathMode(name.getValue()).value_or(MathMode::Portable);
  return MathMode::Portable;
}
