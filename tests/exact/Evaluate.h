// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs one graph at every level there is: graph and kernel dialect on the CPU,
// PTX on a GPU.

#ifndef EPIFOLD_TESTS_EXACT_EVALUATE_H
#define EPIFOLD_TESTS_EXACT_EVALUATE_H

#include "epifold/Graph.h"
#include "epifold/runtime/Device.h"
#include "epifold/runtime/Status.h"
#include "epifold/runtime/Tensor.h"

#include <optional>
#include <string>

namespace epifold::exact {

/// What a run gives.
struct Outcome {
  runtime::TensorMap results;
  runtime::StatusWord status;
};

/// Evaluates graphs on this machine.
class Evaluator {
public:
  /// On the CPU alone.
  Evaluator() = default;
  /// With CUDA device `ordinal` if it is not negative and there is a driver.
  /// Errors: a driver that fails.
  static Expected<Evaluator> open(int ordinal);

  bool hasDevice() const { return device_.has_value(); }
  /// "NVIDIA H200", or "CPU".
  std::string deviceName() const;

  /// The graph dialect, evaluated on the CPU.
  Expected<Outcome> runGraph(const Graph &graph,
                             const runtime::TensorMap &inputs) const;
  /// The graph after the passes of that fusion set: on the device, or else the
  /// kernel dialect on the CPU.
  Expected<Outcome> runCompiled(const Graph &graph, const std::string &fusion,
                                const runtime::TensorMap &inputs) const;

  /// Threads of an evaluation on the CPU; 0: one per core. Small graphs are
  /// faster with one.
  unsigned threads = 0;

private:
  std::optional<runtime::Device> device_;
};

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_EVALUATE_H
