// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What can be timed: a graph, the tensors it is given, and what counts as its
// work.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_WORKLOAD_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_WORKLOAD_H

#include "RandomTensor.h"
#include "epifold/Graph.h"
#include "epifold/Models.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace epifold::tools {

/// A tensor that a workload is given.
struct WorkloadArgument {
  std::string name;
  TensorSignature::Kind kind = TensorSignature::Kind::Input;
  DataType type = DataType::F32;
  runtime::Shape shape;
  Distribution distribution;
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
Expected<Workload> makeWorkload(MoeSwigluModel model, bool dynamic);
Expected<Workload> makeWorkload(const GraphFile &file);

/// Random tensors for all arguments, the same in every run. Errors: no memory.
Expected<runtime::TensorMap> drawArguments(const Workload &workload);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_WORKLOAD_H
