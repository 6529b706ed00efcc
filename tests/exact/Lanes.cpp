// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Steps that branches of experts take.

#include "tests/exact/Lanes.h"

namespace epifold::exact {

void applyUnary(Lanes &lanes) {
  const Unary unary = randomUnary(lanes.s.random);
  // The odd lane's op may be the same with another attribute.
  const Unary other =
      lanes.s.random.percent(50)
          ? Unary{unary.op, unary.op == "gelu" ? "approximate = 1 : i32"
                                               : unary.attributes}
          : randomUnary(lanes.s.random);
  lanes.apply([&](int x, int64_t lane) {
    const Unary &mine = lane == lanes.odd ? other : unary;
    return lanes.s.unary(mine.op, x, mine.attributes);
  });
}

void applyRow(Lanes &lanes) {
  GraphSketch &s = lanes.s;
  const ValueType type = lanes.type();
  const int64_t n = type.back().size;
  const std::string op = randomBinary(s.random);
  const bool isShared = s.random.percent(25), keepsDim = s.random.percent(30);
  const int all = isShared ? s.parameter({n}, type.element)
                           : s.parameter({lanes.count(), n}, type.element);
  const bool flips = s.random.percent(30);
  lanes.apply([&](int x, int64_t lane) {
    const int row = isShared   ? all
                    : keepsDim ? s.slice(all, 0, lane, lane + 1)
                               : s.select(all, 0, lane);
    return (lane == lanes.odd) != flips ? s.binary(op, row, x)
                                        : s.binary(op, x, row);
  });
}

void applyMatmul(Lanes &lanes, int64_t n) {
  GraphSketch &s = lanes.s;
  const ValueType type = lanes.type();
  const int64_t k = type.back().size;
  const bool isShared = s.random.percent(15);
  const int all = isShared ? s.parameter({n, k}, type.element)
                           : s.parameter({lanes.count(), n, k}, type.element);
  const DataType element = type.element != DataType::F64 && s.random.percent(30)
                               ? DataType::F32
                               : type.element;
  ValueType result = type.withElement(element);
  result.shape.back() = {n, ""};
  lanes.apply([&](int x, int64_t lane) {
    const int64_t expert =
        lane == lanes.odd ? (lane + 1) % lanes.count() : lane;
    const int weight = isShared ? all : s.select(all, 0, expert);
    ValueType mine = s.type(x).withElement(element);
    mine.shape.back() = {n, ""};
    return s.add("matmul", {x, weight}, "", mine);
  });
}

void applyGatedUnit(Lanes &lanes) {
  GraphSketch &s = lanes.s;
  const ValueType type = lanes.type();
  const int64_t n = s.width(), k = type.back().size;
  const int all = s.parameter({lanes.count(), 2 * n, k}, type.element);
  lanes.apply([&](int x, int64_t lane) {
    ValueType half = s.type(x);
    half.shape.back() = {n, ""};
    const int weight = s.select(all, 0, lane);
    const int gate = s.add("matmul", {x, s.slice(weight, 0, 0, n)}, "", half);
    const int up =
        s.add("matmul", {x, s.slice(weight, 0, n, std::nullopt)}, "", half);
    const int gated = s.unary(lane == lanes.odd ? "gelu" : "silu", gate);
    return s.binary("mul", gated, up);
  });
}

void applyCast(Lanes &lanes) {
  const DataType to = lanes.s.random.of({DataType::F32, lanes.s.element});
  if (lanes.type().element != to)
    lanes.apply([&](int x, int64_t) { return lanes.s.cast(x, to); });
}

} // namespace epifold::exact
