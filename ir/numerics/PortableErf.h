// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The error function and the two gelu activations, written once over a scalar
// builder.

#ifndef EPIFOLD_IR_NUMERICS_PORTABLEERF_H
#define EPIFOLD_IR_NUMERICS_PORTABLEERF_H

#include "ir/numerics/PortableExp.h"

namespace epifold::numerics {
namespace detail {

/// erf(x) / x as a polynomial in x^2, |x| <= 2.75, relative error 4.5e-5; 1 -
/// erf(2.75) is 1.0e-4.
inline constexpr double erfBF16[] = {
    0x1.20da42p+0, -0x1.8061cep-2,  0x1.c5ce12p-4,  -0x1.938c9ap-6,
    0x1.02c75ep-8, -0x1.bc1cb2p-12, 0x1.c06c38p-16, -0x1.8dc1b6p-21};

/// The 16th root of Phi(x), the normal distribution, for x in [-5.5, 0]; its
/// 16th power has a relative error of 1.2e-4. The root is so flat that a short
/// polynomial holds over the whole tail, and squaring four times is cheap.
inline constexpr double rootPhiBF16[] = {
    0x1.ea4bdcp-1,  0x1.882dcap-5,  -0x1.1eccfcp-6, 0x1.b26252p-10,
    0x1.a76b82p-11, 0x1.1f969ap-14, 0x1.bf6acep-20};

/// The same for the gate of geluTanh, 1 / (1 + exp(-2 sqrt(2/pi) (x + 0.044715
/// x^3))), on [-5, 0]; 1.1e-4.
inline constexpr double rootTanhGateBF16[] = {
    0x1.ea4a6ap-1, 0x1.879fe2p-5,  -0x1.1cfd2ep-6, 0x1.268p-9,
    0x1.a3127p-10, 0x1.dd77c8p-12, 0x1.1e79c2p-14, 0x1.005cd6p-18};

/// log2(erfc(z)) / z for z in [0, 4]; erf from it has a relative error of
/// 3.0e-8.
inline constexpr double logErfcF32[] = {
    -0x1.a0be84p+0, -0x1.d63ec8p-1,  -0x1.2fa95ap-3, 0x1.c41432p-6,
    0x1.79489ap-12, -0x1.56ee96p-9,  0x1.21a282p-10, -0x1.190be8p-12,
    0x1.55885cp-15, -0x1.e2f6bcp-19, 0x1.2fc21cp-23};
/// The same for z in [0, 6], in powers of z - 3; 2.1e-16.
inline constexpr double logErfcF64[] = {
    -0x1.49f2273ffd470p+2,  -0x1.502088e21b451p+0,  -0x1.74a27bbbfb433p-6,
    0x1.07407f60a5324p-8,   -0x1.68cbcaa595718p-11, 0x1.d28db09b7e598p-14,
    -0x1.127b487643926p-16, 0x1.10aebbfbaa8aep-19,  -0x1.5ded2bbe20bf7p-23,
    -0x1.7fd8a6792a4c2p-27, 0x1.3d5109300e4ffp-27,  -0x1.7d35732b28a02p-29,
    0x1.5adb02c05c061p-31,  -0x1.06706751cc9afp-33, 0x1.4843c57c3750ep-36,
    -0x1.2d5c0f1019343p-39, 0x1.47fddc7976d89p-45,  0x1.556e4482a33fcp-44,
    -0x1.b79af9613c718p-46, 0x1.3ff32661cce27p-48,  -0x1.b2c71bb2f77f4p-50,
    0x1.54bcdf6327536p-51,  -0x1.dd7c409fa1008p-56, -0x1.6a1013303d74cp-55,
    0x1.a4da448c6d023p-60,  0x1.c318816e843b0p-59,  -0x1.0c4683f7089d9p-63,
    -0x1.bc06b49700bb0p-63, 0x1.6f425186c4eaap-66,  0x1.2431455373d8ep-68,
    -0x1.526a2b8e10550p-71};

/// -(2^r - 1) / r on [-1/2, 1/2], relative error 2.2e-8.
inline constexpr double negatedExp2Minus1F32[] = {
    -0x1.62e43p-1, -0x1.ebfbdep-3,  -0x1.c6af6ep-5,
    -0x1.3b2bap-7, -0x1.5f07b4p-10, -0x1.4308e8p-13};
/// The same in f64, 4.8e-17.
inline constexpr double negatedExp2Minus1F64[] = {
    -0x1.62e42fefa39efp-1,  -0x1.ebfbdff82c58fp-3,  -0x1.c6b08d704a0c6p-5,
    -0x1.3b2ab6fba4e60p-7,  -0x1.5d87fe78a3fe7p-10, -0x1.430912f874198p-13,
    -0x1.ffcbfc6d8ce7dp-17, -0x1.62c0221b540cbp-20, -0x1.b524ec0c4fd8ap-24,
    -0x1.e4cfae8ca7849p-28, -0x1.e9ebc1b829025p-32, -0x1.c3bd19f5a1458p-36};

/// Splits log2(erfc(z)) for z in [0, erfcClamp].
template <ScalarBuilder B>
IntegerAndRest<B> splitLog2Erfc(B &b, ValueOf<B> z, int offset) {
  auto slope = b.isDouble() ? polynomial(b, b.sub(z, b.constant(3)), logErfcF64)
                            : polynomial(b, z, logErfcF32);
  return splitProduct(b, z, slope, offset);
}

/// From here on erfc is below half a unit in the last place of 1.
template <ScalarBuilder B>
constexpr double erfcClamp(const B &b) {
  return b.isDouble() ? 6 : 4;
}

/// -(2^r - 1) for |r| <= 1/2, with relative accuracy.
template <ScalarBuilder B>
ValueOf<B> negatedExp2Minus1(B &b, ValueOf<B> r) {
  auto q = b.isDouble() ? polynomial(b, r, negatedExp2Minus1F64)
                        : polynomial(b, r, negatedExp2Minus1F32);
  return b.mul(r, q);
}

template <ScalarBuilder B>
ValueOf<B> power16(B &b, ValueOf<B> x) {
  for (int i = 0; i < 4; ++i)
    x = b.mul(x, x);
  return x;
}

/// max(-|x|, -limit): both gelus are max(x, 0) + c gate(c) with this c, as
/// gate(x) = 1 - gate(-x).
template <ScalarBuilder B>
ValueOf<B> negatedMagnitude(B &b, ValueOf<B> x, double limit) {
  return b.maximum(b.neg(b.abs(x)), b.constant(-limit));
}

} // namespace detail

/// The error function; ±1 for large x in F32 and F64. Largest error: 1.5e-4
/// relative (BF16), 2.4e-7 (F32), 8.9e-16 (F64).
template <ScalarBuilder B>
ValueOf<B> erf(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  if (effectiveAccuracy(b, accuracy) == Accuracy::BF16) {
    auto c = b.minimum(b.maximum(x, b.constant(-2.75)), b.constant(2.75));
    return b.mul(c, polynomial(b, b.mul(c, c), erfBF16));
  }
  // erf z = 1 - 2^(n+r) = (1 - 2^n) - 2^n (2^r - 1): no cancellation, as n = 0
  // where z is small.
  auto z = b.minimum(b.abs(x), b.constant(erfcClamp(b)));
  auto split = splitLog2Erfc(b, z, exponentBias(b));
  auto s = powerOfTwo(b, split.shifted);
  auto magnitude =
      b.fma(s, negatedExp2Minus1(b, split.rest), b.sub(b.constant(1), s));
  return withSignOf(b, magnitude, x);
}

/// x Phi(x), Phi the normal distribution: the exact gelu, x/2 (1 + erf(x /
/// √2)).
/// Largest error, relative from `a` to 9 and absolute below:
///   BF16: 1.2e-4, a = -5.5, 1.1e-7. F32: 4.8e-7 down to -1 and 3e-6 beyond,
///   a = -5.65, 5e-8. F64: 8.9e-16 and 2e-14, a = -8.48, 1e-16.
template <ScalarBuilder B>
ValueOf<B> geluErf(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  if (effectiveAccuracy(b, accuracy) == Accuracy::BF16) {
    auto c = negatedMagnitude(b, x, 5.5);
    return b.fma(c, power16(b, polynomial(b, c, rootPhiBF16)),
                 positivePart(b, x));
  }
  constexpr double sqrt2 = 0x1.6a09e667f3bcdp+0;
  auto c = negatedMagnitude(b, x, erfcClamp(b) * sqrt2);
  auto z = b.mul(c, b.constant(-1 / sqrt2));
  // The offset is one less than the bias: Phi(-|x|) is erfc(z) / 2.
  auto split = splitLog2Erfc(b, z, exponentBias(b) - 1);
  auto power = b.sub(b.constant(1), negatedExp2Minus1(b, split.rest));
  return b.fma(b.mul(c, power), powerOfTwo(b, split.shifted),
               positivePart(b, x));
}

/// The tanh form of gelu, x/2 (1 + tanh(√(2/π) (x + 0.044715 x^3))).
/// Largest error, relative from `a` to 9 and absolute below:
///   BF16: 1.1e-4, a = -5, 2.4e-7. F32: 4.8e-7 down to -1 and 1.2e-5 beyond,
///   a = -9.9, 1e-35. F64: 8.9e-16 and 2e-13, a = -21, 1e-299.
template <ScalarBuilder B>
ValueOf<B> geluTanh(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  accuracy = effectiveAccuracy(b, accuracy);
  if (accuracy == Accuracy::BF16) {
    auto c = negatedMagnitude(b, x, 5);
    return b.fma(c, power16(b, polynomial(b, c, rootTanhGateBF16)),
                 positivePart(b, x));
  }
  constexpr double twoSqrt2OverPi = 0x1.9884533d43651p+0;
  // Where the gate's argument reaches the sigmoid's clamp.
  auto c = negatedMagnitude(b, x, b.isDouble() ? 21 : 9.9);
  auto slope = b.fma(b.mul(c, c), b.constant(0.044715 * twoSqrt2OverPi),
                     b.constant(twoSqrt2OverPi));
  auto gate = sigmoidOfClamped(b, b.mul(c, slope), accuracy);
  return b.fma(c, gate, positivePart(b, x));
}

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_PORTABLEERF_H
