// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tool's run over random graphs: progress, summary, and files for what
// failed.

#include "tests/exact/Options.h"
#include "tests/exact/RandomRun.h"

#include "epifold/Compiler.h"
#include "epifold/runtime/Safetensors.h"

#include <fmt/format.h>
#include <fstream>

namespace epifold::exact {

/// Writes the failing graph and the values of its arguments.
static Expected<void> writeFailure(const RandomFailure &failure,
                                   const std::string &folder) {
  const std::string path = fmt::format("{}/random-{}", folder, failure.seed);
  auto graph = Graph::parse(failure.recipe.text(), "random");
  std::ofstream stream(path + ".mlir");
  stream << (graph ? graph->toText() : failure.recipe.text());
  if (!stream.flush())
    return Error(ErrorCode::Io, "cannot write '" + path + ".mlir'");
  auto inputs = failure.recipe.inputs();
  if (!inputs)
    return inputs.error();
  return writeSafetensors(path + ".safetensors", *inputs);
}

Expected<bool> checkRandomGraphs(const Options &options) {
  auto evaluator = Evaluator::open(options.device);
  if (!evaluator)
    return evaluator.error();
  evaluator->threads = 1;
  RandomRunOptions run;
  run.seed = options.seed;
  run.count = options.count;
  run.minimize = options.minimize;
  run.emitEvery = options.emitEvery;
  run.everySet = options.everySet || !evaluator->hasDevice();
  run.fusions = fusionNames();

  size_t reported = 0;
  Expected<void> written;
  auto progress = [&](const RandomRunReport &report) {
    for (; reported < report.failures.size(); ++reported) {
      const RandomFailure &failure = report.failures[reported];
      fmt::print("seed {}: fusion {}: {}\n", failure.seed, failure.set,
                 failure.message);
      if (auto done = writeFailure(failure, options.failures); !done)
        written = done;
    }
    const bool isSlow = evaluator->hasDevice();
    if (isSlow && report.graphs % 10 == 0)
      fmt::print("{} graphs, {} failed\n", report.graphs,
                 report.failures.size());
    std::fflush(stdout);
  };
  const RandomRunReport report = runRandomGraphs(run, *evaluator, progress);
  if (!written)
    return written.error();

  const auto last = options.seed + static_cast<uint64_t>(report.graphs) - 1;
  fmt::print("{} random graphs (seeds {} to {}) on {}: {} runs, {} elements "
             "compared, {:.1f} % of the results NaN, {} emitted; {} failed\n",
             report.graphs, options.seed, last, evaluator->deviceName(),
             report.runs, report.elements, 100 * report.nanShare(),
             report.emitted, report.failures.size());
  bool allFired = true;
  for (const std::string &name : run.fusions) {
    auto found = report.changed.find(name);
    const int64_t graphs = found == report.changed.end() ? 0 : found->second;
    fmt::print("  {} changed {} graphs\n", name, graphs);
    allFired &= graphs > 0;
  }
  if (run.everySet && !allFired)
    return Error(ErrorCode::NotFound,
                 "some fusion changed no graph, so that nothing was shown of "
                 "it; give a larger --count");
  return report.failures.empty();
}

} // namespace epifold::exact
