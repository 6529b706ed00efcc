// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passages without experts: chains, products with glue, rows, views,
// convolutions, lookups.

#include "tests/exact/Motifs.h"

#include <algorithm>
#include <fmt/format.h>

namespace epifold::exact {

Unary randomUnary(Random &random) {
  const char *op = random.of(
      {"neg", "abs", "relu", "tanh", "sigmoid", "silu", "gelu", "gelu", "erf"});
  std::string attributes;
  const std::string_view name = op;
  if (name == "gelu" && random.percent(40))
    attributes = "approximate = 1 : i32";
  const bool hasAccuracy = name != "neg" && name != "abs" && name != "relu";
  if (hasAccuracy && random.percent(30))
    attributes += fmt::format("{}accuracy = {} : i32",
                              attributes.empty() ? "" : ", ", random.below(2));
  return {op, attributes};
}

std::string randomBinary(Random &random) {
  return random.of({"add", "add", "mul", "mul", "sub", "max", "min"});
}

/// Something that broadcasts to `x`: a scalar, a row, a column, a value of the
/// same shape, or x itself.
static int makeOperand(GraphSketch &s, int x) {
  const ValueType type = s.type(x);
  if (type.rank() < 2)
    return s.random.percent(50) ? x : s.constant(-0.75, type.element);
  switch (s.random.below(7)) {
  case 0:
    return s.constant(s.random.of({0.5, -1.25, 2.0, 0.1}), type.element);
  case 1:
    return s.parameter({type.back().size}, type.element);
  case 2: { // One column.
    std::vector<Dim> shape = type.shape;
    shape.back() = {1, ""};
    if (type.rank() > 2 && s.random.percent(50))
      shape.erase(shape.begin());
    return s.input(shape, type.element);
  }
  case 3:
    return x;
  case 4: { // Rows of a sample that every sample repeats.
    std::vector<Dim> shape(type.shape.begin() + 1, type.shape.end());
    if (s.random.percent(50))
      shape.insert(shape.begin(), Dim{});
    return s.input(shape, type.element);
  }
  default:
    if (auto other = s.pick([&](const ValueType &other) {
          return other.isTensor() && other.element == type.element &&
                 other.shape == type.shape;
        }))
      return *other;
    return s.input(type.shape, type.element);
  }
}

void addElementwise(GraphSketch &s) {
  int x = s.pickRows();
  if (s.random.percent(12)) // Vectors and scalars, which nothing else takes.
    x = s.pick([](const ValueType &type) {
           return type.isTensor() && isFloat(type.element) && type.rank() < 2;
         }).value_or(x);
  for (int64_t left = 1 + s.random.below(4); left > 0; --left) {
    const DataType element = s.type(x).element;
    switch (s.random.below(8)) {
    case 0:
    case 1: {
      const Unary unary = randomUnary(s.random);
      x = s.unary(unary.op, x, unary.attributes);
      break;
    }
    case 2: // Domains where the function is defined.
      x = s.unary("exp", s.unary("neg", s.unary("abs", x)));
      break;
    case 3: {
      const int positive =
          s.binary("add", s.unary("abs", x), s.constant(0.25, element));
      x = s.unary(s.random.of({"log", "rsqrt", "sqrt"}), positive);
      break;
    }
    case 4:
      x = s.cast(x, s.random.of({DataType::F32, DataType::BF16, DataType::F16,
                                 DataType::F64, s.element, s.element}));
      break;
    case 5: {
      const int a = makeOperand(s, x), c = makeOperand(s, x);
      x = s.add("fma", {x, a, c}, "", s.type(x));
      break;
    }
    case 6: {
      const int below = s.binary("add", s.unary("abs", makeOperand(s, x)),
                                 s.constant(s.random.of({0.5, 1.0}), element));
      x = s.binary("div", x, below);
      break;
    }
    default: {
      const int other = makeOperand(s, x);
      x = s.random.percent(50) ? s.binary(randomBinary(s.random), x, other)
                               : s.binary(randomBinary(s.random), other, x);
    }
    }
    if (s.random.percent(50))
      s.offer(x);
  }
  s.offer(x);
}

void addLinear(GraphSketch &s) {
  const int x = s.pickRows();
  int y = s.matmul(x, s.random.percent(40) ? s.type(x).back().size : s.width());
  if (s.random.percent(25))
    s.offer(y); // The product is needed elsewhere.
  if (s.random.percent(70))
    y = s.binary("add", y,
                 s.parameter({s.type(y).back().size}, s.type(y).element));
  if (s.random.percent(60)) {
    const Unary unary = randomUnary(s.random);
    y = s.unary(unary.op, y, unary.attributes);
  }
  if (s.random.percent(40))
    y = s.cast(y, s.element);
  if (s.random.percent(50))
    if (auto residual = s.pick([&](const ValueType &type) {
          return type.isTensor() && type.element == s.type(y).element &&
                 type.shape == s.type(y).shape;
        }))
      y = s.binary("add", s.random.percent(50) ? y : *residual,
                   s.random.percent(50) ? y : *residual);
  s.offer(y);
}

void addGatedUnit(GraphSketch &s) {
  const int x = s.pickRows();
  const int64_t n = s.width(), k = s.type(x).back().size;
  int gate, up;
  if (s.random.percent(50)) {
    const int both = s.matmul(x, 2 * n);
    const auto dim = static_cast<int64_t>(s.type(both).rank()) - 1;
    gate = s.slice(both, dim, 0, n);
    up = s.slice(both, dim, n, std::nullopt);
  } else {
    const DataType type = s.type(x).element;
    gate = s.matmul(x, n, s.parameter({n, k}, type));
    // Now and then from another input, so that they cannot be one product.
    const int other = s.random.percent(20) ? s.unary("neg", x) : x;
    up = s.add("matmul", {other, s.parameter({n, k}, type)}, "", s.type(gate));
  }
  if (s.random.percent(15))
    s.offer(gate);
  int h = s.binary("mul",
                   s.unary(s.random.of({"silu", "gelu", "sigmoid"}), gate), up);
  if (s.random.percent(60))
    h = s.matmul(s.cast(h, s.type(x).element), s.random.percent(60) ? k : n);
  s.offer(h);
}

void addRowOp(GraphSketch &s) {
  const int x = s.pickRows();
  const ValueType type = s.type(x);
  const int64_t d = type.back().size;
  auto gain = [&] { return s.parameter({d}, type.element); };
  switch (s.random.below(6)) {
  case 0:
    s.offer(s.add("layer_norm", {x, gain(), gain()}, "", type));
    break;
  case 1:
    s.offer(s.add("rms_norm", {x, gain()}, "", type));
    break;
  case 2: {
    const int64_t groups =
        d % 2 == 0 && s.random.percent(40) ? 2 : s.random.of({int64_t(1), d});
    if (type.rank() <= 3)
      s.offer(s.add("group_norm", {x, gain(), gain()},
                    fmt::format("groups = {} : i64", groups), type));
    break;
  }
  case 3:
    s.offer(s.add("softmax", {x}, "", type));
    break;
  default: {
    const bool isAscending = s.random.percent(60);
    auto dim = static_cast<int64_t>(type.rank()) - 1;
    if (isAscending)
      dim = s.random.below(dim + 1);
    if (type.shape[dim].isDynamic())
      break;
    const bool keeps = s.random.percent(50);
    std::vector<Dim> shape = type.shape;
    if (keeps)
      shape[dim] = Dim{};
    else
      shape.erase(shape.begin() + dim);
    const int sum =
        s.add("reduce_sum", {x},
              fmt::format("dim = {} : i64, order = {} : i32{}", dim,
                          isAscending ? 1 : 0, keeps ? ", keepdim" : ""),
              type.withShape(shape));
    s.offer(keeps && s.random.percent(60) ? s.binary("sub", x, sum) : sum);
  }
  }
}

void addView(GraphSketch &s) {
  const int x = s.pickRows();
  const ValueType type = s.type(x);
  const auto last = static_cast<int64_t>(type.rank()) - 1;
  const int64_t d = type.back().size;
  switch (s.random.below(8)) {
  case 0: { // A range of columns, or of rows whose size is known.
    const bool rows = !type.shape[last - 1].isDynamic() && s.random.percent(40);
    const int64_t dim = rows ? last - 1 : last, size = type.shape[dim].size;
    const int64_t begin = s.random.percent(40) ? 0 : s.random.below(size);
    const int64_t end = begin + 1 + s.random.below(size - begin);
    s.offer(s.slice(x, dim, begin, end));
    break;
  }
  case 1: { // All rows but the last, or but the first.
    if (last != 1 || type.shape[0].size < 2)
      return;
    const bool dropsLast = s.random.percent(60);
    s.offer(dropsLast ? s.slice(x, 0, 0, -1) : s.slice(x, 0, 1, std::nullopt));
    break;
  }
  case 2: { // Columns split into two dimensions, and back later.
    if (!type.canBeReshaped())
      return;
    const int64_t parts = d % 3 == 0 ? 3 : d % 2 == 0 ? 2 : 1;
    std::vector<Dim> shape = type.shape;
    shape.back() = {d / parts, ""};
    shape.insert(shape.end() - 1, {parts, ""});
    int split = s.reshape(x, shape);
    const Unary unary = randomUnary(s.random);
    split = s.unary(unary.op, s.offer(split), unary.attributes);
    s.offer(s.random.percent(70) ? s.reshape(split, type.shape) : split);
    break;
  }
  case 3: {
    std::vector<int64_t> permutation(last + 1);
    for (int64_t i = 0; i <= last; ++i)
      permutation[i] = i;
    std::swap(permutation[s.random.below(last)], permutation[last]);
    int turned = s.transpose(x, permutation);
    if (s.random.percent(60)) {
      turned = s.unary("tanh", turned);
      turned = s.transpose(turned, permutation);
    }
    s.offer(turned);
    break;
  }
  case 4: {
    std::vector<int> parts{x};
    while (static_cast<int64_t>(parts.size()) < 1 + s.random.below(3))
      parts.push_back(s.random.percent(50) ? x : s.unary("neg", parts.back()));
    s.offer(s.stack(parts));
    break;
  }
  case 5: { // Columns side by side.
    const int64_t n = s.width();
    std::vector<Dim> shape = type.shape;
    shape.back() = {n, ""};
    const int other = s.random.percent(50)
                          ? s.input(shape, type.element)
                          : s.cast(s.matmul(x, n), type.element);
    const int part =
        s.random.percent(50) ? s.slice(x, last, 0, (d + 1) / 2) : x;
    s.offer(s.random.percent(50) ? s.concat({part, other}, last)
                                 : s.concat({other, part}, last));
    break;
  }
  default: {
    const int64_t dim =
        s.random.percent(50) && !type.shape[0].isDynamic() ? 0 : last;
    const int part = s.select(x, dim, s.random.below(type.shape[dim].size));
    if (s.type(part).rank() >= 2 || s.random.percent(30))
      s.offer(part);
  }
  }
}

void addConvolution(GraphSketch &s) {
  const int x = s.pickRows(s.random.percent(50) ? 2 : 3);
  const ValueType type = s.type(x);
  const int64_t outputs = s.random.percent(50) ? type.back().size : s.width();
  const int weight = s.parameter(
      {outputs, type.back().size, 1 + s.random.below(3)}, type.element);
  std::vector<Dim> shape = type.shape;
  shape.back() = {outputs, ""};
  int y = s.add("causal_conv1d", {x, weight},
                fmt::format("dilation = {} : i64", 1 + s.random.below(3)),
                type.withShape(shape));
  if (s.random.percent(70))
    y = s.binary("add", y, s.parameter({outputs}, type.element));
  if (s.random.percent(50))
    y = s.unary("gelu", y);
  s.offer(y);
}

void addLookup(GraphSketch &s) {
  const int64_t count = s.random.of({2, 7, 40}), d = s.width();
  const bool outside = s.random.percent(15);
  const int indices =
      s.indices({s.tokens}, outside ? -1 : 0, count + (outside ? 1 : 0));
  ValueType rows;
  rows.element = s.element;
  rows.shape = {s.tokens, {d, ""}};
  const int table = s.parameter({count, d}, s.element);
  const int x = s.offer(s.add("embedding", {indices, table}, "", rows));
  if (s.random.percent(40)) {
    const int logits = s.matmul(x, count);
    ValueType loss;
    loss.element = s.element == DataType::F64 ? DataType::F64 : DataType::F32;
    s.recipe.results.push_back(
        s.add("cross_entropy", {logits, indices}, "", loss));
  }
}

} // namespace epifold::exact
