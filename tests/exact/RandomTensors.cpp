// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Counter-based random tensors, in integer arithmetic up to one last product.

#include "tests/exact/RandomTensors.h"

#include <string>

namespace epifold::exact {

using runtime::HostTensor;

namespace {

/// Mixes all bits of `x` into all bits of the result (a bijection).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 29)) * 0xa0761d6478bd642fu;
  return x ^ (x >> 32);
}

uint64_t keyOf(std::string_view name, uint64_t seed) {
  uint64_t key = mix(seed + 0x9e3779b97f4a7c15u);
  for (unsigned char c : name)
    key = mix(key ^ c);
  return key;
}

/// A sum of four uniform numbers, scaled to variance 1: bounded by ±3.5 and
/// exact before the last multiplication.
double nearlyNormal(uint64_t bits) {
  int64_t sum = 0;
  for (int part = 0; part < 4; ++part)
    sum += static_cast<int64_t>((bits >> (16 * part)) & 0xffff);
  constexpr double perStep = 1.7320508075688772 / 65536;
  return static_cast<double>(sum - 2 * 65535) * perStep;
}

} // namespace

Expected<HostTensor> randomTensor(std::string_view name, DataType type,
                                  const runtime::Shape &shape,
                                  const RandomSpec &spec) {
  const bool isInteger = type == DataType::I64 || type == DataType::I32;
  if (!isInteger && !isFloat(type))
    return Error(ErrorCode::Unsupported, "no random tensor of type " +
                                             std::string(epifold::name(type)));
  auto tensor =
      HostTensor::allocate(isInteger ? DataType::I64 : DataType::F64, shape);
  if (!tensor)
    return tensor.error();

  const uint64_t key = keyOf(name, spec.seed);
  const int64_t count = tensor->elements();
  if (isInteger) {
    auto *values = reinterpret_cast<int64_t *>(tensor->mutableData());
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<int64_t>(mix(key + static_cast<uint64_t>(i)) %
                                       static_cast<uint64_t>(spec.intBound));
  } else {
    auto *values = reinterpret_cast<double *>(tensor->mutableData());
    for (int64_t i = 0; i < count; ++i)
      values[i] =
          spec.mean +
          spec.scale * nearlyNormal(mix(key + static_cast<uint64_t>(i)));
  }
  return castTensor(*tensor, type);
}

} // namespace epifold::exact
