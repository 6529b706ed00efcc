// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The emitters of the kernel dialect's launches, one function each.

#ifndef EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Each builds the kernel of one op; a refusal is a diagnostic on the op that
/// says why.
llvm::FailureOr<KernelSource> emitMap(kernel::MapOp op);
llvm::FailureOr<KernelSource> emitGemm(kernel::GemmOp op);

/// The emitter of `op`'s kind.
llvm::FailureOr<KernelSource> emitSource(mlir::Operation *op);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H
