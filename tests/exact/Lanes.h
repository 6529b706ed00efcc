// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Branches of several experts that grow side by side.

#ifndef EPIFOLD_TESTS_EXACT_LANES_H
#define EPIFOLD_TESTS_EXACT_LANES_H

#include "tests/exact/Motifs.h"

#include <functional>

namespace epifold::exact {

/// What one branch does to its value; the same for every lane but for the parts
/// of stacked values that it takes.
using Step = std::function<int(int value, int64_t lane)>;

/// E branches that the same steps grow.
struct Lanes {
  GraphSketch &s;
  std::vector<int> values;
  /// A lane that does some step in its own way, −1 for none.
  int64_t odd = -1;

  int64_t count() const { return static_cast<int64_t>(values.size()); }

  void apply(const Step &step) {
    for (int64_t lane = 0; lane < count(); ++lane)
      values[lane] = step(values[lane], lane);
  }
  const ValueType &type() const { return s.type(values.front()); }
};

/// Steps for dense and for ragged lanes; in each the odd lane may differ.
void applyUnary(Lanes &lanes);
/// Each lane's own row of a stacked [E, n], or a row that all share.
void applyRow(Lanes &lanes);
/// The odd lane takes another expert's weight.
void applyMatmul(Lanes &lanes, int64_t n);
/// gate and up parts of one weight, and silu(gate) · up.
void applyGatedUnit(Lanes &lanes);
void applyCast(Lanes &lanes);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_LANES_H
