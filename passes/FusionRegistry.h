// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fusions that a plugin adds to the pipeline.

#ifndef EPIFOLD_PASSES_FUSIONREGISTRY_H
#define EPIFOLD_PASSES_FUSIONREGISTRY_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace epifold {

/// Where the pipeline runs the fusions of plugins. At each place they run in
/// the order of their registration, one function at a time.
enum class FusionPoint {
  Graph,       ///< On the graph, after its experts are folded.
  EarlyKernel, ///< On unfused launches: one graph op is one launch, or a few.
  LateKernel   ///< On launches that the built-in fusions left.
};

/// A fusion of a plugin.
struct RegisteredFusion {
  std::string name;
  FusionPoint point;
  std::function<std::unique_ptr<mlir::Pass>()> create;
};

/// Adds a fusion, which fusion sets then name. A name is made of small letters,
/// digits and '-', starts with a letter, and is taken by no other fusion;
/// another one is refused: returns false, and `takeRegistrationErrors` tells.
bool registerFusion(llvm::StringRef name, FusionPoint point,
                    std::function<std::unique_ptr<mlir::Pass>()> create);

/// Registers `PassT` with MLIR and as a fusion; both use its argument as name.
template <typename PassT>
void registerFusion(FusionPoint point) {
  // MLIR ends the process when two passes have one name.
  if (registerFusion(PassT().getArgument(), point,
                     [] { return std::make_unique<PassT>(); }))
    mlir::PassRegistration<PassT>();
}

/// The plugins' fusions in the order of their registration.
std::vector<RegisteredFusion> getRegisteredFusions();

/// What was refused since the last call, one sentence each.
std::vector<std::string> takeRegistrationErrors();

} // namespace epifold

#endif // EPIFOLD_PASSES_FUSIONREGISTRY_H
