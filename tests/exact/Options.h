// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What epifold-exact was asked to do.

#ifndef EPIFOLD_TESTS_EXACT_OPTIONS_H
#define EPIFOLD_TESTS_EXACT_OPTIONS_H

#include "tests/exact/Evaluate.h"

#include <string>

namespace epifold::exact {

struct Options {
  std::string graph;
  std::string shorter;
  std::string label;
  std::string inputsPath;
  int device = 0;
  int64_t intBound = 2;
  uint64_t seed = 1;
  bool reference = true;
  bool everySet = false;
  /// Fast math instead of what the graph says. The CPU has none, so a device's
  /// results are then compared with each other only.
  bool fast = false;

  bool random = false;
  int64_t count = 100;
  std::string failures = ".";
  bool minimize = true;
  int64_t emitEvery = 0;
};

/// Checks one graph and prints a line a comparison. True when all are equal;
/// an error when something could not be run.
Expected<bool> checkOneGraph(const Options &options);

/// Checks random graphs and prints a summary. True when all are equal and,
/// where every set ran, each fusion changed some graph.
Expected<bool> checkRandomGraphs(const Options &options);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_OPTIONS_H
