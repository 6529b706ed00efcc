// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line of epifold-run.

#ifndef EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_OPTIONS_H
#define EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_OPTIONS_H

#include "epifold/runtime/Session.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace epifold::tools {

/// What the user asked for.
struct RunToolOptions {
  std::string file;
  std::vector<std::string> inputs;
  std::vector<std::string> params;
  std::string outputs;
  std::string device; ///< "", "reference" or "cuda:N".
  int ordinal = 0;    ///< N of "cuda:N".
  runtime::LaunchMode launch = runtime::LaunchMode::Stream;
  bool waitEach = false;
  bool overlap = true;
  int repeat = 1;
  std::string profile;
  runtime::PeakRates peaks; ///< For the profile's shares; zero: not given.
  std::string expect;
  double rtol = 0;
  double atol = 0;
  bool tolerant = false; ///< --rtol or --atol was given.
  bool cast = false;
  std::string fusion;  ///< Empty: the compiler's default.
  std::string math;    ///< "portable", "fast", or empty: as the graph says.
  std::string remarks; ///< "all", "fused", "missed", or empty: none.
  std::vector<std::string> plugins;
  std::string target; ///< Empty: what suits the device.
  std::string level;  ///< Of the reference: "graph", "kernel" or empty.
  std::string cacheDir;
};

/// The options, or the status to exit with after help, version or bad usage
/// was printed.
std::variant<RunToolOptions, int> parseRunOptions(int argc, char **argv);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_OPTIONS_H
