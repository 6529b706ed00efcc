// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exponential function and its relatives, written once over a scalar
// builder.

#ifndef EPIFOLD_IR_NUMERICS_PORTABLEEXP_H
#define EPIFOLD_IR_NUMERICS_PORTABLEEXP_H

#include "ir/numerics/FloatParts.h"

namespace epifold::numerics {
namespace detail {

// Minimax fits; each comment gives the interval and the largest error with the
// coefficients as rounded.

/// 2^r on [-1/2, 1/2], relative error 7.5e-5.
inline constexpr double exp2BF16[] = {0x1.fff692p-1, 0x1.62f31ap-1,
                                      0x1.f0de18p-3, 0x1.c3f77cp-5};
/// The same, negated.
inline constexpr double negatedExp2BF16[] = {-0x1.fff692p-1, -0x1.62f31ap-1,
                                             -0x1.f0de18p-3, -0x1.c3f77cp-5};
/// 2^(-512 r) on [0, 1/512], relative error 7.5e-5.
inline constexpr double gatePowerBF16[] = {0x1.fff634p-1, -0x1.61cd78p+8,
                                           0x1.d72f22p+15, -0x1.3f96a4p+22};
/// (2^r - 1) / r on [-1/2, 1/2], relative error 1.5e-5.
inline constexpr double exp2Minus1BF16[] = {0x1.62e2d6p-1, 0x1.ebff06p-3,
                                            0x1.c96b72p-5, 0x1.3b2acep-7};

/// (e^r - 1 - r) / r^2 on ±0.347, such that 1 + r + r^2 Q has a relative error
/// of 4.4e-9.
inline constexpr double expTailF32[] = {
    0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558f4p-5, 0x1.123a6ap-7, 0x1.6a235p-10};
/// The same in f64, 9.6e-18.
inline constexpr double expTailF64[] = {
    0x1.000000000000ap-1,  0x1.55555555554f9p-3,  0x1.55555555507f1p-5,
    0x1.1111111127ea9p-7,  0x1.6c16c1844ae07p-10, 0x1.a01a0129a3d2ep-13,
    0x1.a01999ae0bd1ap-16, 0x1.71df26556e96cp-19, 0x1.28adce4cf73c6p-22,
    0x1.ad7ebeb752b17p-26};

/// (e^r - 1 - r) / r^2 in the builder's width.
template <ScalarBuilder B>
ValueOf<B> expTail(B &b, ValueOf<B> r) {
  return b.isDouble() ? polynomial(b, r, expTailF64)
                      : polynomial(b, r, expTailF32);
}

/// -e^-r for |r| <= ln2/2, from the same polynomial as e^r, signs alternating.
template <ScalarBuilder B, size_t N>
ValueOf<B> negatedExpOfNegated(B &b, ValueOf<B> r, const double (&tail)[N]) {
  auto sum = b.constant(N % 2 ? -tail[N - 1] : tail[N - 1]);
  for (size_t i = N - 1; i-- > 0;)
    sum = b.fma(sum, r, b.constant(i % 2 ? tail[i] : -tail[i]));
  return b.fma(b.fma(sum, r, b.constant(1)), r, b.constant(-1));
}

/// Beyond this |x| the sigmoid stays at its value there: the reciprocal's seed
/// needs a normal number.
template <ScalarBuilder B>
constexpr double sigmoidClamp(const B &b) {
  return b.isDouble() ? 706 : 86;
}

/// 1 / (1 + e^-x) for |x| <= sigmoidClamp.
template <ScalarBuilder B>
ValueOf<B> sigmoidOfClamped(B &b, ValueOf<B> x, Accuracy accuracy) {
  accuracy = effectiveAccuracy(b, accuracy);
  IntegerAndRest<B> split{};
  ValueOf<B> negatedPower{};
  if (accuracy == Accuracy::BF16) {
    split = splitProduct(b, x, b.constant(-log2E), exponentBias(b));
    negatedPower = polynomial(b, split.rest, negatedExp2BF16);
  } else {
    split = splitByLn2(b, x, -1, exponentBias(b));
    negatedPower = b.isDouble()
                       ? negatedExpOfNegated(b, split.rest, expTailF64)
                       : negatedExpOfNegated(b, split.rest, expTailF32);
  }
  auto negatedDenominator =
      b.fma(negatedPower, powerOfTwo(b, split.shifted), b.constant(-1));
  return reciprocalOfNegated(b, negatedDenominator, accuracy);
}

/// 1 / (1 + e^-x) for x >= -86; something finite where x is NaN. One
/// instruction shorter than clamping x on both sides and splitting it.
template <ScalarBuilder B>
ValueOf<B> siluGateBF16(B &b, ValueOf<B> x) {
  // With t = 130 + x log2 e, s is 1/2 + t/512: in [1/2, 1) its low 15 bits hold
  // t's fraction and the bits above t's integer n. A large x ends at s = 1,
  // whose bits are those of n = 256.
  auto s = b.fmaSaturated(x, b.constant(log2E / 512), b.constant(386.0 / 512));
  auto whole = b.intAnd(b.bitcastToInt(s), b.intConstant(-0x8000));
  auto fraction = b.sub(s, b.bitcastToFloat(whole));
  // The exponent 257 - n under a sign bit, as s's own exponent leaves at the
  // top: -2^(130 - n).
  auto scale =
      b.bitcastToFloat(b.intSubShifted(b.intConstant(0x00800000), whole, 8));
  auto negatedDenominator =
      b.fma(scale, polynomial(b, fraction, gatePowerBF16), b.constant(-1));
  return reciprocalOfNegated(b, negatedDenominator, Accuracy::BF16);
}

} // namespace detail

/// e^x. Overflows to infinity, underflows gradually to 0; exp(-inf) = 0.
/// Largest error: 7.7e-5 relative (BF16), 1.2e-7 (F32), 2.2e-16 (F64).
template <ScalarBuilder B>
ValueOf<B> exp(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  // Far enough out for the scaling to reach 0 and infinity, near enough for its
  // factors to be normal.
  x = b.maximum(x, b.constant(b.isDouble() ? -746 : -104.5));
  x = b.minimum(x, b.constant(b.isDouble() ? 710.5 : 89.5));
  if (effectiveAccuracy(b, accuracy) == Accuracy::BF16) {
    auto split = splitProduct(b, x, b.constant(log2E), 2 * exponentBias(b));
    return scaleByPowerOfTwo(b, polynomial(b, split.rest, exp2BF16),
                             split.shifted);
  }
  auto split = splitByLn2(b, x, 1, 2 * exponentBias(b));
  auto r = split.rest;
  auto p = b.fma(b.fma(expTail(b, r), r, b.constant(1)), r, b.constant(1));
  return scaleByPowerOfTwo(b, p, split.shifted);
}

/// 1 / (1 + e^-x); exactly 1 for large x in F32 and F64. Below -86 (f64: -706)
/// it stays at about 4.5e-38 (2.4e-307). Largest error: 1.1e-4 relative (BF16),
/// 2.4e-7 (F32), 4.4e-16 (F64).
template <ScalarBuilder B>
ValueOf<B> sigmoid(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  x = b.maximum(x, b.constant(-sigmoidClamp(b)));
  return sigmoidOfClamped(b, b.minimum(x, b.constant(sigmoidClamp(b))),
                          accuracy);
}

/// x / (1 + e^-x). Below -86 (f64: -706), -inf included, a negative number of
/// magnitude about 4e-36 (1.7e-304). Largest error: 1.15e-4 relative (BF16),
/// otherwise as for the sigmoid.
template <ScalarBuilder B>
ValueOf<B> silu(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  // The clamped x is the factor too, as -inf times a tiny number would be -inf.
  x = b.maximum(x, b.constant(-sigmoidClamp(b)));
  if (effectiveAccuracy(b, accuracy) == Accuracy::BF16)
    return b.mul(x, siluGateBF16(b, x));
  auto gate =
      sigmoidOfClamped(b, b.minimum(x, b.constant(sigmoidClamp(b))), accuracy);
  return b.mul(x, gate);
}

/// Hyperbolic tangent, relative accuracy down to ±0; ±1 for large x in F32 and
/// F64. Largest error: 1.3e-4 relative (BF16), 2.4e-7 (F32), 4.4e-16 (F64).
template <ScalarBuilder B>
ValueOf<B> tanh(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  accuracy = effectiveAccuracy(b, accuracy);
  bool coarse = accuracy == Accuracy::BF16;
  // tanh z = m / (m + 2) with m = e^2z - 1, and m = s - 1 + s (2^r - 1): no
  // cancellation, as s = 1 where z is small.
  auto z = b.minimum(b.abs(x), b.constant(b.isDouble() ? 20 : coarse ? 5 : 10));
  IntegerAndRest<B> split{};
  ValueOf<B> powerMinus1{};
  if (coarse) {
    split = splitProduct(b, z, b.constant(2 * log2E), exponentBias(b));
    powerMinus1 = b.mul(split.rest, polynomial(b, split.rest, exp2Minus1BF16));
  } else {
    split = splitByLn2(b, b.add(z, z), 1, exponentBias(b));
    auto r = split.rest;
    powerMinus1 = b.fma(b.mul(r, r), expTail(b, r), r);
  }
  auto s = powerOfTwo(b, split.shifted);
  auto m = b.fma(s, powerMinus1, b.sub(s, b.constant(1)));
  auto negatedDenominator = b.sub(b.constant(-2), m);
  auto reciprocal = reciprocalOfNegated(b, negatedDenominator, accuracy);
  auto quotient = b.mul(m, reciprocal);
  if (!coarse) // One correction step makes the quotient exact where it is
               // representable: tanh(±inf) is ±1.
    quotient =
        b.fma(b.fma(quotient, negatedDenominator, m), reciprocal, quotient);
  return withSignOf(b, quotient, x);
}

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_PORTABLEEXP_H
