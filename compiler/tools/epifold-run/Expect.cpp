// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compares a run's results with expected tensors.

#include "Expect.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace epifold::tools {

using runtime::HostTensor;

Comparison compareTensors(const std::string &name, const HostTensor &actual,
                          const HostTensor &expected,
                          const Tolerance &tolerance) {
  Comparison result;
  result.name = name;
  result.elements = actual.elements();
  if (actual.shape() != expected.shape()) {
    result.problem = fmt::format(
        "is {}, expected {}", runtime::describe(actual.type(), actual.shape()),
        runtime::describe(expected.type(), expected.shape()));
    return result;
  }
  double scale = 0;
  if (!tolerance.exact)
    for (int64_t i = 0; i < expected.elements(); ++i) {
      double magnitude = std::fabs(elementAsDouble(expected, i));
      if (std::isfinite(magnitude))
        scale = std::max(scale, magnitude);
    }
  double allowed = tolerance.atol + tolerance.rtol * scale;
  bool sameType = actual.type() == expected.type();
  size_t bytes = byteSize(actual.type());

  for (int64_t i = 0; i < actual.elements(); ++i) {
    double a = elementAsDouble(actual, i);
    double b = elementAsDouble(expected, i);
    bool sameValue = sameType
                         ? std::memcmp(actual.data() + i * bytes,
                                       expected.data() + i * bytes, bytes) == 0
                         : a == b;
    bool equal = sameValue || (std::isnan(a) && std::isnan(b));
    // Infinities of one sign have a NaN difference, unlike values an infinite
    // one or NaN: neither is a distance.
    bool finite = std::isfinite(a) && std::isfinite(b);
    double delta = equal    ? 0
                   : finite ? std::fabs(a - b)
                            : std::numeric_limits<double>::infinity();
    bool passes = equal || (!tolerance.exact && finite && delta <= allowed);
    result.maxDelta = std::max(result.maxDelta, delta);
    result.equal += equal;
    result.passing += passes;
    if (!passes && result.firstFailure < 0) {
      result.firstFailure = i;
      result.actual = a;
      result.expected = b;
    }
  }
  result.passed = result.passing == result.elements;
  return result;
}

std::vector<Comparison> compareResults(const runtime::TensorMap &results,
                                       const runtime::SafetensorsFile &expected,
                                       const Tolerance &tolerance) {
  std::vector<Comparison> comparisons;
  for (const auto &[name, actual] : results) {
    Expected<HostTensor> wanted = expected.tensor(name);
    if (!wanted) {
      Comparison &absent = comparisons.emplace_back();
      absent.name = name;
      absent.elements = actual.elements();
      absent.problem = wanted.error().message();
      continue;
    }
    comparisons.push_back(compareTensors(name, actual, *wanted, tolerance));
  }
  return comparisons;
}

bool allPassed(const std::vector<Comparison> &comparisons) {
  int64_t compared = 0;
  for (const Comparison &comparison : comparisons) {
    if (!comparison.passed)
      return false;
    compared += comparison.elements;
  }
  return compared > 0;
}

std::string formatComparisons(const std::vector<Comparison> &comparisons) {
  size_t width = 6;
  for (const Comparison &comparison : comparisons)
    width = std::max(width, comparison.name.size());
  std::string text = fmt::format("{:<{}}  {:>12}  {:>24}  {}\n", "tensor",
                                 width, "max|\u0394|", "equal", "verdict");
  int64_t compared = 0;
  for (const Comparison &comparison : comparisons) {
    if (!comparison.problem.empty()) {
      text += fmt::format("{:<{}}  {:>12}  {:>24}  FAIL: {}\n", comparison.name,
                          width, "-", "-", comparison.problem);
      continue;
    }
    compared += comparison.elements;
    std::string verdict = "PASS";
    if (!comparison.passed)
      verdict = fmt::format(
          "FAIL: {} of {} elements; first at {}: {} instead of {}",
          comparison.elements - comparison.passing, comparison.elements,
          comparison.firstFailure, comparison.actual, comparison.expected);
    text += fmt::format(
        "{:<{}}  {:>12.6g}  {:>24}  {}\n", comparison.name, width,
        comparison.maxDelta,
        fmt::format("{} of {}", comparison.equal, comparison.elements),
        verdict);
  }
  if (allPassed(comparisons))
    text += fmt::format("PASS: {} tensors, {} elements compared\n",
                        comparisons.size(), compared);
  else if (compared == 0)
    text += "FAIL: nothing was compared\n";
  else
    text += "FAIL: results differ from what was expected\n";
  return text;
}

} // namespace epifold::tools
