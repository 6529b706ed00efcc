// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks memory plans: no launch may overwrite what a later one reads.

#ifndef EPIFOLD_TESTS_EXACT_PLANCHECK_H
#define EPIFOLD_TESTS_EXACT_PLANCHECK_H

#include "epifold/Graph.h"
#include "epifold/runtime/Tensor.h"

#include <string>

namespace epifold::exact {

/// A graph as kernels.
struct LoweredGraph {
  std::string kernels;   ///< As text; equal for equal kernels.
  std::string planFault; ///< What is wrong with the memory plan, or empty.
};

/// Lowers `graph` and walks its launches through the buffers that the memory
/// plan gives their values, with the sizes that `inputs` have. Errors: it
/// cannot be lowered.
Expected<LoweredGraph> lowerAndCheckPlan(const Graph &graph,
                                         const std::string &fusion,
                                         const runtime::TensorMap &inputs);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_PLANCHECK_H
