// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The natural logarithm, written once over a scalar builder.

#ifndef EPIFOLD_IR_NUMERICS_PORTABLELOG_H
#define EPIFOLD_IR_NUMERICS_PORTABLELOG_H

#include "ir/numerics/FloatParts.h"

namespace epifold::numerics {
namespace detail {

/// (log(1+f) - f + f^2/2) / f^3 for 1+f in [sqrt(1/2), sqrt 2]; log from it has
/// a relative error of 9.3e-5.
inline constexpr double logTailBF16[] = {0x1.57bac2p-2, -0x1.0ef68ap-2,
                                         0x1.62d0b2p-3};
/// The same, 6.5e-9.
inline constexpr double logTailF32[] = {
    0x1.555554p-2, -0x1.000226p-2, 0x1.99a00ap-3, -0x1.547246p-3,
    0x1.22da0ap-3, -0x1.0d851cp-3, 0x1.055bd4p-3, -0x1.38b72ep-4};
/// The same, 1.2e-17.
inline constexpr double logTailF64[] = {
    0x1.5555555555533p-2,  -0x1.fffffffffef17p-3, 0x1.999999999f757p-3,
    -0x1.555555566b176p-3, 0x1.24924922a3a31p-3,  -0x1.ffffff2c06f48p-4,
    0x1.c71c71e049de4p-4,  -0x1.9999c26906604p-4, 0x1.745d3f13090c1p-4,
    -0x1.5550ee9d3d874p-4, 0x1.3b0b8a113f505p-4,  -0x1.24d74d8c7c4c1p-4,
    0x1.11ccf2cc04c24p-4,  -0x1.fba1b5bbdf4aap-5, 0x1.d05b23d0a4a47p-5,
    -0x1.d120e2668280ap-5, 0x1.0a6169c9ded52p-4,  -0x1.ea00bc1c33ef8p-5,
    0x1.ac6e732992c04p-6};

} // namespace detail

/// Natural logarithm: -inf at ±0, NaN below, +inf at +inf; subnormals count.
/// Largest error: 9.4e-5 relative (BF16), 1.2e-7 (F32), 2.2e-16 (F64).
template <ScalarBuilder B>
ValueOf<B> log(B &b, ValueOf<B> x, Accuracy accuracy) {
  using namespace detail;
  accuracy = effectiveAccuracy(b, accuracy);
  auto zero = b.constant(0);
  auto infinity = b.constant(__builtin_inf());

  // x = 2^k m with m in [sqrt(1/2), sqrt 2), subnormals scaled up first.
  double smallestNormal = b.isDouble() ? 0x1p-1022 : 0x1p-126;
  auto isSmall = b.lt(x, b.constant(smallestNormal));
  int extra = b.isDouble() ? 54 : 25;
  auto scaled = b.select(
      isSmall, b.mul(x, b.constant(b.isDouble() ? 0x1p54 : 0x1p25)), x);
  auto bits = b.bitcastToInt(scaled);
  auto sqrtHalf = b.intConstant(b.isDouble() ? 0x3FE6A09E667F3BCD : 0x3F3504F3);
  auto k = b.intShr(b.intSub(bits, sqrtHalf), mantissaBits(b));
  auto m = b.bitcastToFloat(b.intSub(bits, b.intShl(k, mantissaBits(b))));
  auto f = b.sub(m, b.constant(1));

  // The integer k becomes a float by being added to the bits of a large one.
  auto magic = b.constant(roundToInteger(b, 0));
  auto kShifted = b.bitcastToFloat(b.intAdd(k, b.bitcastToInt(magic)));
  auto exponent = b.sub(
      kShifted, b.select(isSmall, b.constant(roundToInteger(b, extra)), magic));

  ValueOf<B> tail{};
  if (accuracy == Accuracy::BF16)
    tail = polynomial(b, f, logTailBF16);
  else
    tail = b.isDouble() ? polynomial(b, f, logTailF64)
                        : polynomial(b, f, logTailF32);
  auto correction = b.mul(b.mul(f, f), b.fma(tail, f, b.constant(-0.5)));
  correction = b.fma(exponent, b.constant(ln2Low(b)), correction);
  auto result = b.fma(exponent, b.constant(ln2High(b)), b.add(f, correction));

  result = b.select(b.lt(zero, x), result, b.neg(infinity));
  result = b.select(b.lt(x, zero), b.constant(__builtin_nan("")), result);
  return b.select(b.lt(x, infinity), result,
                  x); // +inf and NaN are their own logarithms.
}

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_PORTABLELOG_H
