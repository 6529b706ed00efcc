// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Counter-based random tensors, in integer arithmetic up to one last product.

#include "tests/exact/RandomTensors.h"

#include "runtime/src/Parallel.h"
#include "tests/exact/Random.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

namespace epifold::exact {

using runtime::HostTensor;

namespace {

uint64_t keyOf(std::string_view name, uint64_t seed) {
  uint64_t key = mixBits(seed + 0x9e3779b97f4a7c15u);
  for (unsigned char c : name)
    key = mixBits(key ^ c);
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

/// Elements [begin, begin + count) as doubles or 64-bit integers.
void fillPart(HostTensor &part, int64_t begin, uint64_t key,
              const RandomSpec &spec) {
  const int64_t count = part.elements();
  auto bitsOf = [&](int64_t i) {
    return mixBits(key + static_cast<uint64_t>(begin + i));
  };
  if (part.type() == DataType::I64) {
    auto *values = reinterpret_cast<int64_t *>(part.mutableData());
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<int64_t>(bitsOf(i) %
                                       static_cast<uint64_t>(spec.intBound));
    return;
  }
  auto *values = reinterpret_cast<double *>(part.mutableData());
  for (int64_t i = 0; i < count; ++i)
    values[i] = spec.mean + spec.scale * nearlyNormal(bitsOf(i));
}

} // namespace

Expected<HostTensor> randomTensor(std::string_view name, DataType type,
                                  const runtime::Shape &shape,
                                  const RandomSpec &spec) {
  const bool isInteger = type == DataType::I64 || type == DataType::I32;
  if (!isInteger && !isFloat(type))
    return Error(ErrorCode::Unsupported, "no random tensor of type " +
                                             std::string(epifold::name(type)));
  auto tensor = HostTensor::allocate(type, shape);
  if (!tensor)
    return tensor.error();

  // In parts, so that a weight of gigabytes needs no second copy in f64.
  constexpr int64_t partSize = 1 << 16;
  const uint64_t key = keyOf(name, spec.seed);
  const int64_t count = tensor->elements();
  std::mutex mutex;
  std::optional<Error> failure;
  auto fill = [&](size_t index) -> Expected<void> {
    const int64_t begin = static_cast<int64_t>(index) * partSize;
    auto part = HostTensor::allocate(isInteger ? DataType::I64 : DataType::F64,
                                     {std::min(partSize, count - begin)});
    if (!part)
      return part.error();
    fillPart(*part, begin, key, spec);
    auto rounded = castTensor(*part, type);
    if (!rounded)
      return rounded.error();
    std::memcpy(tensor->mutableData() + begin * byteSize(type), rounded->data(),
                rounded->bytes());
    return {};
  };
  const auto parts = static_cast<size_t>((count + partSize - 1) / partSize);
  runtime::parallelFor(parts, 0, [&](size_t index) {
    if (auto done = fill(index); !done) {
      std::scoped_lock lock(mutex);
      failure = done.error();
    }
  });
  if (failure)
    return *failure;
  return tensor;
}

} // namespace epifold::exact
