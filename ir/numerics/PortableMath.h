// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every portable transcendental, by name; include this to use them.

#ifndef EPIFOLD_IR_NUMERICS_PORTABLEMATH_H
#define EPIFOLD_IR_NUMERICS_PORTABLEMATH_H

#include "ir/numerics/PortableErf.h"
#include "ir/numerics/PortableExp.h"
#include "ir/numerics/PortableLog.h"

namespace epifold::numerics {

/// The functions of one argument that the contract defines.
enum class UnaryFunction : uint8_t {
  Exp,
  Log,
  Erf,
  Tanh,
  Sigmoid,
  Silu,
  GeluErf,
  GeluTanh,
  Rsqrt,
  Sqrt
};
inline constexpr unsigned numUnaryFunctions = 10;

/// 1 / sqrt(x), as an IEEE square root and an IEEE division in every accuracy:
/// it normalises rows and groups, where one evaluation serves many elements.
template <ScalarBuilder B>
ValueOf<B> rsqrt(B &b, ValueOf<B> x, Accuracy) {
  return b.div(b.constant(1), b.sqrt(x));
}

/// Applies a function chosen at run time: x of the compute type in, the value
/// out.
template <ScalarBuilder B>
ValueOf<B> applyUnary(B &b, UnaryFunction function, ValueOf<B> x,
                      Accuracy accuracy) {
  switch (function) {
  case UnaryFunction::Exp:
    return exp(b, x, accuracy);
  case UnaryFunction::Log:
    return log(b, x, accuracy);
  case UnaryFunction::Erf:
    return erf(b, x, accuracy);
  case UnaryFunction::Tanh:
    return tanh(b, x, accuracy);
  case UnaryFunction::Sigmoid:
    return sigmoid(b, x, accuracy);
  case UnaryFunction::Silu:
    return silu(b, x, accuracy);
  case UnaryFunction::GeluErf:
    return geluErf(b, x, accuracy);
  case UnaryFunction::GeluTanh:
    return geluTanh(b, x, accuracy);
  case UnaryFunction::Rsqrt:
    return rsqrt(b, x, accuracy);
  case UnaryFunction::Sqrt:
    return b.sqrt(x);
  }
  __builtin_unreachable();
}

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_PORTABLEMATH_H
