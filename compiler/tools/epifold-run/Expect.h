// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compares a run's results with expected tensors.

#ifndef EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_EXPECT_H
#define EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_EXPECT_H

#include "epifold/runtime/Safetensors.h"
#include "epifold/runtime/Tensor.h"

#include <string>
#include <vector>

namespace epifold::tools {

/// When an element passes: equal, or within atol + rtol * max|expected|.
struct Tolerance {
  bool exact = true;
  double rtol = 0;
  double atol = 0;
};

/// The outcome for one result.
struct Comparison {
  std::string name;
  bool passed = false;
  std::string problem; ///< Why nothing was compared; empty otherwise.
  double maxDelta = 0; ///< Infinite where NaN or infinity met another value.
  int64_t equal = 0;   ///< Elements that are equal.
  int64_t passing = 0; ///< Elements within the tolerance.
  int64_t elements = 0;
  int64_t firstFailure = -1;       ///< Row-major index.
  double actual = 0, expected = 0; ///< There.
};

/// Compares element by element. Tensors of one type are equal where their bits
/// are, or where both are NaN; tensors of two types where their values are. The
/// largest finite |expected| of the tensor is the scale of rtol; NaN and
/// infinities must be met exactly.
Comparison compareTensors(const std::string &name,
                          const runtime::HostTensor &actual,
                          const runtime::HostTensor &expected,
                          const Tolerance &tolerance);

/// Compares every result with the tensor of its name; an absent one fails.
std::vector<Comparison> compareResults(const runtime::TensorMap &results,
                                       const runtime::SafetensorsFile &expected,
                                       const Tolerance &tolerance);

/// True when at least one element was compared and every result passed.
bool allPassed(const std::vector<Comparison> &comparisons);

/// A table with one line per result and a last line with the verdict.
std::string formatComparisons(const std::vector<Comparison> &comparisons);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_EXPECT_H
