// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reduction trees against hand-computed cases and a recursive second
// implementation.

#include "ir/numerics/Reduce.h"
#include "ir/numerics/KernelTable.h"

#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <span>
#include <vector>

using namespace epifold::numerics;

namespace {

/// The contract, top down: the last bit of the order splits a leaf in two
/// halves, each reduced by the earlier bits. element(row, column) gives the
/// leaf's values, or nothing outside it.
template <typename Value, typename Element, typename Merge>
std::optional<Value>
reduceRecursively(std::span<const std::pair<char, int>> order, size_t remaining,
                  size_t row, size_t column, Element element, Merge merge) {
  if (remaining == 0)
    return element(row, column);
  auto [axis, bit] = order[remaining - 1];
  size_t step = size_t(1) << bit;
  auto low = reduceRecursively<Value>(order, remaining - 1, row, column,
                                      element, merge);
  auto high = reduceRecursively<Value>(
      order, remaining - 1, row + (axis == 'r' ? step : 0),
      column + (axis == 'c' ? step : 0), element, merge);
  return low && high ? merge(*low, *high) : low;
}

/// Adjacent pairs, level by level, written as loops over a list.
template <typename Value, typename Merge>
Value reducePairs(std::vector<Value> values, Merge merge) {
  while (values.size() > 1) {
    std::vector<Value> next;
    for (size_t i = 0; i < values.size(); i += 2)
      next.push_back(i + 1 < values.size() ? merge(values[i], values[i + 1])
                                           : values[i]);
    values = next;
  }
  return values[0];
}

constexpr std::pair<char, int> rowOrder[] = {{'c', 0}, {'c', 3}, {'c', 4},
                                             {'c', 5}, {'c', 1}, {'c', 2}};
constexpr std::pair<char, int> tileOrder[] = {
    {'c', 0}, {'c', 3}, {'c', 4}, {'c', 5}, {'r', 3}, {'c', 1},
    {'c', 2}, {'r', 0}, {'r', 1}, {'r', 2}, {'r', 4}, {'r', 5}};

template <typename T>
T naiveRowSum(const std::vector<T> &row) {
  auto add = [](T a, T b) { return a + b; };
  std::vector<T> leaves;
  for (size_t begin = 0; begin < row.size(); begin += 64)
    leaves.push_back(*reduceRecursively<T>(
        rowOrder, 6, 0, 0,
        [&](size_t, size_t column) {
          return begin + column < row.size()
                     ? std::optional<T>(row[begin + column])
                     : std::nullopt;
        },
        add));
  return reducePairs(leaves, add);
}

template <typename T>
Moments<T> naiveMerge(const Moments<T> &a, const Moments<T> &b) {
  T n = a.count + b.count, d = b.mean - a.mean;
  T square = d * d, product = a.count * b.count, sum = a.m2 + b.m2;
  return {n, std::fma(d, b.count / n, a.mean),
          std::fma(square, product / n, sum)};
}

template <typename T>
Moments<T> naiveMoments(const std::vector<T> &x, size_t rows, size_t columns) {
  std::vector<Moments<T>> leafRows;
  for (size_t i = 0; i < rows; i += 64) {
    std::vector<Moments<T>> leaves;
    for (size_t j = 0; j < columns; j += 64)
      leaves.push_back(*reduceRecursively<Moments<T>>(
          tileOrder, 12, i, j,
          [&](size_t row, size_t column) {
            return row < rows && column < columns
                       ? std::optional(
                             Moments<T>{1, x[row * columns + column], 0})
                       : std::nullopt;
          },
          naiveMerge<T>));
    leafRows.push_back(reducePairs(leaves, naiveMerge<T>));
  }
  return reducePairs(leafRows, naiveMerge<T>);
}

template <typename T>
std::vector<T> randomValues(size_t count) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::normal_distribution<T> normal(1, 3);
  std::vector<T> values(count);
  for (T &value : values)
    value = normal(random);
  return values;
}

template <typename T>
class ReduceTest : public testing::Test {};
using Widths = testing::Types<float, double>;
TYPED_TEST_SUITE(ReduceTest, Widths);

TYPED_TEST(ReduceTest, RowSumsEqualTheRecursiveTree) {
  for (size_t count : {1, 2, 3, 9, 45, 63, 64, 65, 130, 192, 449, 1536, 6208}) {
    auto row = randomValues<TypeParam>(count);
    EXPECT_EQ(rowSum(std::span<const TypeParam>(row)), naiveRowSum(row))
        << count;
  }
  EXPECT_EQ(rowSum(std::span<const TypeParam>()), 0);
}

TYPED_TEST(ReduceTest, MomentsEqualTheRecursiveTree) {
  for (auto [rows, columns] : {std::pair<size_t, size_t>{1, 1},
                               {1, 45},
                               {1, 64},
                               {1, 65},
                               {1, 130},
                               {3, 5},
                               {45, 8},
                               {64, 64},
                               {65, 66},
                               {130, 70},
                               {200, 320}}) {
    auto x = randomValues<TypeParam>(rows * columns);
    auto moments = sampleMoments(x.data(), rows, columns, columns);
    auto expected = naiveMoments(x, rows, columns);
    EXPECT_EQ(moments.count, static_cast<TypeParam>(rows * columns));
    EXPECT_EQ(moments.mean, expected.mean) << rows << "x" << columns;
    EXPECT_EQ(moments.m2, expected.m2) << rows << "x" << columns;
  }
}

TYPED_TEST(ReduceTest, InstructionSetsAgree) {
  auto x = randomValues<TypeParam>(64 * 70);
  for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (const KernelTable *table = kernelTableFor(isa)) {
      Moments<TypeParam> moments;
      if constexpr (std::is_same_v<TypeParam, float>)
        table->leafMomentsFloat(x.data(), 61, 62, 70, &moments);
      else
        table->leafMomentsDouble(x.data(), 61, 62, 70, &moments);
      auto chosen = leafMoments(x.data(), 61, 62, 70);
      EXPECT_EQ(moments.mean, chosen.mean);
      EXPECT_EQ(moments.m2, chosen.m2);
    }
}

TEST(LeafSum, MergesPositionBitsInTheStatedOrder) {
  // Each value vanishes beside 2^24 and the rounding shows who met whom. Bit 0
  // first: 1 + 1 = 2 before 2^24 is met.
  std::vector<float> row(64, 0);
  row[2] = 1, row[3] = 1, row[0] = 0x1p24f;
  EXPECT_EQ(leafSum(row), 0x1p24f + 2);
  // Bits 1 and 2 come last: positions 2 and 4 meet 2^24 one after the other and
  // both vanish (ties to even).
  row[3] = 0, row[4] = 1;
  EXPECT_EQ(leafSum(row), 0x1p24f);
  // Bits 3, 4 and 5 come before them: 2 + 34 is summed first.
  row[4] = 0, row[34] = 1;
  EXPECT_EQ(leafSum(row), 0x1p24f + 2);
  // But bit 5 of position 0 itself is merged before bit 1.
  row[34] = 0, row[32] = 1;
  EXPECT_EQ(leafSum(row), 0x1p24f);
}

TEST(LeafSum, MissingPartnersChangeNothing) {
  // A padded zero would turn -0 into +0.
  std::vector<float> row = {-0.0f};
  EXPECT_TRUE(std::signbit(leafSum(row)));
  EXPECT_TRUE(std::signbit(rowSum(std::vector<float>(45, -0.0f))));
}

TEST(RowSum, OddLeavesPassThrough) {
  // Leaves 2^24, 1, 1: (2^24 + 1) + 1 = 2^24, while 2^24 + (1 + 1) would be
  // 2^24 + 2.
  std::vector<float> row(129, 0);
  row[0] = 0x1p24f, row[64] = 1, row[128] = 1;
  EXPECT_EQ(rowSum(row), 0x1p24f);
  // A fourth leaf pairs with the third.
  row.resize(193, 0);
  row[192] = 0, row[128] = 2;
  EXPECT_EQ(rowSum(row), 0x1p24f + 2);
}

TEST(Moments, HandComputed) {
  // Columns 1, 3 and 6: {1,3} has mean 2, m2 2; with 6: delta 4, mean 2 + 4/3,
  // m2 2 + 16 * (2/3).
  const float row[] = {1, 3, 6};
  Moments<float> moments = sampleMoments(row, 1, 3, 3);
  EXPECT_EQ(moments.count, 3);
  EXPECT_EQ(moments.mean, std::fma(4.0f, 1.0f / 3.0f, 2.0f));
  EXPECT_EQ(moments.m2, std::fma(16.0f, 2.0f / 3.0f, 2.0f));
  EXPECT_EQ(reciprocalDeviation(Moments<float>{4, 0, 1}, 0.0f), 2.0f);
}

TEST(Moments, RowStrideSkipsWhatIsBetween) {
  const float padded[] = {1, 2, 99, 3, 4, 99};
  const float dense[] = {1, 2, 3, 4};
  Moments<float> a = sampleMoments(padded, 2, 2, 3),
                 b = sampleMoments(dense, 2, 2, 2);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.m2, b.m2);
  EXPECT_EQ(a.mean, 2.5f);
  EXPECT_EQ(a.m2, 5.0f);
}

} // namespace
