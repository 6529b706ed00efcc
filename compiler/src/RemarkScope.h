// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Hands the passes' remarks to the caller of the compiler.

#ifndef EPIFOLD_COMPILER_SRC_REMARKSCOPE_H
#define EPIFOLD_COMPILER_SRC_REMARKSCOPE_H

#include "epifold/Compiler.h"
#include "mlir/IR/MLIRContext.h"

namespace epifold {

/// While it lives, every remark of a fusion in `context` goes to `handler`;
/// with an empty one the passes look for none.
class RemarkScope {
public:
  RemarkScope(mlir::MLIRContext &context, const FusionRemarkHandler &handler);
  ~RemarkScope();
  RemarkScope(const RemarkScope &) = delete;
  RemarkScope &operator=(const RemarkScope &) = delete;

private:
  mlir::MLIRContext *context = nullptr;
};

} // namespace epifold

#endif // EPIFOLD_COMPILER_SRC_REMARKSCOPE_H
