// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The vocabulary in which a scalar function is written once, for evaluation on
// the CPU and for code generation.

#ifndef EPIFOLD_IR_NUMERICS_SCALARBUILDER_H
#define EPIFOLD_IR_NUMERICS_SCALARBUILDER_H

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace epifold::numerics {

/// How accurate a transcendental must be. Each level is one fixed sequence of
/// operations, so it also fixes the bits. A builder over f64 always gets the
/// F64 sequence; a builder over f32 gets F32 when it asks for F64.
enum class Accuracy : uint8_t {
  /// About 2^-13 relative: a result rounded to bf16 is almost always the
  /// correctly rounded one.
  BF16,
  /// A few units in the last place of f32.
  F32,
  /// About 1e-15 relative.
  F64,
};

/// The types of a scalar builder.
template <typename B>
using ValueOf = B::Value;
template <typename B>
using IntValueOf = B::IntValue;
template <typename B>
using BoolOf = B::Bool;

/// A scalar builder offers the operations below over one compute type, f32 or
/// f64. The CPU's builder evaluates them (HostScalar.h), a code generator's
/// emits one instruction for each; as both see the same sequence of correctly
/// rounded operations, they agree to the bit (save NaN payloads).
///
/// Operations, on `Value` (a float of the compute type), `IntValue` (an integer
/// as wide) and `Bool`:
///  - isDouble(): whether the compute type is f64.
///  - constant(double): the constant, rounded to the compute type.
///    intConstant(int64_t): truncated to the width.
///  - add, sub, mul, div, sqrt: IEEE, to nearest even, subnormals kept.
///    fma(a, b, c): a * b + c, rounded once. fmaSaturated(a, b, c): that number
///    clamped to [0, 1], and +0 where it is NaN; of f32 builders only.
///  - neg, abs: change the sign bit only; a GPU folds them into the consumer.
///  - minimum(x, c), maximum(x, c): a NaN x gives NaN. Callers only pass a
///    constant c that is not NaN, not +0 for maximum and not -0 for minimum; so
///    select(lt(x, c), c, x) and IEEE 754-2019 maximum are the same.
///  - lt(a, b): ordered less-than. isNaN(a). select(cond, a, b): a where cond
///    holds, else b.
///  - bitcastToInt, bitcastToFloat: reinterpret the bits.
///  - intAdd, intSub, intAnd: wrap around. intShl(i, n), intShr(i, n): by a
///    constant n; intShr is arithmetic. intSubShifted(i, j, n): i - (j << n).
template <typename B>
concept ScalarBuilder = requires(B &b, ValueOf<B> v, IntValueOf<B> i,
                                 BoolOf<B> c, double d, int64_t k, unsigned n) {
  { b.isDouble() } -> std::convertible_to<bool>;
  { b.constant(d) } -> std::convertible_to<ValueOf<B>>;
  { b.intConstant(k) } -> std::convertible_to<IntValueOf<B>>;
  { b.add(v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.sub(v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.mul(v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.div(v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.sqrt(v) } -> std::convertible_to<ValueOf<B>>;
  { b.fma(v, v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.fmaSaturated(v, v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.neg(v) } -> std::convertible_to<ValueOf<B>>;
  { b.abs(v) } -> std::convertible_to<ValueOf<B>>;
  { b.minimum(v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.maximum(v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.lt(v, v) } -> std::convertible_to<BoolOf<B>>;
  { b.isNaN(v) } -> std::convertible_to<BoolOf<B>>;
  { b.select(c, v, v) } -> std::convertible_to<ValueOf<B>>;
  { b.bitcastToInt(v) } -> std::convertible_to<IntValueOf<B>>;
  { b.bitcastToFloat(i) } -> std::convertible_to<ValueOf<B>>;
  { b.intAdd(i, i) } -> std::convertible_to<IntValueOf<B>>;
  { b.intSub(i, i) } -> std::convertible_to<IntValueOf<B>>;
  { b.intAnd(i, i) } -> std::convertible_to<IntValueOf<B>>;
  { b.intShl(i, n) } -> std::convertible_to<IntValueOf<B>>;
  { b.intShr(i, n) } -> std::convertible_to<IntValueOf<B>>;
  { b.intSubShifted(i, i, n) } -> std::convertible_to<IntValueOf<B>>;
};

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_SCALARBUILDER_H
