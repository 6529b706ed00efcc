// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The constants of the matrix unit's arithmetic, found by probing an H200
// (docs/matrix-unit.md).

#ifndef EPIFOLD_IR_NUMERICS_MATRIXUNITRULES_H
#define EPIFOLD_IR_NUMERICS_MATRIXUNITRULES_H

#include <cstdint>

namespace epifold::numerics::detail {

/// Terms are truncated to multiples of 2^(e - 25), e being the largest exponent
/// among them.
inline constexpr int matrixUnitFractionBits = 25;

/// e is never lower than this.
inline constexpr int matrixUnitLowestExponent = -133;

/// Every NaN result has these bits.
inline float matrixUnitNaN() {
  return __builtin_bit_cast(float, uint32_t(0x7FFFFFFF));
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_MATRIXUNITRULES_H
