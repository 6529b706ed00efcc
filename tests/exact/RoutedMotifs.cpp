// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Routing, the work on each expert's rows or on all of them, and combine.

#include "tests/exact/Lanes.h"

#include <algorithm>
#include <fmt/format.h>

namespace epifold::exact {

namespace {
struct Routing {
  int value, weights;
  int64_t experts, topk;
};
} // namespace

/// Indices [rows, topk] with weights: chosen by scores, or given, then with
/// experts that none chose, one that all chose, and slots without an expert.
static Routing makeRouting(GraphSketch &s, int64_t experts) {
  const int64_t topk = 1 + s.random.below(std::min<int64_t>(experts, 4));
  ValueType chosen;
  chosen.element = s.element;
  chosen.shape = {s.tokens, {topk, ""}};
  int weights, indices;
  if (s.random.percent(60)) {
    const int x = s.pickRows(2);
    int logits = s.type(x).shape.front() == s.tokens
                     ? s.matmul(x, experts)
                     : s.input({s.tokens, {experts, ""}});
    if (s.random.percent(70))
      logits = s.add("softmax", {logits}, "", s.type(logits));
    weights = s.add("top_k", {logits}, fmt::format("k = {} : i64", topk),
                    chosen.withElement(s.type(logits).element));
    s.recipe.values.push_back(chosen.withElement(DataType::I32));
    indices = static_cast<int>(s.recipe.values.size()) - 1;
    s.recipe.nodes.back().results.push_back(indices);
  } else {
    weights = s.input(chosen.shape);
    const int64_t some = 1 + s.random.below(experts);
    indices =
        s.random.percent(70)
            ? s.indices(chosen.shape, 0, s.random.percent(50) ? experts : some)
            : s.indices(chosen.shape, -1,
                        experts + (s.random.percent(30) ? 1 : 0));
  }
  ValueType routing;
  routing.kind = ValueType::Kind::Routing;
  routing.experts = experts;
  routing.topk = topk;
  const int value = s.add("route", {indices}, "", routing);
  ValueType counts;
  counts.element = DataType::I64;
  counts.shape = {{experts, ""}};
  s.recipe.values.push_back(counts);
  const int count = static_cast<int>(s.recipe.values.size()) - 1;
  s.recipe.nodes.back().results.push_back(count);
  if (s.random.percent(40))
    s.recipe.results.push_back(count);
  return {value, weights, experts, topk};
}

static ValueType rowsType(const Routing &routing, int64_t expert, int64_t width,
                          DataType element) {
  ValueType type;
  type.kind = ValueType::Kind::Ragged;
  type.element = element;
  type.shape = {{0, "rows"}, {width, ""}};
  type.experts = routing.experts;
  type.routing = routing.value;
  type.expert = expert;
  return type;
}

static int dispatch(GraphSketch &s, const char *op, int x,
                    const Routing &routing, int64_t expert, int64_t width) {
  return s.add(op, {x, routing.value},
               expert < 0 ? "" : fmt::format("expert = {} : i64", expert),
               rowsType(routing, expert, width, s.type(x).element));
}

static int combine(GraphSketch &s, const Routing &routing,
                   const std::vector<int> &rows) {
  std::vector<int> operands{routing.value};
  operands.insert(operands.end(), rows.begin(), rows.end());
  ValueType result;
  result.element = s.type(rows.front()).element;
  result.shape = {s.tokens, s.type(rows.front()).back()};
  return s.add("combine", operands, "", result);
}

/// One branch per expert, as a model's author writes it.
static void addBranches(GraphSketch &s, const Routing &routing, int x) {
  const int64_t d = s.type(x).back().size;
  Lanes lanes{s, std::vector<int>(routing.experts)};
  if (s.random.percent(20))
    lanes.odd = s.random.below(routing.experts);
  lanes.apply([&](int, int64_t lane) {
    return dispatch(s, "dispatch", x, routing, lane, d);
  });
  const std::vector<int> dispatched = lanes.values;
  for (int64_t left = s.random.below(4) + 1; left > 0; --left)
    switch (s.random.below(7)) {
    case 0:
      applyUnary(lanes);
      break;
    case 1:
      applyRow(lanes);
      break;
    case 2:
      applyCast(lanes);
      break;
    case 3:
      applyGatedUnit(lanes);
      break;
    case 4: { // The routing weight, of the type of the rows.
      const int weights = s.cast(routing.weights, lanes.type().element);
      const int used =
          s.type(weights).element == s.type(routing.weights).element
              ? routing.weights
              : weights;
      lanes.apply([&](int value, int64_t lane) {
        return s.binary("mul", value,
                        dispatch(s, "dispatch_slot", used, routing, lane, 1));
      });
      break;
    }
    case 5: // A residual inside the branch.
      if (lanes.type().back().size == d &&
          lanes.type().element == s.type(x).element) {
        lanes.apply([&](int value, int64_t lane) {
          return s.binary("add", value, dispatched[lane]);
        });
        break;
      }
      [[fallthrough]];
    default:
      applyMatmul(lanes, s.random.percent(40) ? d : s.width());
    }
  const int y = s.offer(combine(s, routing, lanes.values));
  if (s.random.percent(10)) // The rows are needed twice.
    s.offer(s.random.percent(50) ? combine(s, routing, lanes.values)
                                 : combine(s, routing, dispatched));
  if (s.random.percent(40) && s.type(y).element == s.type(x).element &&
      s.type(y).shape == s.type(x).shape)
    s.offer(s.binary("add", x, y));
}

/// All experts' rows in one value.
static void addGroupedRows(GraphSketch &s, const Routing &routing, int x) {
  const DataType element = s.type(x).element;
  const int64_t n = s.width(), d = s.type(x).back().size;
  int rows = dispatch(s, "dispatch", x, routing, -1, d);
  auto product = [&](int a, int weight, int64_t columns) {
    ValueType type = s.type(a);
    type.shape.back() = {columns, ""};
    return s.add("expert_matmul", {a, weight}, "", type);
  };
  const int weight = s.parameter({routing.experts, 2 * n, d}, element);
  if (s.random.percent(60)) {
    const int gate = product(rows, s.slice(weight, 1, 0, n), n);
    const int up = product(rows, s.slice(weight, 1, n, std::nullopt), n);
    rows = s.binary("mul", s.unary("silu", gate), up);
  } else {
    rows = product(rows, weight, 2 * n);
  }
  if (s.random.percent(50))
    rows = s.binary(
        "add", rows,
        s.parameter({routing.experts, 1, s.type(rows).back().size}, element));
  if (s.random.percent(40))
    rows = s.matmul(rows, d);
  if (s.random.percent(50))
    rows = s.binary("mul", rows,
                    dispatch(s, "dispatch_slot",
                             s.cast(routing.weights, s.type(rows).element),
                             routing, -1, 1));
  s.offer(combine(s, routing, {rows}));
}

void addRoutedExperts(GraphSketch &s) {
  const bool isNaive = s.random.percent(70);
  const Routing routing = makeRouting(s, isNaive ? s.random.of({1, 2, 3, 4, 7})
                                                 : s.random.of({2, 5, 17, 40}));
  auto rows = s.pick([&](const ValueType &type) {
    return type.isTensor() && isFloat(type.element) && type.rank() == 2 &&
           type.shape.front() == s.tokens && !type.back().isDynamic();
  });
  const int x = rows ? *rows : s.offer(s.input({s.tokens, {s.width(), ""}}));
  if (isNaive)
    addBranches(s, routing, x);
  else
    addGroupedRows(s, routing, x);
}

} // namespace epifold::exact
