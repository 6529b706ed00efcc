// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The check that every fusion has to pass: whichever fusions run, a graph gives
// the bits of its reference.

#ifndef EPIFOLD_TESTS_EXACT_CHECK_H
#define EPIFOLD_TESTS_EXACT_CHECK_H

#include "tests/exact/Compare.h"
#include "tests/exact/Evaluate.h"

#include <string>
#include <vector>

namespace epifold::exact {

/// Fusions that run together.
struct FusionSet {
  std::string label;  ///< "all but fold-experts".
  std::string fusion; ///< What compilation takes: "none", "all", or names.
};

/// None, each of `names` alone, all but each, and all of them.
std::vector<FusionSet> fusionSets(const std::vector<std::string> &names);

/// What is wrong with a run; several may hold, the first counts.
enum class Fault {
  None,
  Error,     ///< It did not run at all.
  Memory,    ///< Its memory plan overwrites a value that is read later.
  Status,    ///< It reports another token, or none.
  Different, ///< Its results have other bits.
};

/// How the run of one fusion set compares with the graph's reference.
struct SetOutcome {
  std::string label;
  bool changed = false; ///< Its kernels are not those of the empty set.
  Fault fault = Fault::None;
  std::string message; ///< What the fault is, and those after it.
  Comparison comparison;
};

/// Compares a run with its reference and writes what is wrong, all of it, into
/// `set`.
void compareWith(const Outcome &expected, const Expected<Outcome> &actual,
                 SetOutcome &set);

struct CheckReport {
  runtime::TensorMap reference; ///< The results that all sets must give.
  std::vector<SetOutcome> sets;

  /// The first set that has a fault, or null.
  const SetOutcome *findFault() const;
};

/// Evaluates `graph` on the CPU and compares with it what each of `sets` gives:
/// on the evaluator's device, or else the kernels that they make, evaluated on
/// the CPU. Sets that make the same kernels run once. Errors: the graph's own
/// evaluation fails.
Expected<CheckReport> checkGraph(const Graph &graph,
                                 const runtime::TensorMap &inputs,
                                 const std::vector<FusionSet> &sets,
                                 const Evaluator &evaluator);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_CHECK_H
