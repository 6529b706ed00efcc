// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element-by-element comparison, with the bits read as the tensor's type.

#include "tests/exact/Compare.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace epifold::exact {

using runtime::HostTensor;
using runtime::TensorMap;

namespace {

void compareTensor(const std::string &name, const HostTensor &expected,
                   const HostTensor &actual, Comparison &comparison) {
  const size_t size = byteSize(expected.type());
  const std::byte *a = expected.data(), *b = actual.data();
  const int64_t count = expected.elements();
  comparison.elements += count;
  if (count == 0 || std::memcmp(a, b, expected.bytes()) == 0)
    return;
  for (int64_t i = 0; i < count; ++i) {
    if (std::memcmp(a + i * size, b + i * size, size) == 0)
      continue;
    const double x = elementAsDouble(expected, i);
    const double y = elementAsDouble(actual, i);
    if (std::isnan(x) && std::isnan(y))
      continue;
    ++comparison.different;
    double difference = std::abs(x - y);
    if (std::isnan(difference))
      difference = std::numeric_limits<double>::infinity();
    if (comparison.worst.empty() || difference > comparison.maxDifference) {
      comparison.maxDifference = difference;
      comparison.worst = name + "[" + std::to_string(i) + "]";
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

} // namespace

Expected<Comparison> compare(const TensorMap &expected,
                             const TensorMap &actual) {
  Comparison comparison;
  for (const auto &[name, a] : expected) {
    auto found = actual.find(name);
    if (found == actual.end())
      return Error(ErrorCode::NotFound, "result '" + name + "' is absent");
    const HostTensor &b = found->second;
    if (a.type() != b.type() || a.shape() != b.shape())
      return misfit(name, a, b);
    ++comparison.tensors;
    compareTensor(name, a, b, comparison);
  }
  return comparison;
}

} // namespace epifold::exact
