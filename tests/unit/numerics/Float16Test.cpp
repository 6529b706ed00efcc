// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The 16-bit types' conversions, over all 65536 values and at every rounding
// boundary.

#include "ir/numerics/Float16.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace epifold::numerics;

namespace {

/// The value by the definition: sign, exponent, fraction.
double decode(uint16_t bits, int fractionBits) {
  int exponentBits = 15 - fractionBits, bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits & 0x7FFF) >> fractionBits,
      fraction = bits & ((1 << fractionBits) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(fraction + (1 << fractionBits),
                           exponent - bias - fractionBits);
}

template <typename T>
class Float16Test : public testing::Test {};
struct BFloat16Case {
  using Type = BFloat16;
  static constexpr int fractionBits = 7;
};
struct Float16Case {
  using Type = Float16;
  static constexpr int fractionBits = 10;
};
using Float16Cases = testing::Types<BFloat16Case, Float16Case>;
TYPED_TEST_SUITE(Float16Test, Float16Cases);

TYPED_TEST(Float16Test, EveryValueSurvivesTheRoundTrip) {
  using Type = TypeParam::Type;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto value = Type::fromBits(static_cast<uint16_t>(bits));
    double truth = decode(value.bits, TypeParam::fractionBits);
    if (std::isnan(truth)) {
      ASSERT_TRUE(std::isnan(value.toFloat()));
      ASSERT_TRUE(std::isnan(Type::fromFloat(value.toFloat()).toFloat()));
      continue;
    }
    ASSERT_EQ(value.toFloat(), truth);
    ASSERT_EQ(std::signbit(value.toFloat()), std::signbit(truth));
    ASSERT_EQ(Type::fromFloat(value.toFloat()).bits, bits);
    ASSERT_EQ(Type::fromDouble(truth).bits, bits);
  }
}

TYPED_TEST(Float16Test, RoundsToNearestEvenBetweenNeighbours) {
  using Type = TypeParam::Type;
  constexpr int fractionBits = TypeParam::fractionBits;
  constexpr unsigned infinity = 0x7FFF >> fractionBits << fractionBits;
  for (unsigned low = 0; low < infinity; ++low) {
    // Above the largest finite value comes the one that the format would have
    // next.
    double above =
        low + 1 == infinity
            ? 2 * decode(static_cast<uint16_t>(infinity - (1 << fractionBits)),
                         fractionBits)
            : decode(static_cast<uint16_t>(low + 1), fractionBits);
    float middle = static_cast<float>(
        (decode(static_cast<uint16_t>(low), fractionBits) + above) / 2);
    unsigned even = low % 2 ? low + 1 : low;
    ASSERT_EQ(Type::fromFloat(middle).bits, even);
    ASSERT_EQ(Type::fromFloat(std::nextafter(middle, 0.0f)).bits, low);
    ASSERT_EQ(Type::fromFloat(std::nextafter(middle, INFINITY)).bits, low + 1);
    ASSERT_EQ(Type::fromFloat(-middle).bits, 0x8000 | even);
  }
}

TEST(Float16Conversion, DoubleGoesThroughFloat) {
  // 1 + 2^-8 + 2^-40 is above the middle between two bf16 numbers, but f32
  // rounds it to the middle, which goes to even.
  EXPECT_EQ(BFloat16::fromDouble(1 + 0x1p-8 + 0x1p-40).bits,
            BFloat16::fromFloat(1).bits);
  EXPECT_EQ(Float16::fromDouble(1 + 0x1p-11 + 0x1p-40).bits,
            Float16::fromFloat(1).bits);
}

TEST(Float16Conversion, OverflowAndUnderflow) {
  EXPECT_EQ(Float16::fromFloat(65519).toFloat(), 65504);
  EXPECT_EQ(Float16::fromFloat(65520).toFloat(), INFINITY);
  EXPECT_EQ(Float16::fromFloat(-1e30f).toFloat(), -INFINITY);
  EXPECT_EQ(Float16::fromFloat(0x1p-25f).bits, 0);
  EXPECT_EQ(Float16::fromFloat(-0x1.8p-25f).bits, 0x8001);
  EXPECT_EQ(BFloat16::fromFloat(3.4e38f).toFloat(), INFINITY);
  EXPECT_EQ(BFloat16::fromDouble(1e300).toFloat(), INFINITY);
}

} // namespace
