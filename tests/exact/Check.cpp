// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs a graph under several fusion sets and compares each with its reference.

#include "tests/exact/Check.h"

#include "tests/exact/PlanCheck.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace epifold::exact {

using runtime::TensorMap;

std::vector<FusionSet> fusionSets(const std::vector<std::string> &names) {
  std::vector<FusionSet> sets{{"none", "none"}};
  for (const std::string &name : names)
    sets.push_back({"only " + name, name});
  if (names.size() > 2) // All but one of two is the other alone.
    for (const std::string &name : names)
      sets.push_back({"all but " + name, "all,-" + name});
  sets.push_back({"all", "all"});
  return sets;
}

const SetOutcome *CheckReport::findFault() const {
  auto found = std::ranges::find_if(
      sets, [](const SetOutcome &set) { return set.fault != Fault::None; });
  return found == sets.end() ? nullptr : &*found;
}

static void fail(SetOutcome &set, Fault fault, const std::string &message) {
  set.fault = fault;
  set.message = message;
}

void compareWith(const Outcome &expected, const Expected<Outcome> &actual,
                 SetOutcome &set) {
  if (!actual)
    return fail(set, Fault::Error, actual.error().message());
  auto found = compare(expected.results, actual->results);
  if (!found)
    return fail(set, Fault::Error, found.error().message());
  set.comparison = *found;
  // Which elements differ hints at why the status does, so both are told.
  if (found->different > 0)
    fail(set, Fault::Different,
         fmt::format("{} of {} elements differ, by up to {:.3g} at {}",
                     found->different, found->elements, found->maxDifference,
                     found->worst));
  if (!(actual->status == expected.status))
    fail(set, Fault::Status,
         fmt::format("status '{}' where the reference has '{}'{}{}",
                     describe(actual->status), describe(expected.status),
                     set.message.empty() ? "" : "; ", set.message));
}

Expected<CheckReport> checkGraph(const Graph &graph, const TensorMap &inputs,
                                 const std::vector<FusionSet> &sets,
                                 const Evaluator &evaluator) {
  auto reference = evaluator.runGraph(graph, inputs);
  if (!reference)
    return reference.error();
  auto unfused = lowerAndCheckPlan(graph, "none", inputs);
  CheckReport report;
  std::map<std::string, size_t> ranAs; // kernels → the set that ran them
  for (const FusionSet &set : sets) {
    SetOutcome outcome;
    outcome.label = set.label;
    auto lowered = lowerAndCheckPlan(graph, set.fusion, inputs);
    if (!lowered) {
      fail(outcome, Fault::Error, lowered.error().message());
      report.sets.push_back(std::move(outcome));
      continue;
    }
    auto [same, isNew] =
        ranAs.try_emplace(lowered->kernels, report.sets.size());
    if (!isNew)
      outcome = report.sets[same->second];
    outcome.label = set.label;
    outcome.changed = unfused && lowered->kernels != unfused->kernels;
    if (isNew && !lowered->planFault.empty())
      fail(outcome, Fault::Memory, lowered->planFault);
    else if (isNew)
      compareWith(*reference, evaluator.runCompiled(graph, set.fusion, inputs),
                  outcome);
    report.sets.push_back(std::move(outcome));
  }
  report.reference = std::move(reference->results);
  return report;
}

} // namespace epifold::exact
