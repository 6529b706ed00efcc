// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All instruction sets' elementwise loops give the scalar builder's bits.

#include "ir/numerics/ArrayMath.h"
#include "ir/numerics/HostScalar.h"
#include "ir/numerics/KernelTable.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace epifold::numerics;

namespace {

template <typename T>
using Bits = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;

/// The bits, all NaNs being one: their payloads are not part of the contract.
template <typename T>
Bits<T> bitsOf(T x) {
  return std::isnan(x) ? ~Bits<T>(0) : std::bit_cast<Bits<T>>(x);
}

/// Numbers of every magnitude and kind, a count that is no multiple of any
/// vector.
template <typename T>
std::vector<T> numbers(unsigned seed = 7) {
  std::mt19937_64 random(seed);
  std::vector<T> xs = {T(0),     T(-0.0),   T(INFINITY), T(-INFINITY), T(NAN),
                       T(1e-40), T(-1e-40), T(1e30),     T(-1e30)};
  std::normal_distribution<T> normal(0, 4);
  while (xs.size() < 4000)
    xs.push_back(normal(random));
  while (xs.size() < 8003) // Any bit pattern.
    xs.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
  return xs;
}

class IsaTest : public testing::TestWithParam<Isa> {
protected:
  void SetUp() override {
    table = kernelTableFor(GetParam());
    if (!table)
      GTEST_SKIP() << "this processor lacks the instruction set";
  }

  template <typename T>
  void expectScalarBits(UnaryFunction function, Accuracy accuracy,
                        KernelTable::Unary<T> loop) {
    std::vector<T> in = numbers<T>(), out(in.size());
    loop(in.data(), out.data(), in.size());
    HostScalar<T> builder;
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(bitsOf(out[i]),
                bitsOf(applyUnary(builder, function, in[i], accuracy)))
          << "function " << static_cast<int>(function) << ", accuracy "
          << static_cast<int>(accuracy) << ", x " << in[i];
    loop(in.data(), in.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(bitsOf(in[i]), bitsOf(out[i])) << "in place";
  }

  const KernelTable *table = nullptr;
};

TEST_P(IsaTest, UnaryLoopsGiveTheScalarBits) {
  for (unsigned f = 0; f < numUnaryFunctions; ++f) {
    for (unsigned a = 0; a < 3; ++a)
      expectScalarBits<float>(UnaryFunction(f), Accuracy(a),
                              table->unaryFloat[f][a]);
    expectScalarBits<double>(UnaryFunction(f), Accuracy::F64,
                             table->unaryDouble[f]);
  }
}

TEST_P(IsaTest, FusedMultiplyAddRoundsOnce) {
  std::vector<double> a = numbers<double>(), b(a.rbegin(), a.rend()),
                      c(a.size(), 0x1p-60), out(a.size());
  table->fmaDouble(a.data(), b.data(), c.data(), out.data(), a.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(bitsOf(out[i]), bitsOf(std::fma(a[i], b[i], c[i])));
  // (1 + e)(1 - e) - 1 = -e^2 exactly; two roundings would give 0.
  float x = 1 + 0x1p-12f, y = 1 - 0x1p-12f, z = -1, result;
  table->fmaFloat(&x, &y, &z, &result, 1);
  EXPECT_EQ(result, -0x1p-24f);
}

INSTANTIATE_TEST_SUITE_P(All, IsaTest,
                         testing::Values(Isa::Generic, Isa::Avx2, Isa::Avx512));

TEST(ArrayMath, ChosenTableIsTheBestSupported) {
  const KernelTable *best = kernelTableFor(Isa::Generic);
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    if (const KernelTable *table = kernelTableFor(isa))
      best = table;
  EXPECT_EQ(&kernelTable(), best);
}

TEST(ArrayMath, SingleElementsEqualArrays) {
  float x = 0.7f, y;
  applyUnary(UnaryFunction::Silu, Accuracy::F32, std::span<const float>(&x, 1),
             std::span(&y, 1));
  EXPECT_EQ(applyUnary(UnaryFunction::Silu, Accuracy::F32, x), y);
  EXPECT_EQ(fusedMultiplyAdd(1 + 0x1p-30, 1 - 0x1p-30, -1.0), -0x1p-60);
  EXPECT_EQ(fusedMultiplyAdd(3.0f, 4.0f, 5.0f), 17.0f);
}

} // namespace
