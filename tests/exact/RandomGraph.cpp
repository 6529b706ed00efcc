// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the passages of a random graph and which of its values it returns.

#include "tests/exact/Motifs.h"

#include <algorithm>

namespace epifold::exact {

GraphRecipe makeRandomGraph(uint64_t seed) {
  Random random(seed);
  const DataType element =
      random.of({DataType::F64, DataType::F32, DataType::F32, DataType::F32,
                 DataType::BF16, DataType::BF16, DataType::BF16, DataType::BF16,
                 DataType::F16, DataType::F16});
  Dim tokens{random.of({1, 1, 2, 3, 5, 7, 16, 33, 45, 64, 70}), ""};
  if (random.percent(35)) {
    tokens.symbol = "T";
    if (random.percent(8))
      tokens.size = 0;
  }
  GraphSketch sketch(random, element, tokens);
  using Motif = void (*)(GraphSketch &);
  const std::vector<Motif> motifs = {
      addElementwise,  addElementwise,   addLinear,       addLinear,
      addGatedUnit,    addRowOp,         addRowOp,        addView,
      addView,         addConvolution,   addLookup,       addDenseExperts,
      addDenseExperts, addRoutedExperts, addRoutedExperts};
  for (int64_t left = 2 + random.below(8); left > 0; --left)
    random.of(motifs)(sketch);

  // The last value and some others; the rest is dead or only used inside.
  std::vector<int> &results = sketch.recipe.results;
  for (int value : sketch.offered)
    if (random.percent(20))
      results.push_back(value);
  if (!sketch.offered.empty())
    results.push_back(sketch.offered.back());
  if (results.empty())
    results.push_back(sketch.input({tokens, {8, ""}}));
  if (random.percent(10)) // Returned twice.
    results.push_back(results.front());
  return std::move(sketch.recipe);
}

} // namespace epifold::exact
