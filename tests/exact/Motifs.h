// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What random graphs consist of: short passages as models have them, and near
// misses of them.

#ifndef EPIFOLD_TESTS_EXACT_MOTIFS_H
#define EPIFOLD_TESTS_EXACT_MOTIFS_H

#include "tests/exact/GraphSketch.h"

namespace epifold::exact {

/// An elementwise op of one operand.
struct Unary {
  std::string op, attributes;
};

/// One whose values stay near 1 for any operand.
Unary randomUnary(Random &random);

/// A binary elementwise op whose values stay near 1.
std::string randomBinary(Random &random);

/// Each adds ops to `sketch` and offers what they compute.
void addElementwise(GraphSketch &sketch);
void addLinear(GraphSketch &sketch);
void addGatedUnit(GraphSketch &sketch);
void addRowOp(GraphSketch &sketch);
void addView(GraphSketch &sketch);
void addConvolution(GraphSketch &sketch);
void addLookup(GraphSketch &sketch);

/// Branches of one shape over parts of stacked weights.
void addDenseExperts(GraphSketch &sketch);
/// Top-k routing, branches over each expert's rows or all of them, combine.
void addRoutedExperts(GraphSketch &sketch);

/// A well-typed graph with about ten passages and several results.
GraphRecipe makeRandomGraph(uint64_t seed);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_MOTIFS_H
