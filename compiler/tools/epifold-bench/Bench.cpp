// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// epifold-bench: times a workload and prints what it costs.

#include "Options.h"
#include "Report.h"
#include "compiler/tools/ToolMains.h"
#include "compiler/tools/support/ToolSupport.h"

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

} // namespace

int epifoldBenchMain(int argc, char **argv) {
  std::variant<BenchOptions, int> parsed = parseBenchOptions(argc, argv);
  if (int *status = std::get_if<int>(&parsed))
    return *status;
  const BenchOptions &options = std::get<BenchOptions>(parsed);
  Expected<Workload> workload = makeWorkload(options);
  if (!workload)
    return fail("epifold-bench", workload.error());
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
