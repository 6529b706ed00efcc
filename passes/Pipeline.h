// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order in which passes run, and which of them a fusion set switches on.

#ifndef EPIFOLD_PASSES_PIPELINE_H
#define EPIFOLD_PASSES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace epifold {

/// Names that `--fusion` takes, in the order they run.
llvm::ArrayRef<llvm::StringLiteral> getFusionNames();

/// Adds the passes from a graph to kernels. `fusion` is "none", "all", or names
/// of `getFusionNames` joined by commas. Returns the reason when it names an
/// unknown fusion; any set gives the same bits.
std::optional<std::string> buildPipeline(mlir::OpPassManager &manager,
                                         llvm::StringRef fusion);

/// The part of `buildPipeline` that stays in the graph dialect.
std::optional<std::string> buildGraphPipeline(mlir::OpPassManager &manager,
                                              llvm::StringRef fusion);

/// Registers the passes, and the pipelines `epifold-graph` and `epifold` with
/// their option `fusion`.
void registerPassesAndPipelines();

} // namespace epifold

#endif // EPIFOLD_PASSES_PIPELINE_H
