// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line of epifold-bench.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_OPTIONS_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_OPTIONS_H

#include "Measure.h"
#include "ProductWorkloads.h"
#include "Workload.h"

#include <optional>
#include <string>
#include <variant>

namespace epifold::tools {

/// What one call of the tool does.
struct BenchOptions {
  std::variant<ExpertConvFoldModel, ClmConvMoeModel, SkewedMoeSwiglu, GraphFile,
               GemmProduct, ConvProduct, GroupedProduct>
      model;
  bool dynamic = false; ///< Compile a model for any count of tokens.
  bool json = false;
  /// Measure schedules instead of the workload, and write them here; the file's
  /// other entries stay.
  std::optional<std::string> tuneTo;
  MeasureOptions measure;
  std::optional<MathMode> math; ///< Empty: as the graph says.
  std::string remarks;          ///< "all", "fused", "missed", or empty: none.
  std::vector<std::string> plugins;
};

/// The options, or the status to exit with: 0 after --help, --version or
/// --list; 1 when a tuning file cannot be read; 2 after a bad command line,
/// which was explained on stderr.
std::variant<BenchOptions, int> parseBenchOptions(int argc, char **argv);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_OPTIONS_H
