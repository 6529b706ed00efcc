// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Result types of the ops that random graphs are made of.

#include "tests/exact/GraphSketch.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace epifold::exact {

static int newValue(GraphRecipe &recipe, ValueType type) {
  recipe.values.push_back(std::move(type));
  return static_cast<int>(recipe.values.size()) - 1;
}

static ValueType tensorType(DataType element, std::vector<Dim> shape) {
  ValueType type;
  type.element = element;
  type.shape = std::move(shape);
  return type;
}

//===--- Arguments and constants ------------------------------------------===//

int GraphSketch::input(std::vector<Dim> shape, std::optional<DataType> type) {
  const int value =
      newValue(recipe, tensorType(type.value_or(element), std::move(shape)));
  GraphRecipe::Argument argument{
      value, fmt::format("in.{}", recipe.arguments.size()), false, {}};
  argument.spec.seed = random.bits();
  argument.flavour = random.percent(6)    ? Flavour::Special
                     : random.percent(10) ? Flavour::Ties
                                          : Flavour::Plain;
  recipe.arguments.push_back(argument);
  return value;
}

int GraphSketch::parameter(std::vector<int64_t> shape, DataType type) {
  std::vector<Dim> dims;
  for (int64_t size : shape)
    dims.push_back({size, ""});
  const int value = newValue(recipe, tensorType(type, dims));
  GraphRecipe::Argument argument{
      value, fmt::format("w.{}", recipe.arguments.size()), true, {}};
  argument.spec.seed = random.bits();
  argument.spec.scale =
      1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, shape.back())));
  recipe.arguments.push_back(argument);
  return value;
}

int GraphSketch::indices(std::vector<Dim> shape, int64_t begin, int64_t end) {
  const int value =
      newValue(recipe, tensorType(DataType::I32, std::move(shape)));
  GraphRecipe::Argument argument{
      value, fmt::format("in.{}", recipe.arguments.size()), false, {}};
  argument.spec.seed = random.bits();
  argument.spec.intBound = end - begin;
  argument.intBegin = begin;
  recipe.arguments.push_back(argument);
  return value;
}

int GraphSketch::constant(double value, DataType type) {
  const ValueType scalar = tensorType(type, {});
  return add("constant", {},
             fmt::format("value = dense<{:.4e}> : {}", value, scalar.text()),
             scalar);
}

int GraphSketch::add(const std::string &op, std::vector<int> operands,
                     const std::string &attributes, ValueType result) {
  const int value = newValue(recipe, std::move(result));
  recipe.nodes.push_back(
      {"graph." + op, std::move(operands), attributes, {value}});
  return value;
}

//===--- Ops --------------------------------------------------------------===//

int GraphSketch::unary(const std::string &op, int x,
                       const std::string &attributes) {
  return add(op, {x}, attributes, type(x));
}

int GraphSketch::binary(const std::string &op, int a, int b) {
  const ValueType &left = type(a), &right = type(b);
  if (left.isRagged() || right.isRagged()) {
    ValueType result = left.isRagged() ? left : right;
    result.shape.back().size =
        std::max(left.shape.empty() ? 1 : left.back().size,
                 right.shape.empty() ? 1 : right.back().size);
    return add(op, {a, b}, "", result);
  }
  ValueType result = left.rank() >= right.rank() ? left : right;
  const ValueType &other = left.rank() >= right.rank() ? right : left;
  for (size_t i = 1; i <= other.rank(); ++i) {
    Dim &dim = result.shape[result.rank() - i];
    if (dim == Dim{})
      dim = other.shape[other.rank() - i];
  }
  return add(op, {a, b}, "", result);
}

int GraphSketch::cast(int x, DataType to) {
  return add("cast", {x}, "", type(x).withElement(to));
}

int GraphSketch::matmul(int x, int64_t n, std::optional<int> weight) {
  const ValueType &in = type(x);
  const DataType operand = in.element;
  ValueType result = in;
  result.shape.back() = {n, ""};
  if (operand != DataType::F64 && random.percent(30))
    result.element = DataType::F32;
  if (!weight)
    weight = parameter({n, in.back().size}, operand);
  return add("matmul", {x, *weight}, "", result);
}

int GraphSketch::reshape(int x, std::vector<Dim> shape) {
  return add("reshape", {x}, "", type(x).withShape(std::move(shape)));
}

int GraphSketch::transpose(int x, const std::vector<int64_t> &permutation) {
  std::vector<Dim> shape;
  for (int64_t dim : permutation)
    shape.push_back(type(x).shape[dim]);
  return add(
      "transpose", {x},
      fmt::format("permutation = array<i64: {}>", fmt::join(permutation, ", ")),
      type(x).withShape(shape));
}

int GraphSketch::slice(int x, int64_t dim, int64_t begin,
                       std::optional<int64_t> end) {
  std::vector<Dim> shape = type(x).shape;
  Dim &sliced = shape[dim];
  const int64_t size = sliced.size, last = end.value_or(size);
  const int64_t first = begin < 0 ? begin + size : begin;
  assert(first >= 0 && first <= size && "a slice that begins outside");
  sliced.size = (last < 0 ? last + size : last) - first;
  if (sliced.isDynamic()) {
    // A bound of the same sign on both sides leaves a size that is static, but
    // that the type does not state.
    sliced.symbol +=
        fmt::format("[{}:{}]", begin, end ? std::to_string(*end) : "");
  }
  return add("slice", {x},
             fmt::format("dim = {} : i64, begin = {} : i64{}", dim, begin,
                         end ? fmt::format(", end = {} : i64", *end) : ""),
             type(x).withShape(shape));
}

int GraphSketch::select(int x, int64_t dim, int64_t index) {
  std::vector<Dim> shape = type(x).shape;
  shape.erase(shape.begin() + dim);
  return add("select", {x},
             fmt::format("dim = {} : i64, index = {} : i64", dim, index),
             type(x).withShape(shape));
}

int GraphSketch::stack(const std::vector<int> &parts) {
  std::vector<Dim> shape = type(parts.front()).shape;
  shape.insert(shape.begin(), {static_cast<int64_t>(parts.size()), ""});
  return add("stack", parts, "", type(parts.front()).withShape(shape));
}

int GraphSketch::concat(const std::vector<int> &parts, int64_t dim) {
  std::vector<Dim> shape = type(parts.front()).shape;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Dim &other = type(parts[i]).shape[dim];
    shape[dim].size += other.size;
    if (other.isDynamic() || shape[dim].isDynamic())
      shape[dim].symbol += fmt::format("+{}{}", other.size, other.symbol);
  }
  return add("concat", parts, fmt::format("dim = {} : i64", dim),
             type(parts.front()).withShape(shape));
}

//===--- Choices ----------------------------------------------------------===//

std::optional<int>
GraphSketch::pick(const std::function<bool(const ValueType &)> &fits) {
  std::vector<int> found;
  for (int value : offered)
    if (fits(type(value)))
      found.push_back(value);
  if (found.empty())
    return std::nullopt;
  // Chains grow where the newest value goes on; an old one gets several users.
  const auto count = static_cast<int64_t>(found.size());
  return random.percent(60)
             ? found[count - 1 - random.below(std::min<int64_t>(count, 3))]
             : random.of(found);
}

int GraphSketch::pickRows(size_t rank) {
  auto found = pick([&](const ValueType &type) {
    return type.isTensor() && isFloat(type.element) && type.rank() >= 2 &&
           (rank == 0 || type.rank() == rank) && !type.back().isDynamic();
  });
  if (found && random.percent(90))
    return *found;
  std::vector<Dim> shape{tokens, {width(), ""}};
  if (rank == 3 || (rank == 0 && random.percent(15)))
    shape.insert(shape.begin(),
                 {random.of({1, 2, 3}), random.percent(15) ? "B" : ""});
  return offer(input(shape));
}

int64_t GraphSketch::width() {
  // Few enough that values meet others of their shape.
  return random.of({1, 3, 5, 8, 8, 16, 17, 24, 24, 33, 64, 66});
}

} // namespace epifold::exact
