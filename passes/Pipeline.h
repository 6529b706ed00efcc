// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order in which passes run, and which of them a fusion set switches on.

#ifndef EPIFOLD_PASSES_PIPELINE_H
#define EPIFOLD_PASSES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace epifold {

/// Names that a fusion set takes, in the order they run: the built-in fusions
/// and those of the plugins loaded so far.
std::vector<std::string> getFusionNames();

/// Adds the passes from a graph to kernels. `fusion` is a list joined by commas
/// and read from left to right: "all", "none", a name of `getFusionNames`, or
/// "-" and a name to leave that one out; "all,-fold-experts" is all but one.
/// Returns the reason when it names an unknown fusion; any set gives the same
/// bits.
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
