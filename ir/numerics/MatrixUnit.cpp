// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The matrix unit's step in whole numbers, and the entry to the fast product.

#include "ir/numerics/MatrixUnit.h"

#include "ir/numerics/KernelTable.h"
#include "ir/numerics/MatrixUnitRules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace epifold::numerics {
namespace {

/// significand * 2^(exponent - fractionBits), not normalised: a subnormal keeps
/// its format's smallest exponent.
struct Term {
  bool negative;
  int exponent;
  int fractionBits;
  uint64_t significand;
};

/// Splits a finite number of a format with the given field widths.
Term split(uint32_t bits, int exponentBits, int fractionBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int field =
      static_cast<int>(bits >> fractionBits) & ((1 << exponentBits) - 1);
  uint64_t fraction = bits & ((1u << fractionBits) - 1);
  bool negative = (bits >> (exponentBits + fractionBits)) & 1;
  if (field == 0)
    return {negative, 1 - bias, fractionBits, fraction};
  return {negative, field - bias, fractionBits,
          fraction | uint64_t(1) << fractionBits};
}

Term split(BFloat16 x) { return split(x.bits, 8, 7); }
Term split(Float16 x) { return split(x.bits, 5, 10); }
Term split(float x) { return split(std::bit_cast<uint32_t>(x), 8, 23); }

/// Truncates sum * 2^unitExponent to f32; what vanishes, or was nothing, is +0.
float truncateToFloat(int64_t sum, int unitExponent) {
  uint64_t magnitude = static_cast<uint64_t>(std::llabs(sum));
  if (magnitude == 0)
    return 0;
  int width = 64 - std::countl_zero(magnitude);
  // The last kept bit: 24 significant ones, or the unit of the subnormals.
  int lastBit = std::max(unitExponent + width - 24, -149);
  int shift = lastBit - unitExponent;
  uint64_t kept = shift >= 64  ? 0
                  : shift >= 0 ? magnitude >> shift
                               : magnitude << -shift;
  // Exact or infinite: `kept` has at most 24 bits.
  float result =
      kept == 0
          ? 0
          : static_cast<float>(std::ldexp(static_cast<double>(kept), lastBit));
  return kept != 0 && sum < 0 ? -result : result;
}

template <typename T>
float multiplyAdd(const T *a, const T *b, float acc) {
  Term terms[matrixUnitStep + 1];
  // Ordinary arithmetic decides what infinities and NaNs give, whatever the
  // order.
  float special = std::isfinite(acc) ? 0 : acc;
  terms[matrixUnitStep] = split(acc);
  for (size_t i = 0; i < matrixUnitStep; ++i) {
    float x = a[i].toFloat(), y = b[i].toFloat();
    if (!std::isfinite(x) || !std::isfinite(y))
      special += x * y;
    Term p = split(a[i]), q = split(b[i]);
    terms[i] = {p.negative != q.negative, p.exponent + q.exponent,
                p.fractionBits + q.fractionBits, p.significand * q.significand};
  }
  if (special != 0)
    return std::isnan(special) ? detail::matrixUnitNaN() : special;

  int exponent = detail::matrixUnitLowestExponent;
  for (const Term &term : terms)
    if (term.significand != 0)
      exponent = std::max(exponent, term.exponent);
  int unitExponent = exponent - detail::matrixUnitFractionBits;
  int64_t sum = 0;
  for (const Term &term : terms) {
    if (term.significand == 0)
      continue; // Its exponent may lie far above the unit.
    int shift = term.exponent - term.fractionBits - unitExponent;
    uint64_t magnitude = shift >= 0    ? term.significand << shift
                         : shift > -64 ? term.significand >> -shift
                                       : 0;
    sum += term.negative ? -static_cast<int64_t>(magnitude)
                         : static_cast<int64_t>(magnitude);
  }
  return truncateToFloat(sum, unitExponent);
}

} // namespace

float matrixUnitMultiplyAdd(const BFloat16 *a, const BFloat16 *b, float acc) {
  return multiplyAdd(a, b, acc);
}

float matrixUnitMultiplyAdd(const Float16 *a, const Float16 *b, float acc) {
  return multiplyAdd(a, b, acc);
}

void matrixUnitProduct(const ProductOperands<BFloat16, float> &operands) {
  kernelTable().matrixUnitBFloat16(operands);
}

void matrixUnitProduct(const ProductOperands<Float16, float> &operands) {
  kernelTable().matrixUnitFloat16(operands);
}

} // namespace epifold::numerics
