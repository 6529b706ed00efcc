// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The graph as kernels, which compilation and evaluation share.

#ifndef EPIFOLD_COMPILER_SRC_LOWERING_H
#define EPIFOLD_COMPILER_SRC_LOWERING_H

#include "compiler/src/GraphImpl.h"
#include "epifold/Compiler.h"

namespace epifold {

/// A copy of the graph's module lowered to kernels with the given fusion set;
/// `onRemark`, if any, is told what the fusions did.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
lowerToKernels(const Graph &graph, const std::string &fusion,
               const FusionRemarkHandler &onRemark = {});

} // namespace epifold

#endif // EPIFOLD_COMPILER_SRC_LOWERING_H
