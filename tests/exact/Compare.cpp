// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element-by-element comparison, with the bits read as the tensor's type.

#include "tests/exact/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace epifold::exact {

using runtime::HostTensor;
using runtime::Shape;
using runtime::TensorMap;

namespace {

/// Compares `count` elements that start at element `expectedAt` and `actualAt`.
void compareRun(const std::string &name, const HostTensor &expected,
                int64_t expectedAt, const HostTensor &actual, int64_t actualAt,
                int64_t count, Comparison &comparison) {
  const size_t size = byteSize(expected.type());
  const std::byte *a = expected.data() + expectedAt * size;
  const std::byte *b = actual.data() + actualAt * size;
  comparison.elements += count;
  if (std::memcmp(a, b, count * size) == 0)
    return;
  for (int64_t i = 0; i < count; ++i) {
    if (std::memcmp(a + i * size, b + i * size, size) == 0)
      continue;
    const double x = elementAsDouble(expected, expectedAt + i);
    const double y = elementAsDouble(actual, actualAt + i);
    if (std::isnan(x) && std::isnan(y))
      continue;
    ++comparison.different;
    double difference = std::abs(x - y);
    if (std::isnan(difference))
      difference = std::numeric_limits<double>::infinity();
    if (comparison.worst.empty() || difference > comparison.maxDifference) {
      comparison.maxDifference = difference;
      comparison.worst = name + "[" + std::to_string(expectedAt + i) + "]";
    }
  }
}

Error misfit(const std::string &name, const HostTensor &expected,
             const HostTensor &actual) {
  return Error(
      ErrorCode::InvalidArgument,
      "'" + name + "' is " + runtime::describe(actual.type(), actual.shape()) +
          " where " + runtime::describe(expected.type(), expected.shape()) +
          " is compared with it");
}

/// The one dimension in which `expected` may be shorter; the rank when the
/// shapes are equal; nothing when they differ otherwise.
std::optional<size_t> shorterDimension(const Shape &expected,
                                       const Shape &actual) {
  if (expected.size() != actual.size())
    return std::nullopt;
  size_t found = expected.size();
  for (size_t d = 0; d < expected.size(); ++d) {
    if (expected[d] == actual[d])
      continue;
    if (found != expected.size() || expected[d] > actual[d])
      return std::nullopt;
    found = d;
  }
  return found;
}

Expected<Comparison> compareAll(const TensorMap &expected,
                                const TensorMap &actual, bool prefix) {
  Comparison comparison;
  for (const auto &[name, a] : expected) {
    auto found = actual.find(name);
    if (found == actual.end())
      return Error(ErrorCode::NotFound, "result '" + name + "' is absent");
    const HostTensor &b = found->second;
    auto dimension = shorterDimension(a.shape(), b.shape());
    if (a.type() != b.type() || !dimension ||
        (!prefix && *dimension != a.shape().size()))
      return misfit(name, a, b);

    if (*dimension == a.shape().size()) {
      if (prefix)
        continue;
      ++comparison.tensors;
      compareRun(name, a, 0, b, 0, a.elements(), comparison);
      continue;
    }
    ++comparison.tensors;
    int64_t outer = 1, inner = 1;
    for (size_t d = 0; d < a.shape().size(); ++d)
      (d < *dimension ? outer : inner) *= a.shape()[d];
    const int64_t stride =
        a.elements() == 0 ? 0 : b.elements() / std::max<int64_t>(outer, 1);
    for (int64_t o = 0; o < outer; ++o)
      compareRun(name, a, o * inner, b, o * stride, inner, comparison);
  }
  return comparison;
}

} // namespace

Expected<Comparison> compare(const TensorMap &expected,
                             const TensorMap &actual) {
  return compareAll(expected, actual, /*prefix=*/false);
}

Expected<Comparison> comparePrefix(const TensorMap &expected,
                                   const TensorMap &actual) {
  return compareAll(expected, actual, /*prefix=*/true);
}

} // namespace epifold::exact
