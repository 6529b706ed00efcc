// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The loop over random graphs.

#include "tests/exact/RandomRun.h"

#include "epifold/Compiler.h"
#include "tests/exact/Motifs.h"
#include "tests/exact/Random.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace epifold::exact {

/// Keeps the sets none and all, and one of the others.
static std::vector<FusionSet> someOf(std::vector<FusionSet> sets,
                                     uint64_t seed) {
  if (sets.size() <= 3)
    return sets;
  const auto others = static_cast<int64_t>(sets.size()) - 2;
  return {sets.front(), sets[1 + Random(seed).below(others)], sets.back()};
}

/// A report of one set that names an error, where there is not even that.
static CheckReport errorReport(const std::string &what, const Error &error) {
  SetOutcome outcome;
  outcome.label = what;
  outcome.fault = Fault::Error;
  outcome.message = error.message();
  CheckReport report;
  report.sets.push_back(std::move(outcome));
  return report;
}

/// Compiles the graph for every target. A fusion that no emitter can follow, or
/// code that ptxas refuses, shows here.
static void emit(const Graph &graph, const std::vector<FusionSet> &sets,
                 CheckReport &report) {
  for (const FusionSet &set : {sets.front(), sets.back()}) {
    CompileOptions options;
    options.fusion = set.fusion;
    options.checkWithPtxas = true;
    if (auto compiled = compile(graph, options); !compiled)
      report.sets.push_back({.label = set.label + ", emitted",
                             .fault = Fault::Error,
                             .message = compiled.error().message(),
                             .comparison = {}});
  }
}

static CheckReport check(const GraphRecipe &recipe,
                         const std::vector<FusionSet> &sets,
                         const Evaluator &evaluator, bool emits) {
  auto graph = Graph::parse(recipe.text(), "random");
  if (!graph)
    return errorReport("parsing", graph.error());
  auto inputs = recipe.inputs();
  if (!inputs)
    return errorReport("inputs", inputs.error());
  auto report = checkGraph(*graph, *inputs, sets, evaluator);
  if (!report)
    return errorReport("reference", report.error());
  if (emits)
    emit(*graph, sets, *report);
  return *report;
}

/// What stays of a message when the places and numbers in it change.
static std::string gist(const std::string &message) {
  std::string kept = message.substr(message.find('\''));
  std::erase_if(kept, [](char c) { return c >= '0' && c <= '9'; });
  return kept.substr(0, 60);
}

static bool isSameFault(const SetOutcome *a, const SetOutcome &b) {
  if (!a || a->fault != b.fault)
    return false;
  return b.fault != Fault::Error ||
         (a->message.find('\'') != std::string::npos &&
          b.message.find('\'') != std::string::npos &&
          gist(a->message) == gist(b.message));
}

static void count(RandomRunReport &report, const CheckReport &found) {
  ++report.graphs;
  for (const SetOutcome &set : found.sets) {
    ++report.runs;
    report.elements += set.comparison.elements;
    constexpr std::string_view only = "only ";
    if (set.changed && set.label.starts_with(only))
      ++report.changed[set.label.substr(only.size())];
  }
  for (const auto &[name, tensor] : found.reference) {
    report.results += tensor.elements();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      report.nans += std::isnan(elementAsDouble(tensor, i));
  }
}

RandomRunReport
runRandomGraphs(const RandomRunOptions &options, const Evaluator &evaluator,
                const std::function<void(const RandomRunReport &)> &progress) {
  RandomRunReport report;
  const std::vector<FusionSet> sets = fusionSets(options.fusions);
  for (int64_t i = 0; i < options.count; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    const std::vector<FusionSet> chosen =
        options.everySet ? sets : someOf(sets, seed);
    GraphRecipe recipe = makeRandomGraph(seed);
    const bool emits = options.emitEvery > 0 &&
                       seed % static_cast<uint64_t>(options.emitEvery) == 0;
    report.emitted += emits;
    const CheckReport found = check(recipe, chosen, evaluator, emits);
    count(report, found);
    if (const SetOutcome *fault = found.findFault()) {
      if (options.minimize)
        recipe = minimize(std::move(recipe), [&](const GraphRecipe &smaller) {
          const CheckReport again = check(smaller, chosen, evaluator, emits);
          return isSameFault(again.findFault(), *fault);
        });
      report.failures.push_back(
          {seed, std::move(recipe), fault->label, fault->message});
    }
    progress(report);
  }
  return report;
}

//===--- Minimisation -----------------------------------------------------===//

/// Makes the first result of node `index` an argument.
static GraphRecipe cutAt(GraphRecipe recipe, size_t index) {
  const int value = recipe.nodes[index].results.front();
  recipe.nodes.erase(recipe.nodes.begin() + static_cast<ptrdiff_t>(index));
  GraphRecipe::Argument argument{
      value, fmt::format("in.cut{}", value), false, {}};
  argument.spec.seed = static_cast<uint64_t>(value);
  recipe.arguments.push_back(argument);
  recipe.prune();
  return recipe;
}

GraphRecipe minimize(GraphRecipe recipe,
                     const std::function<bool(const GraphRecipe &)> &fails) {
  auto take = [&](GraphRecipe smaller) {
    if (!fails(smaller))
      return false;
    recipe = std::move(smaller);
    return true;
  };
  for (bool isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (size_t i = recipe.results.size();
         i-- > 0 && recipe.results.size() > 1;) {
      GraphRecipe smaller = recipe;
      smaller.results.erase(smaller.results.begin() +
                            static_cast<ptrdiff_t>(i));
      smaller.prune();
      isSmaller |= take(std::move(smaller));
    }
    for (size_t i = recipe.nodes.size(); i-- > 0;) {
      // A cut may drop nodes before it.
      if (i >= recipe.nodes.size())
        continue;
      const GraphRecipe::Node &node = recipe.nodes[i];
      const ValueType &type = recipe.values[node.results.front()];
      if (node.results.size() == 1 && type.isTensor() &&
          isFloat(type.element) && node.op != "graph.constant")
        isSmaller |= take(cutAt(recipe, i));
    }
  }
  return recipe;
}

} // namespace epifold::exact
