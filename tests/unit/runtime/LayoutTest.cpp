// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Packing of parameters against a plain loop, and back.

#include "ParameterLayout.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace epifold::runtime;

namespace {

/// Element by element, with index arithmetic and nothing else.
std::vector<uint8_t> packSlowly(const std::vector<uint8_t> &source,
                                size_t elementBytes,
                                const std::vector<int64_t> &shape,
                                const std::vector<uint32_t> &layout) {
  std::vector<uint8_t> target(source.size());
  int64_t count = static_cast<int64_t>(source.size() / elementBytes);
  for (int64_t from = 0; from < count; ++from) {
    std::vector<int64_t> index(shape.size());
    int64_t rest = from;
    for (size_t i = shape.size(); i-- > 0;) {
      index[i] = rest % shape[i];
      rest /= shape[i];
    }
    int64_t to = 0;
    for (uint32_t dimension : layout)
      to = to * shape[dimension] + index[dimension];
    std::memcpy(&target[to * elementBytes], &source[from * elementBytes],
                elementBytes);
  }
  return target;
}

void check(size_t elementBytes, const std::vector<int64_t> &shape,
           const std::vector<uint32_t> &layout, unsigned threads) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<uint8_t> source(static_cast<size_t>(count) * elementBytes);
  std::mt19937 random(count);
  for (uint8_t &byte : source)
    byte = static_cast<uint8_t>(random());
  std::vector<uint8_t> packed(source.size()), back(source.size());
  packParameter(reinterpret_cast<std::byte *>(source.data()),
                reinterpret_cast<std::byte *>(packed.data()), elementBytes,
                shape, layout, threads);
  EXPECT_EQ(packed, packSlowly(source, elementBytes, shape, layout));
  unpackParameter(reinterpret_cast<std::byte *>(packed.data()),
                  reinterpret_cast<std::byte *>(back.data()), elementBytes,
                  shape, layout, threads);
  EXPECT_EQ(back, source);
  if (layoutIsIdentity(shape, layout))
    EXPECT_EQ(packed, source);
}

TEST(Layout, EveryPermutationOfFourDimensions) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{3, 5, 2, 7}, {1, 40, 1, 33}, {2, 64, 65, 3}}) {
    std::vector<uint32_t> layout = {0, 1, 2, 3};
    do {
      for (size_t bytes : {1, 2, 4, 8})
        check(bytes, shape, layout, 2);
    } while (std::next_permutation(layout.begin(), layout.end()));
  }
}

TEST(Layout, SmallAndEmptyShapes) {
  check(4, {}, {}, 1);
  check(4, {1}, {0}, 1);
  check(2, {0, 5}, {1, 0}, 3);
  check(2, {1, 1, 1}, {2, 0, 1}, 3);
}

TEST(Layout, IdentityIgnoresDimensionsOfSizeOne) {
  EXPECT_TRUE(layoutIsIdentity(std::vector<int64_t>{2, 3}, {}));
  EXPECT_TRUE(layoutIsIdentity(std::vector<int64_t>{2, 1, 3},
                               std::vector<uint32_t>{1, 0, 2}));
  EXPECT_FALSE(layoutIsIdentity(std::vector<int64_t>{2, 3},
                                std::vector<uint32_t>{1, 0}));
}

} // namespace
