// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Grows a random graph op by op; every op that it adds is well typed.

#ifndef EPIFOLD_TESTS_EXACT_GRAPHSKETCH_H
#define EPIFOLD_TESTS_EXACT_GRAPHSKETCH_H

#include "tests/exact/GraphRecipe.h"
#include "tests/exact/Random.h"

#include <functional>
#include <optional>

namespace epifold::exact {

/// A graph under construction. Functions named after an op add it and return
/// its result; operands are values of this sketch whose types the op takes.
class GraphSketch {
public:
  /// `tokens` is the size of the row dimension that most values share.
  GraphSketch(Random &random, DataType element, Dim tokens)
      : random(random), element(element), tokens(std::move(tokens)) {}

  const ValueType &type(int value) const { return recipe.values[value]; }
  int64_t rows() const { return tokens.size; }

  int input(std::vector<Dim> shape, std::optional<DataType> type = {});
  /// A weight whose products stay near 1.
  int parameter(std::vector<int64_t> shape, DataType type);
  /// Integers in [begin, end).
  int indices(std::vector<Dim> shape, int64_t begin, int64_t end);
  int constant(double value, DataType type);
  int add(const std::string &op, std::vector<int> operands,
          const std::string &attributes, ValueType result);

  int unary(const std::string &op, int x, const std::string &attributes = "");
  /// The result has the broadcast shape.
  int binary(const std::string &op, int a, int b);
  int cast(int x, DataType to);
  /// `n` columns; the weight is a new parameter unless given.
  int matmul(int x, int64_t n, std::optional<int> weight = {});
  int reshape(int x, std::vector<Dim> shape);
  int transpose(int x, const std::vector<int64_t> &permutation);
  /// [begin, end) of a dimension; `end` may be negative or absent.
  int slice(int x, int64_t dim, int64_t begin, std::optional<int64_t> end);
  int select(int x, int64_t dim, int64_t index);
  int stack(const std::vector<int> &parts);
  int concat(const std::vector<int> &parts, int64_t dim);

  /// Makes a value one that later ops may use.
  int offer(int value) {
    offered.push_back(value);
    return value;
  }
  /// A value that `fits` holds for, mostly a recent one; nothing when none
  /// does.
  std::optional<int> pick(const std::function<bool(const ValueType &)> &fits);
  /// A float tensor of at least two dimensions with a static last one.
  int pickRows(size_t rank = 0);
  int64_t width();

  Random &random;
  const DataType element; ///< Of most values.
  const Dim tokens;
  GraphRecipe recipe;
  std::vector<int> offered;
};

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_GRAPHSKETCH_H
