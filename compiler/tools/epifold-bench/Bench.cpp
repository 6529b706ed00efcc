// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// epifold-bench: times a workload and prints what it costs.

#include "Options.h"
#include "Report.h"
#include "Tune.h"
#include "compiler/tools/ToolMains.h"
#include "compiler/tools/support/ToolSupport.h"
#include "compiler/tools/support/TuningOption.h"
#include "epifold/Compiler.h"

#include <filesystem>
#include <iostream>

using namespace epifold;
using namespace epifold::tools;

namespace {

Expected<Workload> makeWorkload(const BenchOptions &options) {
  return std::visit(
      [&]<typename Model>(const Model &model) {
        if constexpr (requires { tools::makeWorkload(model, true); })
          return tools::makeWorkload(model, options.dynamic);
        else
          return tools::makeWorkload(model);
      },
      options.model);
}

/// Lowers the workload once more than the measurement does, for what its
/// fusions say.
Expected<void> printRemarks(const Workload &workload,
                            const BenchOptions &options) {
  CompileOptions compiling;
  compiling.fusion = options.measure.fusion;
  compiling.onFusionRemark = [&](const FusionRemark &remark) {
    if (isOfKind(remark, options.remarks))
      std::cerr << toString(remark) << "\n";
  };
  Expected<std::string> lowered =
      emitStage(workload.graph, "kernel", compiling);
  return lowered ? Expected<void>() : lowered.error();
}

/// Measures schedules and adds them to the file.
Expected<void> tuneInto(const std::string &path, const Workload &workload,
                        const MeasureOptions &options) {
  // A file that is of no use is found before the measuring.
  std::error_code none;
  Expected<Tuning> tuning = readTuning(
      path != "-" && std::filesystem::exists(path, none) ? path : "");
  if (!tuning)
    return tuning.error();
  Expected<std::vector<TuningEntry>> entries =
      tune(workload, options,
           [](const std::string &line) { std::cerr << line << "\n"; });
  if (!entries)
    return entries.error();
  for (TuningEntry &entry : *entries)
    tuning->add(std::move(entry));
  return writeFile(path, tuning->toText());
}

} // namespace

int epifoldBenchMain(int argc, char **argv) {
  std::variant<BenchOptions, int> parsed = parseBenchOptions(argc, argv);
  if (int *status = std::get_if<int>(&parsed))
    return *status;
  const BenchOptions &options = std::get<BenchOptions>(parsed);
  Expected<Workload> workload = makeWorkload(options);
  if (!workload)
    return fail("epifold-bench", workload.error());
  if (options.math)
    workload->graph.setMathMode(*options.math);
  for (const std::string &plugin : options.plugins)
    if (auto loaded = loadPassPlugin(plugin); !loaded)
      return fail("epifold-bench", loaded.error());
  if (!options.remarks.empty())
    if (auto told = printRemarks(*workload, options); !told)
      return fail("epifold-bench", told.error());
  if (options.tuneTo) {
    auto tuned = tuneInto(*options.tuneTo, *workload, options.measure);
    return tuned ? kOk : fail("epifold-bench", tuned.error());
  }
  Expected<Measurement> measurement = measure(*workload, options.measure);
  if (!measurement)
    return fail("epifold-bench", measurement.error());
  if (measurement->note)
    std::cerr << "epifold-bench: note: " << *measurement->note << "\n";
  std::cout << (options.json ? jsonLine : tableText)(*workload, options.measure,
                                                     *measurement)
            << std::flush;
  return kOk;
}
