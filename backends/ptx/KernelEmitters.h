// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The emitters of the kernel dialect's launches, one function each.

#ifndef EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H

#include "backends/ptx/KernelBuilder.h"
#include "backends/ptx/Schedules.h"

#include <compare>

namespace epifold::ptx {

/// What the targets of a source have, the rarest first.
struct TargetFeatures {
  /// wgmma and copies by tensor maps: sm_90a.
  bool hasWgmma = false;
  /// Launches that overlap the one before (griddepcontrol): sm_90 and later.
  bool hasDependentLaunch = false;
  /// Measured schedules for the op, which need not be the same on all targets.
  std::vector<MeasuredSchedule> measured = {};

  auto operator<=>(const TargetFeatures &) const = default;
};

/// What of `op` a target has an emission of its own for.
TargetFeatures featuresOf(mlir::Operation *op, llvm::StringRef target,
                          llvm::ArrayRef<TunedSchedule> tuned);

/// Each builds the kernel of one op; a refusal is a diagnostic on the op that
/// says why.
llvm::FailureOr<KernelSource> emitMap(kernel::MapOp op);
/// Of a cascade that does not begin with a product.
llvm::FailureOr<KernelSource> emitCascade(kernel::CascadeOp op);
/// A product, which may be the first launch of a cascade, may have several
/// variants: see `emitKernel` for their order.
llvm::FailureOr<std::vector<KernelSource>>
emitGemm(kernel::GemmOp op, const TargetFeatures &features);

/// Reports a product that no emitter takes.
llvm::LogicalResult checkGemm(kernel::GemmOp op);

/// The variants of `op` for targets with `features`.
llvm::FailureOr<std::vector<KernelSource>>
emitSources(mlir::Operation *op, const TargetFeatures &features);

/// Emits a launch that is part of another.
using InnerEmitter =
    llvm::function_ref<llvm::FailureOr<KernelSource>(mlir::Operation *)>;
llvm::FailureOr<KernelSource> emitPersistent(kernel::PersistentOp op,
                                             InnerEmitter emitInner);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_KERNELEMITTERS_H
