// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every output of the blocked product is one ascending chain of fused
// multiply-adds.

#include "ir/numerics/Product.h"
#include "ir/numerics/KernelTable.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace epifold::numerics;

namespace {

template <typename T>
std::vector<T> randomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<T> normal;
  std::vector<T> values(count);
  for (T &value : values)
    value = normal(random);
  return values;
}

template <typename T>
auto productOf(const KernelTable &table) {
  if constexpr (std::is_same_v<T, float>)
    return table.fmaProductFloat;
  else
    return table.fmaProductDouble;
}

template <typename T>
void chain(const ProductOperands<T, T> &o) {
  for (size_t i = 0; i < o.rows; ++i)
    for (size_t j = 0; j < o.columns; ++j)
      for (size_t k = 0; k < o.depth; ++k) {
        T &c = o.c[i * o.cStride + j];
        c = std::fma(o.a[i * o.aStride + k * o.aStep],
                     o.b[j * o.bStride + k * o.bStep], c);
      }
}

template <typename T>
class ProductTest : public testing::Test {};
using Widths = testing::Types<float, double>;
TYPED_TEST_SUITE(ProductTest, Widths);

TYPED_TEST(ProductTest, EqualsTheChain) {
  using T = TypeParam;
  for (auto [rows, columns, depth] : {std::array<size_t, 3>{1, 1, 1},
                                      {1, 31, 7},
                                      {6, 32, 16},
                                      {13, 70, 33},
                                      {7, 5, 1100},
                                      {3, 0, 4},
                                      {0, 3, 4},
                                      {2, 3, 0}}) {
    auto a = randomValues<T>(rows * depth, 1),
         b = randomValues<T>(columns * depth, 2);
    auto start = randomValues<T>(rows * columns, 3), expected = start;
    ProductOperands<T, T> operands{.a = a.data(),
                                   .b = b.data(),
                                   .c = expected.data(),
                                   .rows = rows,
                                   .columns = columns,
                                   .depth = depth,
                                   .aStride = depth,
                                   .bStride = depth,
                                   .cStride = columns};
    chain(operands);
    for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
      if (const KernelTable *table = kernelTableFor(isa)) {
        auto c = start;
        operands.c = c.data();
        productOf<T> (*table)(operands);
        EXPECT_EQ(c, expected) << rows << "x" << columns << "x" << depth
                               << ", instruction set " << static_cast<int>(isa);
      }
  }
}

TYPED_TEST(ProductTest, StridesAndSteps) {
  using T = TypeParam;
  // A transposed, B with taps innermost, C inside a wider matrix whose other
  // columns stay.
  constexpr size_t rows = 9, columns = 11, depth = 10;
  auto a = randomValues<T>(depth * rows, 1),
       b = randomValues<T>(columns * depth * 3, 2);
  std::vector<T> c(rows * 20, 7), expected = c;
  ProductOperands<T, T> operands{.a = a.data(),
                                 .b = b.data() + 1,
                                 .c = c.data() + 4,
                                 .rows = rows,
                                 .columns = columns,
                                 .depth = depth,
                                 .aStride = 1,
                                 .bStride = depth * 3,
                                 .cStride = 20,
                                 .aStep = rows,
                                 .bStep = 3};
  fmaProduct(operands);
  operands.c = expected.data() + 4;
  chain(operands);
  EXPECT_EQ(c, expected);
}

TYPED_TEST(ProductTest, SignedZerosAndNonFiniteValues) {
  using T = TypeParam;
  // -0 continues as -0 only when every product is -0: nothing is padded.
  const T a[] = {-1, INFINITY}, b[] = {0, 0};
  T c = T(-0.0);
  fmaProduct(ProductOperands<T, T>{.a = a,
                                   .b = b,
                                   .c = &c,
                                   .rows = 1,
                                   .columns = 1,
                                   .depth = 1,
                                   .aStride = 2,
                                   .bStride = 2,
                                   .cStride = 1});
  EXPECT_TRUE(c == 0 && std::signbit(c));
  fmaProduct(ProductOperands<T, T>{.a = a,
                                   .b = b,
                                   .c = &c,
                                   .rows = 1,
                                   .columns = 1,
                                   .depth = 2,
                                   .aStride = 2,
                                   .bStride = 2,
                                   .cStride = 1});
  EXPECT_TRUE(std::isnan(c));
}

} // namespace
