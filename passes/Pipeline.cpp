// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pipeline from a graph to kernels, in order, with the reason for each
// place.

#include "passes/Pipeline.h"

#include "mlir/Transforms/Passes.h"
#include "passes/FusionRegistry.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral graphFusions[] = {"fold-experts"};
static constexpr llvm::StringLiteral kernelFusions[] = {
    "fuse-elementwise-chains", "fuse-glue-into-epilogue",
    "fuse-group-sums",         "fuse-softmax-into-epilogue",
    "fuse-casts-into-readers", "fuse-gather-into-product",
    "fuse-norm-statistics",    "fuse-narrow-products",
    "fuse-loss-mean",          "fuse-routing"};

std::vector<std::string> epifold::getFusionNames() {
  std::vector<std::string> names;
  auto addRegistered = [&](FusionPoint point) {
    for (const RegisteredFusion &fusion : getRegisteredFusions())
      if (fusion.point == point)
        names.push_back(fusion.name);
  };
  names.insert(names.end(), std::begin(graphFusions), std::end(graphFusions));
  addRegistered(FusionPoint::Graph);
  addRegistered(FusionPoint::EarlyKernel);
  names.insert(names.end(), std::begin(kernelFusions), std::end(kernelFusions));
  addRegistered(FusionPoint::LateKernel);
  names.push_back("fuse-small-launches");
  return names;
}

/// The fusions that `text` switches on, or the reason why it names none.
static std::optional<std::string> parse(StringRef text,
                                        llvm::StringSet<> &enabled) {
  SmallVector<StringRef> items;
  text.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (items.empty())
    return std::string("an empty fusion set is written 'none'");
  std::vector<std::string> names = getFusionNames();
  for (StringRef item : items) {
    bool isLeftOut = item.consume_front("-");
    if (!isLeftOut && item == "none")
      continue;
    if (!isLeftOut && item == "all")
      enabled.insert_range(names);
    else if (!llvm::is_contained(names, item))
      return "unknown fusion '" + item.str() +
             "'; known are none, all, and: " + llvm::join(names, ", ") +
             "; '-' before a name leaves it out";
    else if (isLeftOut)
      enabled.erase(item);
    else
      enabled.insert(item);
  }
  return std::nullopt;
}

/// Adds the plugins' fusions of that place.
static void addRegistered(OpPassManager &manager, FusionPoint point,
                          const llvm::StringSet<> &enabled) {
  for (const RegisteredFusion &fusion : getRegisteredFusions())
    if (fusion.point == point && enabled.contains(fusion.name))
      manager.addNestedPass<func::FuncOp>(fusion.create());
}

std::optional<std::string> epifold::buildGraphPipeline(OpPassManager &manager,
                                                       StringRef fusion) {
  llvm::StringSet<> enabled;
  if (auto reason = parse(fusion, enabled))
    return reason;

  // Dead branches would be launched, and would hide that experts are
  // isomorphic.
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());

  // Folding comes first: every later fusion then sees one op per step of the
  // branch, not one per expert.
  if (enabled.contains("fold-experts"))
    manager.addNestedPass<func::FuncOp>(createFoldExpertsPass());

  // A plugin's fusion, too, sees one op per step of the branch.
  addRegistered(manager, FusionPoint::Graph, enabled);

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

  llvm::StringSet<> enabled;
  (void)parse(fusion, enabled);

  // What a plugin wants before the glue is spread over other launches.
  addRegistered(manager, FusionPoint::EarlyKernel, enabled);

  // Chains first: a product's epilogue then takes its whole glue in one step,
  // and glue that joins two products is next to both.
  if (enabled.contains("fuse-elementwise-chains"))
    manager.addNestedPass<func::FuncOp>(createFuseElementwiseChainsPass());
  if (enabled.contains("fuse-glue-into-epilogue"))
    manager.addNestedPass<func::FuncOp>(createFuseGlueIntoEpiloguePass());

  // An epilogue of all groups reads each row's softmax once.
  if (enabled.contains("fuse-group-sums"))
    manager.addNestedPass<func::FuncOp>(createFuseGroupSumsPass());
  if (enabled.contains("fuse-softmax-into-epilogue"))
    manager.addNestedPass<func::FuncOp>(createFuseSoftmaxIntoEpiloguePass());

  // What is left to be stored is known when epilogues have taken their glue.
  if (enabled.contains("fuse-casts-into-readers"))
    manager.addNestedPass<func::FuncOp>(createFuseCastsIntoReadersPass());

  // When gate and up have become one product that alone reads the rows.
  if (enabled.contains("fuse-gather-into-product"))
    manager.addNestedPass<func::FuncOp>(createFuseGatherIntoProductPass());

  // When epilogues and elementwise launches are what they will be: two launches
  // in one take no more glue.
  if (enabled.contains("fuse-norm-statistics"))
    manager.addNestedPass<func::FuncOp>(createFuseNormStatisticsPass());
  if (enabled.contains("fuse-narrow-products"))
    manager.addNestedPass<func::FuncOp>(createFuseNarrowProductsPass());
  if (enabled.contains("fuse-loss-mean"))
    manager.addNestedPass<func::FuncOp>(createFuseLossMeanPass());

  // The weights' gather stands by itself once the products have taken theirs.
  if (enabled.contains("fuse-routing"))
    manager.addNestedPass<func::FuncOp>(createFuseRoutingPass());

  // What a plugin makes of the launches that are left.
  addRegistered(manager, FusionPoint::LateKernel, enabled);

  // After every fusion that makes a launch disappear: what is left stays a
  // launch, at best one of several in one.
  if (enabled.contains("fuse-small-launches"))
    manager.addNestedPass<func::FuncOp>(createFuseSmallLaunchesPass());

  // Last, as it is about the order in which the launches now are.
  manager.addNestedPass<func::FuncOp>(createPlanEarlyReadsPass());
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
