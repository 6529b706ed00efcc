// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns a kernel function into the description of an executable.

#ifndef EPIFOLD_COMPILER_SRC_EXPORT_H
#define EPIFOLD_COMPILER_SRC_EXPORT_H

#include "epifold/Compiler.h"
#include "epifold/runtime/ExecutableBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace epifold {

/// Emits every distinct kernel of `function` and writes its launch plan, buffer
/// plan and tensors into `desc`. On failure the diagnostics of the context say
/// why. `remarks` gets what ptxas said that costs speed.
mlir::LogicalResult exportFunction(mlir::func::FuncOp function,
                                   const CompileOptions &options,
                                   runtime::ExecutableDesc &desc,
                                   std::vector<std::string> &remarks);

} // namespace epifold

#endif // EPIFOLD_COMPILER_SRC_EXPORT_H
