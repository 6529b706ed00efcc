// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// epifold-exact: runs a graph fused, unfused, twice, on the CPU and on the GPU,
// and prints which of them are equal to the bit.

#include "compiler/tools/ToolMains.h"
#include "tests/exact/Compare.h"
#include "tests/exact/Evaluate.h"
#include "tests/exact/RandomTensors.h"

#include "epifold/runtime/Safetensors.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace epifold;
using namespace epifold::exact;
using runtime::TensorMap;

namespace {

struct Options {
  std::string graph;
  std::string shorter;
  std::string label;
  std::string inputsPath;
  std::vector<std::string> plugins;
  int device = 0;
  int64_t intBound = 2;
  uint64_t seed = 1;
  bool reference = true;
};

Expected<std::string> readText(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  if (!stream || !(text << stream.rdbuf()))
    return Error(ErrorCode::Io, "cannot read '" + path + "'");
  return text.str();
}

/// Values that keep a deep graph's numbers near 1: weights shrink with their
/// fan-in, gains lie around 1, biases around 0.
RandomSpec specOf(const Argument &argument, const Options &options) {
  RandomSpec spec{.seed = options.seed, .intBound = options.intBound};
  if (!argument.isParameter)
    return spec;
  const size_t rank = argument.shape.size();
  if (rank < 2) {
    spec.scale = 0.1;
    spec.mean = argument.name.ends_with(".g") ? 1 : 0;
    return spec;
  }
  // A short last dimension holds the taps of a convolution.
  double fanIn = static_cast<double>(argument.shape[rank - 1]);
  if (rank > 2 && argument.shape[rank - 1] <= 8)
    fanIn *= static_cast<double>(argument.shape[rank - 2]);
  spec.scale = 1 / std::sqrt(fanIn);
  return spec;
}

Expected<TensorMap> randomInputs(const std::vector<Argument> &arguments,
                                 const Options &options) {
  TensorMap inputs;
  for (const Argument &argument : arguments) {
    auto tensor = randomTensor(argument.name, argument.type, argument.shape,
                               specOf(argument, options));
    if (!tensor)
      return tensor.error().withContext(argument.name);
    inputs.emplace(argument.name, *tensor);
  }
  return inputs;
}

/// Prints a line for each comparison and remembers whether all were equal.
class Table {
public:
  explicit Table(std::string label) : label_(std::move(label)) {}

  Expected<void> add(const std::string &what, Expected<Comparison> found) {
    if (!found)
      return found.error().withContext(label_ + ", " + what);
    allEqual_ &= found->equal();
    fmt::print(
        "{:<32} {:<34} {:>10} elements, {}\n", label_, what, found->elements,
        found->equal()
            ? "all equal"
            : fmt::format("{} DIFFER, by up to {:.3g} at {}", found->different,
                          found->maxDifference, found->worst));
    std::fflush(stdout);
    return {};
  }

  bool allEqual() const { return allEqual_; }

private:
  std::string label_;
  bool allEqual_ = true;
};

/// A graph's text with random values for its arguments.
struct Case {
  std::string graph;
  TensorMap inputs;
};

Expected<Case> readCase(const std::string &path, const Evaluator &evaluator,
                        const Options &options) {
  auto graph = readText(path);
  if (!graph)
    return graph.error();
  auto arguments = evaluator.arguments(*graph);
  if (!arguments)
    return arguments.error().withContext(path);
  auto inputs = randomInputs(*arguments, options);
  if (!inputs)
    return inputs.error();
  return Case{std::move(*graph), std::move(*inputs)};
}

/// Runs every comparison that `options` ask for; the first failure to run
/// ends it.
Expected<void> fill(Table &table, const Options &options) {
  auto evaluator = Evaluator::open(options.device);
  if (!evaluator)
    return evaluator.error();
  for (const std::string &plugin : options.plugins)
    if (auto loaded = evaluator->loadPassPlugin(plugin); !loaded)
      return loaded;
  auto whole = readCase(options.graph, *evaluator, options);
  if (!whole)
    return whole.error();
  if (!options.inputsPath.empty())
    if (auto done = writeSafetensors(options.inputsPath, whole->inputs); !done)
      return done;
  auto run = [&](const char *fusion) {
    return evaluator->runCompiled(whole->graph, fusion, whole->inputs);
  };
  auto unfused = run("none"), fused = run("all"), again = run("all");
  for (auto *result : {&unfused, &fused, &again})
    if (!*result)
      return result->error();
  if (auto done = table.add("fused = unfused", compare(*unfused, *fused));
      !done)
    return done;
  if (auto done = table.add("run = run", compare(*fused, *again)); !done)
    return done;

  if (options.reference) {
    auto reference = evaluator->runGraph(whole->graph, whole->inputs);
    if (!reference)
      return reference.error();
    const char *what = evaluator->hasDevice() ? "CPU reference = GPU"
                                              : "CPU graph = CPU kernels";
    if (auto done = table.add(what, compare(*reference, *fused)); !done)
      return done;
  }

  if (options.shorter.empty())
    return {};
  auto alone = readCase(options.shorter, *evaluator, options);
  if (!alone)
    return alone.error();
  auto rows = evaluator->runCompiled(alone->graph, "all", alone->inputs);
  if (!rows)
    return rows.error();
  return table.add("rows alone = rows in the batch",
                   comparePrefix(*rows, *fused));
}

} // namespace

int epifoldExactMain(int argc, char **argv) {
  CLI::App app("Shows which runs of a graph are equal to the bit: fused and "
               "unfused, twice the same, on the CPU and on the GPU. Without a "
               "GPU the kernel dialect is evaluated on the CPU instead.");
  Options options;
  app.add_option("graph", options.graph, "graph of static shape (.mlir)")
      ->required();
  app.add_option("--rows", options.shorter,
                 "the same graph with fewer tokens, whose results must be the "
                 "first rows");
  app.add_option("--label", options.label, "how the table names the graph");
  app.add_option("--write-inputs", options.inputsPath,
                 "keep the random inputs in this file (safetensors)");
  app.add_option("--load-pass-plugin", options.plugins,
                 "pass plugin whose fusions are compared, too")
      ->allow_extra_args(false);
  app.add_option("--device", options.device, "CUDA device; -1 for none");
  app.add_option("--int-bound", options.intBound,
                 "integer inputs are random in [0, N)")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the random inputs");
  app.add_flag("!--no-reference", options.reference,
               "leave out the CPU reference, which is slow on large graphs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  Table table(options.label.empty() ? options.graph : options.label);
  if (auto done = fill(table, options); !done) {
    fmt::print(stderr, "epifold-exact: {}\n", done.error().message());
    return 1;
  }
  return table.allEqual() ? 0 : 1;
}
