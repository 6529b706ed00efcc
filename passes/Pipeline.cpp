// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pipeline from a graph to kernels, in order, with the reason for each
// place.

#include "passes/Pipeline.h"

#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace epifold;

ArrayRef<llvm::StringLiteral> epifold::getFusionNames() {
  static constexpr llvm::StringLiteral names[] = {"fold-experts"};
  return names;
}

std::optional<std::string> epifold::buildGraphPipeline(OpPassManager &manager,
                                                       StringRef fusion) {
  SmallVector<StringRef> chosen;
  if (fusion != "none" && fusion != "all")
    fusion.split(chosen, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : chosen)
    if (!llvm::is_contained(getFusionNames(), name))
      return "unknown fusion '" + name.str() + "'; known are none, all, and: " +
             llvm::join(getFusionNames(), ", ");
  if (chosen.empty() && fusion != "none" && fusion != "all")
    return std::string("an empty fusion set is written 'none'");
  auto enabled = [&](StringRef name) {
    return fusion == "all" || llvm::is_contained(chosen, name);
  };

  // Dead branches would be launched, and would hide that experts are
  // isomorphic.
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());

  // Folding comes first: every later fusion then sees one op per step of the
  // branch, not one per expert.
  if (enabled("fold-experts"))
    manager.addNestedPass<func::FuncOp>(createFoldExpertsPass());

  // Weights that each expert selects for itself are equal ops once the branches
  // are gone.
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  return std::nullopt;
}

std::optional<std::string> epifold::buildPipeline(OpPassManager &manager,
                                                  StringRef fusion) {
  if (auto reason = buildGraphPipeline(manager, fusion))
    return reason;

  // From here on one op is one launch.
  manager.addPass(createConvertGraphToKernelPass());
  return std::nullopt;
}

namespace {
struct FusionOptions : PassPipelineOptions<FusionOptions> {
  Option<std::string> fusion{
      *this, "fusion", llvm::cl::desc("none, all, or fusions joined by commas"),
      llvm::cl::init("all")};
};
} // namespace

void epifold::registerPassesAndPipelines() {
  registerEpifoldPasses();
  auto add = [](StringRef name, StringRef summary, auto build) {
    registerPassPipeline(
        name, summary,
        [build](OpPassManager &manager, StringRef text,
                function_ref<LogicalResult(const Twine &)> reportError)
            -> LogicalResult {
          FusionOptions options;
          if (failed(options.parseFromString(text)))
            return failure();
          if (auto reason = build(manager, options.fusion))
            return reportError(*reason);
          return success();
        },
        [](function_ref<void(const mlir::detail::PassOptions &)> visit) {
          visit(FusionOptions());
        });
  };
  add("epifold-graph", "The fusions that stay in the graph dialect",
      buildGraphPipeline);
  add("epifold", "From a graph to kernels", buildPipeline);
}
