// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compares the results of two runs to the bit.

#ifndef EPIFOLD_TESTS_EXACT_COMPARE_H
#define EPIFOLD_TESTS_EXACT_COMPARE_H

#include "epifold/runtime/Error.h"
#include "epifold/runtime/Tensor.h"

#include <cstdint>
#include <string>

namespace epifold::exact {

/// What a comparison of several tensors found.
struct Comparison {
  int tensors = 0;
  int64_t elements = 0;
  int64_t different = 0;
  double maxDifference = 0; ///< Infinity where only one side is NaN.
  std::string worst;        ///< "out.y[12]", or empty.

  /// True when something was compared and all of it is equal.
  bool equal() const { return elements > 0 && different == 0; }
};

/// Compares every tensor of `expected` with its namesake: equal means equal
/// bits, save that any NaN equals any NaN. Errors: an absent tensor, another
/// type or shape.
Expected<Comparison> compare(const runtime::TensorMap &expected,
                             const runtime::TensorMap &actual);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_COMPARE_H
