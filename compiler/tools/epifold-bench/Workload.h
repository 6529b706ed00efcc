// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What can be timed: a graph, the tensors it is given, and what counts as its
// work.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_WORKLOAD_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_WORKLOAD_H

#include "RandomTensor.h"
#include "Routing.h"
#include "epifold/Graph.h"
#include "epifold/Models.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epifold::tools {

/// A tensor that a workload is given.
struct WorkloadArgument {
  std::string name;
  TensorSignature::Kind kind = TensorSignature::Kind::Input;
  DataType type = DataType::F32;
  runtime::Shape shape;
  Distribution distribution;
  /// The tensor itself, where it is not drawn.
  std::optional<runtime::HostTensor> values = std::nullopt;
  /// What the first columns are, where they are not drawn.
  std::optional<runtime::HostTensor> leadingColumns = std::nullopt;
  /// Which part of it a run has to read.
  double share = 1;
};

struct Workload {
  std::string name;
  nlohmann::ordered_json shape; ///< Its sizes by name.
  DataType type = DataType::F32;
  Graph graph;
  std::vector<WorkloadArgument> arguments;
  /// Floating-point operations of its products, two a multiply-add; empty when
  /// the compiler's count is to be taken.
  std::optional<double> flops;
  /// What one run must read and write at least: arguments and results once, of
  /// experts' weights those that can be chosen. Empty where it is not known.
  std::optional<double> leastBytes = std::nullopt;
  /// How often the graph does the work, on other weights each time; a
  /// measurement is of one of them.
  int64_t copies = 1;
  /// Measure from the first product to the last launch before rows are
  /// combined, and nothing around that.
  bool productsOnly = false;
};

/// The layer with tokens that choose their experts by a skew.
struct SkewedMoeSwiglu : MoeSwigluModel {
  Skew skew;
};

/// A graph from a file.
struct GraphFile {
  std::string path;
  int64_t size = 0;    ///< Of every dynamic dimension; 0: there must be none.
  int64_t limit = 256; ///< Integer arguments are drawn below it.
};

/// Each builds the workload; with `dynamic` its graph is compiled for any count
/// of tokens and only run with the model's. Weights are scaled by the inverse
/// root of their fan-in. Errors: sizes that the model refuses; a file that
/// cannot be read or parsed, or whose dynamic dimensions have no size.
Expected<Workload> makeWorkload(ExpertConvFoldModel model, bool dynamic);
Expected<Workload> makeWorkload(ClmConvMoeModel model, bool dynamic);
Expected<Workload> makeWorkload(const SkewedMoeSwiglu &model, bool dynamic);
Expected<Workload> makeWorkload(const GraphFile &file);

/// The arguments of `graph`, drawn about zero, with `size` for every dynamic
/// dimension and integers below `limit`. Parameters named in `convolutions`
/// have taps as their last dimension.
std::vector<WorkloadArgument>
argumentsOf(const Graph &graph, int64_t size, int64_t limit,
            std::initializer_list<std::string_view> convolutions);

/// The argument of that name, which exists.
WorkloadArgument &find(Workload &workload, std::string_view name);

/// Bytes of the arguments' shares and of the results, with `size` for every
/// dynamic dimension of these.
double bytesOfSignature(const Workload &workload, int64_t size);

double productOf(std::initializer_list<int64_t> sizes);

/// Random tensors for all arguments, the same in every run. Errors: no memory.
Expected<runtime::TensorMap> drawArguments(const Workload &workload);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_WORKLOAD_H
