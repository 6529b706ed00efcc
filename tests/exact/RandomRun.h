// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks many random graphs, and makes those that fail small.

#ifndef EPIFOLD_TESTS_EXACT_RANDOMRUN_H
#define EPIFOLD_TESTS_EXACT_RANDOMRUN_H

#include "tests/exact/Check.h"
#include "tests/exact/GraphRecipe.h"

#include <functional>
#include <map>

namespace epifold::exact {

struct RandomRunOptions {
  uint64_t seed = 1; ///< Of the first graph; the next has the next seed.
  int64_t count = 100;
  /// Fusions that are switched on and off.
  std::vector<std::string> fusions;
  /// Every set of `fusionSets`; else none, all, and one more.
  bool everySet = true;
  /// Makes a failing graph smaller before it is reported.
  bool minimize = true;
  /// Emits code for every graph whose seed this divides, 0 for none, and has
  /// ptxas assemble it.
  int64_t emitEvery = 0;
};

/// A graph that failed.
struct RandomFailure {
  uint64_t seed;
  GraphRecipe recipe;
  std::string set, message; ///< Of its first fault.
};

struct RandomRunReport {
  int64_t graphs = 0, emitted = 0, runs = 0, elements = 0, results = 0,
          nans = 0;
  std::map<std::string, int64_t> changed; ///< Graphs that each fusion changed.
  std::vector<RandomFailure> failures;

  /// Of the elements of all results.
  double nanShare() const {
    return results > 0
               ? static_cast<double>(nans) / static_cast<double>(results)
               : 0;
  }
};

/// Checks `options.count` graphs. `progress` is called after each with the
/// report so far.
RandomRunReport
runRandomGraphs(const RandomRunOptions &options, const Evaluator &evaluator,
                const std::function<void(const RandomRunReport &)> &progress);

/// The smallest graph that `fails` still holds for and that dropping results
/// and replacing ops by inputs leads to.
GraphRecipe minimize(GraphRecipe recipe,
                     const std::function<bool(const GraphRecipe &)> &fails);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_RANDOMRUN_H
