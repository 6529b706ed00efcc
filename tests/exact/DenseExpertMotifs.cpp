// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Branches that all rows go through, and branches that only almost are a
// family.

#include "tests/exact/Lanes.h"

#include <algorithm>

namespace epifold::exact {

/// What only dense lanes take.
static void applyDenseStep(Lanes &lanes) {
  GraphSketch &s = lanes.s;
  const ValueType type = lanes.type();
  const int64_t d = type.back().size;
  switch (s.random.below(6)) {
  case 0:
    return lanes.apply(
        [&](int x, int64_t) { return s.add("softmax", {x}, "", type); });
  case 1: {
    const int scale = s.parameter({d}, type.element);
    return lanes.apply([&](int x, int64_t) {
      return s.add("rms_norm", {x, scale}, "", type);
    });
  }
  case 2: {
    const int scales = s.parameter({lanes.count(), d}, type.element);
    const int bias = s.parameter({d}, type.element);
    return lanes.apply([&](int x, int64_t lane) {
      return s.add("layer_norm", {x, s.select(scales, 0, lane), bias}, "",
                   type);
    });
  }
  case 3: { // A dense gate: column e of [rows, E].
    std::vector<Dim> shape = type.shape;
    shape.back() = {lanes.count(), ""};
    const int gates = s.input(shape, type.element);
    const auto last = static_cast<int64_t>(type.rank()) - 1;
    return lanes.apply([&](int x, int64_t lane) {
      return s.binary("mul", x, s.slice(gates, last, lane, lane + 1));
    });
  }
  case 4: {
    if (d % 2 != 0 || !type.canBeReshaped())
      return;
    std::vector<Dim> shape = type.shape;
    shape.back() = {d / 2, ""};
    shape.insert(shape.end() - 1, {2, ""});
    return lanes.apply([&](int x, int64_t) { return s.reshape(x, shape); });
  }
  default: {
    std::vector<int64_t> permutation;
    for (size_t i = 0; i < type.rank(); ++i)
      permutation.push_back(static_cast<int64_t>(i));
    std::swap(permutation[0], permutation[type.rank() - 2]);
    return lanes.apply(
        [&](int x, int64_t) { return s.transpose(x, permutation); });
  }
  }
}

/// Ends dense branches: stacked, summed, side by side, or left alone.
static void endDenseLanes(Lanes &lanes) {
  GraphSketch &s = lanes.s;
  if (s.random.percent(25)) // One expert's value is needed besides.
    s.offer(s.random.of(lanes.values));
  switch (s.random.below(5)) {
  case 0:
    s.offer(s.stack(lanes.values));
    break;
  case 1:
    s.offer(
        s.concat(lanes.values, static_cast<int64_t>(lanes.type().rank()) - 1));
    break;
  case 2:
    for (int value : lanes.values)
      s.offer(value);
    break;
  default: {
    if (lanes.type().element != DataType::F64 && s.random.percent(80))
      lanes.apply([&](int x, int64_t) { return s.cast(x, DataType::F32); });
    std::vector<int> order = lanes.values;
    if (s.random.percent(20)) // Not ascending.
      std::swap(order.front(), order.back());
    int sum = order.front();
    for (size_t i = 1; i < order.size(); ++i) {
      sum = s.random.percent(85) ? s.binary("add", sum, order[i])
                                 : s.binary("add", order[i], sum);
      if (s.random.percent(5))
        s.offer(sum);
    }
    s.offer(sum);
  }
  }
}

/// All experts in one op, as folding makes it and as authors may write it.
static void addExpertOp(GraphSketch &s) {
  const int x = s.pickRows(2);
  const ValueType type = s.type(x);
  const int64_t experts = 2 + s.random.below(4), n = s.width(),
                k = type.back().size;
  const ValueType result =
      type.withShape({{experts, ""}, type.shape.front(), {n, ""}});
  int y;
  if (s.random.percent(40)) {
    const int weight =
        s.parameter({experts, n, k, 1 + s.random.below(3)}, type.element);
    y = s.add("expert_causal_conv1d", {x, weight}, "dilation = 2 : i64",
              result);
  } else {
    const int weight = s.parameter({experts, n, k}, type.element);
    y = s.add("expert_matmul", {x, weight}, "", result);
  }
  y = s.binary("add", y, s.parameter({experts, 1, n}, type.element));
  const Unary unary = randomUnary(s.random);
  s.offer(s.unary(unary.op, y, unary.attributes));
}

void addDenseExperts(GraphSketch &s) {
  if (s.random.percent(20))
    return addExpertOp(s);
  const int64_t experts = 2 + s.random.below(4);
  const int x = s.pickRows(s.random.percent(75) ? 2 : 3);
  Lanes lanes{s, std::vector<int>(experts, x)};
  if (s.random.percent(25))
    lanes.odd = s.random.below(experts);
  if (s.random.percent(20)) {
    // Each expert has an input of its own.
    std::vector<Dim> shape = s.type(x).shape;
    shape.insert(shape.begin(), {experts, ""});
    const int all = s.input(shape, s.type(x).element);
    lanes.apply([&](int, int64_t lane) { return s.select(all, 0, lane); });
  }
  if (s.random.percent(25) && s.type(x).rank() <= 3) {
    const int64_t k = s.type(x).back().size, n = s.width();
    const int all =
        s.parameter({experts, n, k, 2}, s.type(lanes.values[0]).element);
    ValueType result = lanes.type();
    result.shape.back() = {n, ""};
    lanes.apply([&](int value, int64_t lane) {
      return s.add("causal_conv1d", {value, s.select(all, 0, lane)},
                   lane == lanes.odd ? "dilation = 2 : i64"
                                     : "dilation = 1 : i64",
                   result);
    });
  } else if (s.random.percent(25)) {
    applyGatedUnit(lanes);
  } else {
    applyMatmul(lanes, s.width());
  }
  for (int64_t left = s.random.below(4); left > 0; --left)
    switch (s.random.below(6)) {
    case 0:
    case 1:
      applyUnary(lanes);
      break;
    case 2:
    case 3:
      applyRow(lanes);
      break;
    case 4:
      applyCast(lanes);
      break;
    default:
      applyDenseStep(lanes);
    }
  endDenseLanes(lanes);
}

} // namespace epifold::exact
