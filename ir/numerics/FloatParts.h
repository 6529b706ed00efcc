// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Building blocks shared by the portable functions: polynomials, powers of two,
// reciprocals, signs.

#ifndef EPIFOLD_IR_NUMERICS_FLOATPARTS_H
#define EPIFOLD_IR_NUMERICS_FLOATPARTS_H

#include "ir/numerics/ScalarBuilder.h"

namespace epifold::numerics::detail {

inline constexpr double log2E = 0x1.71547652b82fep+0;

/// ln 2 as the sum of two constants of the compute type; the second continues
/// where the first was rounded.
template <ScalarBuilder B>
constexpr double ln2High(const B &b) {
  return b.isDouble() ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1;
}
template <ScalarBuilder B>
constexpr double ln2Low(const B &b) {
  return b.isDouble() ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29;
}

template <ScalarBuilder B>
constexpr unsigned mantissaBits(const B &b) {
  return b.isDouble() ? 52 : 23;
}
template <ScalarBuilder B>
constexpr int exponentBias(const B &b) {
  return b.isDouble() ? 1023 : 127;
}

/// The sequence that a builder of this width uses when this accuracy is asked
/// for.
template <ScalarBuilder B>
constexpr Accuracy effectiveAccuracy(const B &b, Accuracy accuracy) {
  if (b.isDouble())
    return Accuracy::F64;
  return accuracy == Accuracy::BF16 ? Accuracy::BF16 : Accuracy::F32;
}

/// Adding this to a small number v rounds v to an integer n, and leaves n +
/// offset in the low bits of the sum.
template <ScalarBuilder B>
constexpr double roundToInteger(const B &b, int offset) {
  return (b.isDouble() ? 0x1.8p52 : 0x1.8p23) + offset;
}

/// c[0] + c[1] x + c[2] x^2 + …, by N-1 fused multiply-adds from the highest
/// term down.
template <ScalarBuilder B, size_t N>
ValueOf<B> polynomial(B &b, ValueOf<B> x, const double (&c)[N]) {
  ValueOf<B> sum = b.constant(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;)
    sum = b.fma(sum, x, b.constant(c[i]));
  return sum;
}

/// A number split as n + r with n an integer; `shifted` holds n + offset in its
/// low bits (see roundToInteger).
template <ScalarBuilder B>
struct IntegerAndRest {
  IntValueOf<B> shifted;
  ValueOf<B> rest;
};

/// Splits x * scale, |rest| <= 1/2. The rest is exact to half a unit in the
/// last place of the compute type's 1/2, and of its own when n is 0.
template <ScalarBuilder B>
IntegerAndRest<B> splitProduct(B &b, ValueOf<B> x, ValueOf<B> scale,
                               int offset) {
  auto magic = b.constant(roundToInteger(b, offset));
  auto shifted = b.fma(x, scale, magic);
  // magic - shifted is exact, and is -n.
  auto rest = b.fma(x, scale, b.sub(magic, shifted));
  return {b.bitcastToInt(shifted), rest};
}

/// Splits x = n ln2 + rest, |rest| <= ln2/2, with sign +1; with sign -1 splits
/// -x and returns the rest negated.
template <ScalarBuilder B>
IntegerAndRest<B> splitByLn2(B &b, ValueOf<B> x, int sign, int offset) {
  auto magic = b.constant(roundToInteger(b, offset));
  auto shifted = b.fma(x, b.constant(sign * log2E), magic);
  auto n = b.sub(shifted, magic);
  auto rest = b.fma(n, b.constant(-sign * ln2High(b)), x);
  return {b.bitcastToInt(shifted),
          b.fma(n, b.constant(-sign * ln2Low(b)), rest)};
}

/// 2^n, where `shifted` holds n plus the exponent bias in its low bits; n must
/// be a normal exponent.
template <ScalarBuilder B>
ValueOf<B> powerOfTwo(B &b, IntValueOf<B> shifted) {
  return b.bitcastToFloat(b.intShl(shifted, mantissaBits(b)));
}

/// p * 2^n with one rounding, over- and underflowing as IEEE does; `shifted`
/// holds n plus twice the exponent bias.
template <ScalarBuilder B>
ValueOf<B> scaleByPowerOfTwo(B &b, ValueOf<B> p, IntValueOf<B> shifted) {
  // Two factors 2^(n/2): one alone could not be represented where the result is
  // subnormal or overflows.
  auto half = b.intShr(shifted, 1);
  auto otherHalf = b.intSub(shifted, half);
  return b.mul(b.mul(p, powerOfTwo(b, half)), powerOfTwo(b, otherHalf));
}

/// 1/d, given -d, for d between 2^-100 and the clamps of the callers (2^125 in
/// f32, 2^1021 in f64).
///
/// Subtracting bit patterns gives s with u = d s in [0.9501, 1.0516]; s
/// ((m-u)^2 + k) is then 1/d within 3.3e-5 (u ((m-u)^2 + k) is 1 plus a
/// stretched Chebyshev polynomial of degree 3). Each Newton step squares that
/// error.
template <ScalarBuilder B>
ValueOf<B> reciprocalOfNegated(B &b, ValueOf<B> negatedD, Accuracy accuracy) {
  // The sign bit of -d is cancelled by the one in the constant.
  auto magic = b.intConstant(b.isDouble() ? int64_t(0xFFDE680000000000u)
                                          : int64_t(0xFEF34000u));
  auto s = b.bitcastToFloat(b.intSub(magic, b.bitcastToInt(negatedD)));
  auto e = b.fma(negatedD, s, b.constant(0x1.803fa2p+0));
  auto y = b.mul(s, b.fma(e, e, b.constant(0x1.7f80c4p-1)));
  int newtonSteps = accuracy == Accuracy::BF16  ? 0
                    : accuracy == Accuracy::F32 ? 1
                                                : 2;
  for (int i = 0; i < newtonSteps; ++i)
    y = b.fma(y, b.fma(negatedD, y, b.constant(1)), y);
  return y;
}

/// magnitude with the sign of `sign`; magnitude's own sign bit must be clear
/// (or it be NaN).
template <ScalarBuilder B>
ValueOf<B> withSignOf(B &b, ValueOf<B> magnitude, ValueOf<B> sign) {
  auto mask = b.intConstant(b.isDouble() ? INT64_MIN : int64_t(INT32_MIN));
  auto signBit = b.intAnd(b.bitcastToInt(sign), mask);
  return b.bitcastToFloat(b.intAdd(b.bitcastToInt(magnitude), signBit));
}

/// max(x, -0): x where it is positive or +0, else -0 (so that the sign of zero
/// survives a later sum).
template <ScalarBuilder B>
ValueOf<B> positivePart(B &b, ValueOf<B> x) {
  return b.maximum(x, b.constant(-0.0));
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_FLOATPARTS_H
