// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits reports to the run's status words.

#include "backends/ptx/rows/StatusReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;
using namespace epifold::ptx;

void epifold::ptx::reportStatus(KernelBuilder &b, StatusKind kind, Value row) {
  Value words = b.status();
  auto word = [&](int64_t i) {
    return b.elementPointer(words, b.getI64Type(), b.i64(i));
  };
  int64_t rowWord = kind == StatusKind::NaNLogits ? 1 : 2;
  // Both are order-free, so the words do not depend on which thread comes
  // first.
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::_or, word(0),
                            b.i64(int64_t(kind)),
                            LLVM::AtomicOrdering::monotonic);
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::min, word(rowWord), row,
                            LLVM::AtomicOrdering::monotonic);
}

Value epifold::ptx::isIndexInside(KernelBuilder &b, Value index, Value size) {
  // A negative index is huge when read without sign.
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, index, size);
}

Value epifold::ptx::notANumber(KernelBuilder &b, Type type) {
  return b.constant(type, std::numeric_limits<double>::quiet_NaN());
}
