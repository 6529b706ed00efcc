// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Draws a block of numbers by hashing their places, and tiles it.

#include "RandomTensor.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numbers>
#include <thread>
#include <vector>

namespace epifold::tools {
namespace {

using runtime::HostTensor;

constexpr int64_t kPeriod = (int64_t(1) << 24) - 1;

/// Elements that one piece of work draws; even, since normals come in pairs.
constexpr int64_t kPiece = int64_t(1) << 16;

/// Calls `work(i)` once for each i below `count`, on all cores.
template <typename Work>
void parallelFor(int64_t count, Work work) {
  std::atomic<int64_t> next = 0;
  auto drain = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < count;)
      work(i);
  };
  int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (int64_t i = 1; i < std::min(cores, count); ++i)
    helpers.emplace_back(drain);
  drain();
}

/// The SplitMix64 generator's output number `index` after `seed`.
uint64_t hash(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Fills [begin, end) with normal numbers by the Box-Muller transform; `begin`
/// is even.
void drawNormals(float *values, int64_t begin, int64_t end,
                 const Distribution &distribution, uint64_t seed) {
  for (int64_t i = begin; i < end; i += 2) {
    uint64_t bits = hash(seed, static_cast<uint64_t>(i / 2));
    // In (0, 1]: the logarithm stays finite.
    float u = (static_cast<float>(bits >> 40) + 1) * 0x1p-24f;
    float v = static_cast<float>(bits & 0xFFFFFF) * 0x1p-24f;
    float radius = static_cast<float>(distribution.deviation) *
                   std::sqrt(-2 * std::log(u));
    float angle = 2 * std::numbers::pi_v<float> * v;
    auto mean = static_cast<float>(distribution.mean);
    values[i] = mean + radius * std::cos(angle);
    if (i + 1 < end)
      values[i + 1] = mean + radius * std::sin(angle);
  }
}

void drawIntegers(int64_t *values, int64_t begin, int64_t end, int64_t limit,
                  uint64_t seed) {
  for (int64_t i = begin; i < end; ++i)
    values[i] = static_cast<int64_t>(hash(seed, static_cast<uint64_t>(i)) %
                                     static_cast<uint64_t>(limit));
}

Expected<HostTensor> drawBlock(DataType type, int64_t elements,
                               const Distribution &distribution,
                               uint64_t seed) {
  bool floats = isFloat(type);
  int64_t limit = type == DataType::I1 ? 2 : distribution.limit;
  Expected<HostTensor> drawn =
      HostTensor::allocate(floats ? DataType::F32 : DataType::I64, {elements});
  if (!drawn)
    return drawn;
  std::byte *data = drawn->mutableData();
  parallelFor((elements + kPiece - 1) / kPiece, [&](int64_t piece) {
    int64_t begin = piece * kPiece, end = std::min(begin + kPiece, elements);
    if (floats)
      drawNormals(reinterpret_cast<float *>(data), begin, end, distribution,
                  seed);
    else
      drawIntegers(reinterpret_cast<int64_t *>(data), begin, end, limit, seed);
  });
  return runtime::castTensor(*drawn, type);
}

} // namespace

Expected<HostTensor> randomTensor(DataType type, runtime::Shape shape,
                                  const Distribution &distribution,
                                  uint64_t seed) {
  Expected<HostTensor> tensor = HostTensor::allocate(type, std::move(shape));
  if (!tensor)
    return tensor;
  Expected<HostTensor> block = drawBlock(
      type, std::min(tensor->elements(), kPeriod), distribution, seed);
  if (!block || block->bytes() == 0)
    return block ? std::move(tensor) : std::move(block);
  size_t period = block->bytes(), bytes = tensor->bytes();
  parallelFor(static_cast<int64_t>((bytes + period - 1) / period),
              [&](int64_t tile) {
                size_t at = static_cast<size_t>(tile) * period;
                std::memcpy(tensor->mutableData() + at, block->data(),
                            std::min(period, bytes - at));
              });
  return tensor;
}

} // namespace epifold::tools
