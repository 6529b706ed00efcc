// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The scalar builder that evaluates on the CPU.

#ifndef EPIFOLD_IR_NUMERICS_HOSTSCALAR_H
#define EPIFOLD_IR_NUMERICS_HOSTSCALAR_H

#include "ir/numerics/ScalarBuilder.h"

#include <type_traits>

namespace epifold::numerics {

/// Instruction set of code that is compiled with the program's own flags.
struct BaselineIsa {};

/// Evaluates each operation at once, T being float or double. Isa is only a
/// tag: a source file compiled for a newer instruction set names a type of its
/// own unnamed namespace, so that the linker never shares its instantiations
/// with code that must run everywhere.
template <typename T, typename Isa = BaselineIsa>
struct HostScalar {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  using Value = T;
  using IntValue =
      std::conditional_t<std::is_same_v<T, double>, int64_t, int32_t>;
  using Bool = bool;

  static constexpr bool isDouble() { return std::is_same_v<T, double>; }
  static constexpr T constant(double c) { return static_cast<T>(c); }
  static constexpr IntValue intConstant(int64_t c) {
    return static_cast<IntValue>(c);
  }

  static T add(T a, T b) { return a + b; }
  static T sub(T a, T b) { return a - b; }
  static T mul(T a, T b) { return a * b; }
  static T div(T a, T b) { return a / b; }
  static T neg(T a) { return -a; }
  // Builtins rather than <cmath>: its inline wrappers would be shared between
  // instruction sets.
  static T sqrt(T a) {
    if constexpr (isDouble())
      return __builtin_sqrt(a);
    else
      return __builtin_sqrtf(a);
  }
  static T fma(T a, T b, T c) {
    if constexpr (isDouble())
      return __builtin_fma(a, b, c);
    else
      return __builtin_fmaf(a, b, c);
  }
  static T fmaSaturated(T a, T b, T c) {
    T y = fma(a, b, c);
    return y > 0 ? (y < 1 ? y : 1) : 0;
  }
  static T abs(T a) {
    if constexpr (isDouble())
      return __builtin_fabs(a);
    else
      return __builtin_fabsf(a);
  }
  static T minimum(T x, T c) { return c < x ? c : x; }
  static T maximum(T x, T c) { return x < c ? c : x; }
  static bool lt(T a, T b) { return a < b; }
  static bool isNaN(T a) { return __builtin_isnan(a); }
  static T select(bool cond, T a, T b) { return cond ? a : b; }

  static IntValue bitcastToInt(T a) { return __builtin_bit_cast(IntValue, a); }
  static T bitcastToFloat(IntValue i) { return __builtin_bit_cast(T, i); }
  static IntValue intAdd(IntValue a, IntValue b) {
    return static_cast<IntValue>(bits(a) + bits(b));
  }
  static IntValue intSub(IntValue a, IntValue b) {
    return static_cast<IntValue>(bits(a) - bits(b));
  }
  static IntValue intAnd(IntValue a, IntValue b) { return a & b; }
  static IntValue intShl(IntValue a, unsigned n) {
    return static_cast<IntValue>(bits(a) << n);
  }
  static IntValue intShr(IntValue a, unsigned n) { return a >> n; }
  static IntValue intSubShifted(IntValue a, IntValue b, unsigned n) {
    return static_cast<IntValue>(bits(a) - (bits(b) << n));
  }

private:
  // Wrapping arithmetic is defined on unsigned integers only.
  static std::make_unsigned_t<IntValue> bits(IntValue i) {
    return static_cast<std::make_unsigned_t<IntValue>>(i);
  }
};

static_assert(ScalarBuilder<HostScalar<float>> &&
              ScalarBuilder<HostScalar<double>>);

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_HOSTSCALAR_H
