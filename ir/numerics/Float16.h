// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The 16-bit floating-point storage types and their conversions.

#ifndef EPIFOLD_IR_NUMERICS_FLOAT16_H
#define EPIFOLD_IR_NUMERICS_FLOAT16_H

#include <cstdint>

namespace epifold::numerics {

// toFloat is inlined even without optimisation: loops compiled for newer
// processors use it, and the linker must not share their copy.

/// bfloat16: 8 exponent bits, 7 fraction bits; the upper half of an f32.
/// Storage only, arithmetic happens in f32.
struct BFloat16 {
  uint16_t bits = 0;

  static constexpr BFloat16 fromBits(uint16_t bits) { return {bits}; }

  /// Rounds to nearest even; overflow gives infinity, subnormals are kept, a
  /// NaN becomes a quiet NaN.
  static constexpr BFloat16 fromFloat(float value) {
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    // Just below half a unit, plus the last kept bit: carries exactly where
    // nearest even rounds up.
    uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    bool isNaN = (u & 0x7FFFFFFFu) > 0x7F800000u;
    return {static_cast<uint16_t>(isNaN ? quiet : rounded)};
  }

  /// Rounds twice, f64 to f32 to bf16, both to nearest even. That is the
  /// contract's meaning of this cast: it is what two explicit conversions do on
  /// every target.
  static constexpr BFloat16 fromDouble(double value) {
    return fromFloat(static_cast<float>(value));
  }

  /// Exact.
  [[gnu::always_inline]] constexpr float toFloat() const {
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
  }

  friend constexpr bool operator==(BFloat16,
                                   BFloat16) = default; ///< Of the bits.
};

/// IEEE binary16: 5 exponent bits, 10 fraction bits. Storage only.
struct Float16 {
  uint16_t bits = 0;

  static constexpr Float16 fromBits(uint16_t bits) { return {bits}; }

  /// Rounds to nearest even; from 65520 up gives infinity, subnormals are kept,
  /// a NaN becomes a quiet NaN.
  static constexpr Float16 fromFloat(float value) {
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t magnitude = u & 0x7FFFFFFFu;
    uint32_t result = 0;
    if (magnitude >= 0x47800000u) { // At least 2^16, or not finite.
      result = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
    } else if (magnitude < 0x38800000u) {
      // Below the smallest normal 2^-14: one unit in the last place of 1/2 in
      // f32 is one of the subnormals' here, so the addition rounds.
      float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
      result = __builtin_bit_cast(uint32_t, shifted) - 0x3F000000u;
    } else {
      // Rebias the exponent from 127 to 15, and round as above.
      result =
          (magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    }
    return {static_cast<uint16_t>(sign | result)};
  }

  /// Rounds twice, f64 to f32 to f16 (see BFloat16::fromDouble).
  static constexpr Float16 fromDouble(double value) {
    return fromFloat(static_cast<float>(value));
  }

  /// Exact.
  [[gnu::always_inline]] constexpr float toFloat() const {
    uint32_t magnitude = bits & 0x7FFFu;
    // As an f32 pattern the number is 2^112 too small; the product is exact and
    // also normalises subnormals.
    float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
    uint32_t u = __builtin_bit_cast(uint32_t, scaled);
    if (magnitude >= 0x7C00u)
      u |= 0x7F800000u;
    return __builtin_bit_cast(float, u | static_cast<uint32_t>(bits & 0x8000u)
                                             << 16);
  }

  friend constexpr bool operator==(Float16,
                                   Float16) = default; ///< Of the bits.
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2,
              "spans of these alias buffers of 16-bit elements");

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_FLOAT16_H
