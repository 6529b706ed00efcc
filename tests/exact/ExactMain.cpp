// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// epifold-exact: runs graphs fused, unfused, twice, on the CPU and on the GPU,
// and prints which of them are equal to the bit.

#include "compiler/tools/ToolMains.h"
#include "epifold/Compiler.h"
#include "tests/exact/Options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace epifold;
using namespace epifold::exact;

int epifoldExactMain(int argc, char **argv) {
  CLI::App app("Shows which runs of a graph are equal to the bit: fused and "
               "unfused, twice the same, on the CPU and on the GPU. Without a "
               "GPU the kernel dialect is evaluated on the CPU instead. With "
               "--random it makes the graphs as well.");
  Options options;
  auto *graph =
      app.add_option("graph", options.graph, "graph of static shape (.mlir)");
  app.add_option("--rows", options.shorter,
                 "the same graph with fewer tokens: so many rows, spread over "
                 "the whole batch and run alone, must give the same results");
  app.add_option("--label", options.label, "how the table names the graph");
  app.add_option("--write-inputs", options.inputsPath,
                 "keep the random inputs in this file (safetensors)");
  app.add_option("--device", options.device, "CUDA device; -1 for none");
  app.add_option("--int-bound", options.intBound,
                 "integer inputs are random in [0, N)")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed,
                 "of the random inputs, or of the first random graph");
  app.add_flag("!--no-reference", options.reference,
               "leave out the CPU reference, which is slow on large graphs");
  app.add_flag("--every-set", options.everySet,
               "run each fusion alone and all but each, as is always done "
               "without a GPU");
  auto *random = app.add_flag("--random", options.random,
                              "check random graphs instead of a given one")
                     ->excludes(graph);
  app.add_option_function<std::string>(
         "--math",
         [&](const std::string &mode) { options.fast = mode == "fast"; },
         "fast: with a GPU's approximations; its results are compared with "
         "each other, not with the CPU's, which are portable")
      ->check(CLI::IsMember({"portable", "fast"}))
      ->excludes(random);
  app.add_option("--count", options.count, "random graphs to check")
      ->check(CLI::PositiveNumber)
      ->needs(random);
  app.add_option("--failures", options.failures,
                 "folder that takes random graphs that fail, with their inputs")
      ->needs(random);
  app.add_flag("!--no-minimize", options.minimize,
               "report a random graph that fails as it is")
      ->needs(random);
  app.add_option("--emit-every", options.emitEvery,
                 "compile every Nth random graph for all targets as well, "
                 "through ptxas; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->needs(random);
  std::vector<std::string> plugins;
  app.add_option("--load-pass-plugin", plugins,
                 "pass plugin whose fusions are checked as well")
      ->allow_extra_args(false);
  try {
    app.parse(argc, argv);
    if (options.graph.empty() && !options.random)
      throw CLI::RequiredError("graph or --random");
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  for (const std::string &plugin : plugins)
    if (auto loaded = loadPassPlugin(plugin); !loaded) {
      fmt::print(stderr, "epifold-exact: {}\n", loaded.error().message());
      return 1;
    }
  auto allEqual =
      options.random ? checkRandomGraphs(options) : checkOneGraph(options);
  if (!allEqual) {
    fmt::print(stderr, "epifold-exact: {}\n", allEqual.error().message());
    return 1;
  }
  return *allEqual ? 0 : 1;
}
