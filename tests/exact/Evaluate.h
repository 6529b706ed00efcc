// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs one graph at every level there is: graph and kernel dialect on the CPU,
// PTX on a GPU.

#ifndef EPIFOLD_TESTS_EXACT_EVALUATE_H
#define EPIFOLD_TESTS_EXACT_EVALUATE_H

#include "epifold/runtime/Error.h"
#include "epifold/runtime/Tensor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace epifold::exact {

/// An input or a parameter of a graph.
struct Argument {
  std::string name;
  bool isParameter = false;
  DataType type = DataType::F32;
  runtime::Shape shape; ///< All static.
};

/// Evaluates graphs given as MLIR text.
class Evaluator {
public:
  /// Opens the compiler library and, if `ordinal` is not negative and there is
  /// a driver, that CUDA device. Errors: no compiler library; a driver that
  /// fails.
  static Expected<Evaluator> open(int ordinal);

  /// Loads a pass plugin, whose fusions then belong to "all".
  Expected<void> loadPassPlugin(const std::string &path) const;

  bool hasDevice() const;
  /// "NVIDIA H200", or "CPU".
  std::string deviceName() const;

  /// Inputs and parameters in the graph's order. Errors: text that does not
  /// parse, a dynamic dimension.
  Expected<std::vector<Argument>> arguments(const std::string &graph) const;

  /// The graph dialect, evaluated on the CPU.
  Expected<runtime::TensorMap> runGraph(const std::string &graph,
                                        const runtime::TensorMap &inputs) const;
  /// The graph after the passes of that fusion set: on the device, or else the
  /// kernel dialect on the CPU.
  Expected<runtime::TensorMap>
  runCompiled(const std::string &graph, const std::string &fusion,
              const runtime::TensorMap &inputs) const;

private:
  struct State;
  explicit Evaluator(std::shared_ptr<const State> state)
      : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_EVALUATE_H
