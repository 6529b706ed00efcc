// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prints graphs in MLIR's generic form and draws the values of their arguments.

#include "tests/exact/GraphRecipe.h"

#include "tests/exact/Random.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <ranges>

namespace epifold::exact {

using runtime::HostTensor;
using runtime::TensorMap;

ValueType ValueType::withElement(DataType type) const {
  ValueType other = *this;
  other.element = type;
  return other;
}

ValueType ValueType::withShape(std::vector<Dim> sizes) const {
  ValueType other = *this;
  other.shape = std::move(sizes);
  return other;
}

std::string ValueType::text() const {
  if (kind == Kind::Routing)
    return fmt::format("!graph.routing<experts = {}, topk = {}>", experts,
                       topk);
  std::string sizes;
  if (isRagged()) {
    if (expert < 0)
      sizes = fmt::format("{}x", experts);
    return fmt::format("!graph.ragged<{}?x{}x{}>", sizes, back().size,
                       name(element));
  }
  for (const Dim &dim : shape)
    sizes += dim.isDynamic() ? "?x" : fmt::format("{}x", dim.size);
  return fmt::format("tensor<{}{}>", sizes, name(element));
}

std::string GraphRecipe::text() const {
  auto typeOf = [&](int value) { return values[value].text(); };
  auto list = [](const std::vector<int> &ids) {
    return fmt::format("{}", fmt::join(ids | std::views::transform([](int id) {
                                         return fmt::format("%{}", id);
                                       }),
                                       ", "));
  };
  auto types = [&](const std::vector<int> &ids) {
    return fmt::format("{}",
                       fmt::join(ids | std::views::transform(typeOf), ", "));
  };

  std::vector<std::string> parts;
  for (const Argument &argument : arguments)
    parts.push_back(fmt::format(
        "%{}: {} {{graph.{} = \"{}\"}}", argument.value, typeOf(argument.value),
        argument.isParameter ? "param" : "input", argument.name));
  std::string text = fmt::format("func.func @main({}) -> (",
                                 fmt::join(parts, ",\n                "));
  parts.clear();
  for (size_t i = 0; i < results.size(); ++i)
    parts.push_back(
        fmt::format("{} {{graph.result = \"out.{}\"}}", typeOf(results[i]), i));
  text += fmt::format("{}) {{\n", fmt::join(parts, ", "));
  for (const Node &node : nodes)
    text +=
        fmt::format("  {} = \"{}\"({}) {{{}}} : ({}) -> ({})\n",
                    list(node.results), node.op, list(node.operands),
                    node.attributes, types(node.operands), types(node.results));
  return text +
         fmt::format("  return {} : {}\n}}\n", list(results), types(results));
}

/// Replaces a few elements of an f64 tensor by values that arithmetic treats
/// specially.
static void addSpecials(HostTensor &tensor, Random &random) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto *elements = reinterpret_cast<double *>(tensor.mutableData());
  const int64_t count = tensor.elements();
  for (int64_t i = 0, few = std::min<int64_t>(count, 3); i < few; ++i)
    elements[random.below(count)] =
        random.of({std::numeric_limits<double>::quiet_NaN(), infinity,
                   -infinity, 0.0, -0.0, 1e-40, -6e-8, 3e38});
}

Expected<TensorMap> GraphRecipe::inputs() const {
  TensorMap inputs;
  for (const Argument &argument : arguments) {
    const ValueType &type = values[argument.value];
    runtime::Shape shape;
    for (const Dim &dim : type.shape)
      shape.push_back(dim.size);
    const bool isInteger = !isFloat(type.element);
    auto tensor =
        randomTensor(argument.name, isInteger ? DataType::I64 : DataType::F64,
                     shape, argument.spec);
    if (!tensor)
      return tensor.error();
    Random random(argument.spec.seed);
    if (isInteger) {
      auto *elements = reinterpret_cast<int64_t *>(tensor->mutableData());
      for (int64_t i = 0; i < tensor->elements(); ++i)
        elements[i] += argument.intBegin;
    } else if (argument.flavour == Flavour::Ties) {
      auto *elements = reinterpret_cast<double *>(tensor->mutableData());
      for (int64_t i = 0; i < tensor->elements(); ++i)
        elements[i] = std::round(2 * elements[i]) / 2;
    } else if (argument.flavour == Flavour::Special && tensor->elements() > 0) {
      addSpecials(*tensor, random);
    }
    auto typed = castTensor(*tensor, type.element);
    if (!typed)
      return typed.error();
    inputs.emplace(argument.name, std::move(*typed));
  }
  return inputs;
}

void GraphRecipe::prune() {
  std::vector<bool> needed(values.size());
  for (int result : results)
    needed[result] = true;
  auto isNeeded = [&](int value) { return needed[value]; };
  std::vector<Node> kept;
  for (Node &node : nodes | std::views::reverse) {
    if (std::ranges::none_of(node.results, isNeeded))
      continue;
    for (int operand : node.operands)
      needed[operand] = true;
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  nodes = std::move(kept);
  std::erase_if(arguments, [&](const Argument &argument) {
    return !needed[argument.value];
  });
}

} // namespace epifold::exact
