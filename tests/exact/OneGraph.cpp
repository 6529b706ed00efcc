// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tool's table of one graph.

#include "tests/exact/Check.h"
#include "tests/exact/Options.h"
#include "tests/exact/RandomTensors.h"
#include "tests/exact/Rows.h"

#include "epifold/Compiler.h"
#include "epifold/runtime/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace epifold::exact {

using runtime::TensorMap;

namespace {

Expected<std::string> readText(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  if (!stream || !(text << stream.rdbuf()))
    return Error(ErrorCode::Io, "cannot read '" + path + "'");
  return text.str();
}

Expected<Graph> readGraph(const std::string &path) {
  auto text = readText(path);
  if (!text)
    return text.error();
  auto graph = Graph::parse(*text, path);
  if (!graph)
    return graph;
  for (const TensorSignature &entry : graph->signature())
    if (std::ranges::count(entry.shape, kDynamic) > 0)
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("{}: '{}' has a dynamic dimension; give the "
                               "graph a token count",
                               path, entry.name));
  return graph;
}

/// Values that keep a deep graph's numbers near 1: weights shrink with their
/// fan-in, gains lie around 1, biases around 0.
RandomSpec specOf(const TensorSignature &argument, const Options &options) {
  RandomSpec spec{.seed = options.seed, .intBound = options.intBound};
  if (argument.kind != TensorSignature::Kind::Parameter)
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

Expected<TensorMap> randomInputs(const Graph &graph, const Options &options) {
  TensorMap inputs;
  for (const TensorSignature &argument : graph.signature()) {
    if (argument.kind == TensorSignature::Kind::Result)
      continue;
    auto tensor = randomTensor(argument.name, argument.type, argument.shape,
                               specOf(argument, options));
    if (!tensor)
      return tensor.error().withContext(argument.name);
    inputs.emplace(argument.name, *tensor);
  }
  return inputs;
}

/// The rows of `tensors` that `graph` has of them, by name; those that have no
/// fewer rows in it only if `keepsWhole`.
Expected<TensorMap> sampleFor(const Graph &graph, TensorSignature::Kind kind,
                              const TensorMap &tensors, bool keepsWhole) {
  TensorMap sampled;
  for (const TensorSignature &entry : graph.signature()) {
    auto found = tensors.find(entry.name);
    if ((entry.kind == TensorSignature::Kind::Result) !=
            (kind == TensorSignature::Kind::Result) ||
        found == tensors.end() ||
        (!keepsWhole && found->second.shape() == entry.shape))
      continue;
    auto rows = sampleRows(found->second, entry.shape);
    if (!rows)
      return rows.error().withContext(entry.name);
    sampled.emplace(entry.name, std::move(*rows));
  }
  return sampled;
}

/// Prints a line for each comparison and remembers whether all were equal.
class Table {
public:
  explicit Table(std::string label) : label_(std::move(label)) {}

  Expected<void> add(const std::string &what, Expected<Comparison> found) {
    if (!found)
      return found.error().withContext(label_ + ", " + what);
    print(what, found->elements,
          found->equal() ? ""
                         : fmt::format("{} DIFFER, by up to {:.3g} at {}",
                                       found->different, found->maxDifference,
                                       found->worst));
    return {};
  }

  void add(const SetOutcome &set) {
    print("fusion " + set.label + " = reference", set.comparison.elements,
          set.fault == Fault::None ? "" : "FAILED: " + set.message);
  }

  bool allEqual() const { return allEqual_; }

private:
  void print(const std::string &what, int64_t elements,
             const std::string &fault) {
    allEqual_ &= fault.empty();
    fmt::print("{:<32} {:<48} {:>10} elements, {}\n", label_, what, elements,
               fault.empty() ? "all equal" : fault);
    std::fflush(stdout);
  }

  std::string label_;
  bool allEqual_ = true;
};

/// A graph with random values for its arguments.
struct Case {
  Graph graph;
  TensorMap inputs;
};

/// Rows of the batch run alone: on the device, and there on the CPU as well.
Expected<void> addRows(Table &table, const Case &whole, const Options &options,
                       const Evaluator &evaluator, const TensorMap &fused) {
  auto graph = readGraph(options.shorter);
  if (!graph)
    return graph.error();
  graph->setMathMode(whole.graph.mathMode());
  auto inputs = sampleFor(*graph, TensorSignature::Kind::Input, whole.inputs,
                          /*keepsWhole=*/true);
  if (!inputs)
    return inputs.error();
  auto expected = sampleFor(*graph, TensorSignature::Kind::Result, fused,
                            /*keepsWhole=*/false);
  if (!expected)
    return expected.error();
  auto compareAlone = [&](const char *what, Expected<Outcome> alone) {
    if (!alone)
      return Expected<void>(alone.error());
    return table.add(what, compare(*expected, alone->results));
  };
  if (auto done = compareAlone("rows alone = rows in the batch",
                               evaluator.runCompiled(*graph, "all", *inputs));
      !done || !evaluator.hasDevice() || graph->mathMode() == MathMode::Fast)
    return done;
  return compareAlone("CPU reference of rows = rows in the batch",
                      evaluator.runGraph(*graph, *inputs));
}

/// Runs every comparison that `options` ask for; the first failure to run
/// ends it.
Expected<void> fill(Table &table, const Options &options) {
  auto evaluator = Evaluator::open(options.device);
  if (!evaluator)
    return evaluator.error();
  auto graph = readGraph(options.graph);
  if (!graph)
    return graph.error();
  if (options.fast)
    graph->setMathMode(MathMode::Fast);
  auto inputs = randomInputs(*graph, options);
  if (!inputs)
    return inputs.error();
  const Case whole{std::move(*graph), std::move(*inputs)};
  if (!options.inputsPath.empty())
    if (auto done = writeSafetensors(options.inputsPath, whole.inputs); !done)
      return done;

  auto run = [&](const char *fusion) {
    return evaluator->runCompiled(whole.graph, fusion, whole.inputs);
  };
  auto fused = run("all");
  if (!fused)
    return fused.error();
  for (auto [what, fusion] :
       {std::pair("fused = unfused", "none"), std::pair("run = run", "all")}) {
    auto other = run(fusion);
    if (!other)
      return other.error();
    if (auto done = table.add(what, compare(other->results, fused->results));
        !done)
      return done;
  }

  const bool isPortable =
      whole.graph.mathMode() == MathMode::Portable || !evaluator->hasDevice();
  if (options.reference && isPortable) {
    std::vector<FusionSet> sets = fusionSets(fusionNames());
    if (evaluator->hasDevice() && !options.everySet)
      sets = {sets.back()};
    auto report = checkGraph(whole.graph, whole.inputs, sets, *evaluator);
    if (!report)
      return report.error();
    for (const SetOutcome &set : report->sets)
      table.add(set);
  }
  return options.shorter.empty()
             ? Expected<void>()
             : addRows(table, whole, options, *evaluator, fused->results);
}

} // namespace

Expected<bool> checkOneGraph(const Options &options) {
  Table table(options.label.empty() ? options.graph : options.label);
  if (auto done = fill(table, options); !done)
    return done.error();
  return table.allEqual();
}

} // namespace epifold::exact
