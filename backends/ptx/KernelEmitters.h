// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The emitters of the kernel dialect's launches, one function each.

#ifndef EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// What the targets of a kernel let an emitter use. One launch serves all of
/// them, so its shape depends on all.
struct TargetFeatures {
  /// The target of this image has wgmma.
  bool hasWgmma = false;
  /// Every target of the kernel has it.
  bool allHaveWgmma = false;
};

/// Each builds the kernel of one op; a refusal is a diagnostic on the op that
/// says why.
llvm::FailureOr<KernelSource> emitMap(kernel::MapOp op);
llvm::FailureOr<KernelSource> emitGemm(kernel::GemmOp op,
                                       const TargetFeatures &features);

/// The emitter of `op`'s kind.
llvm::FailureOr<KernelSource> emitSource(mlir::Operation *op,
                                         const TargetFeatures &features);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H
