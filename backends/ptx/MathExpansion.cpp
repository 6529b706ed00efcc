// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Instantiates the portable functions with a scalar builder that emits arith
// ops, and writes the fast ones with a GPU's approximations.

#include "backends/ptx/MathExpansion.h"

#include "backends/ptx/ArithScalarBuilder.h"
#include "ir/numerics/PortableMath.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static numerics::UnaryFunction toNumerics(kernel::MathFunction function) {
  switch (function) {
  case kernel::MathFunction::Exp:
    return numerics::UnaryFunction::Exp;
  case kernel::MathFunction::Log:
    return numerics::UnaryFunction::Log;
  case kernel::MathFunction::Erf:
    return numerics::UnaryFunction::Erf;
  case kernel::MathFunction::Tanh:
    return numerics::UnaryFunction::Tanh;
  case kernel::MathFunction::Sigmoid:
    return numerics::UnaryFunction::Sigmoid;
  case kernel::MathFunction::Silu:
    return numerics::UnaryFunction::Silu;
  case kernel::MathFunction::GeluErf:
    return numerics::UnaryFunction::GeluErf;
  case kernel::MathFunction::GeluTanh:
    return numerics::UnaryFunction::GeluTanh;
  case kernel::MathFunction::Rsqrt:
    return numerics::UnaryFunction::Rsqrt;
  case kernel::MathFunction::Sqrt:
    return numerics::UnaryFunction::Sqrt;
  }
  llvm_unreachable("every function is listed");
}

static numerics::Accuracy toNumerics(kernel::Accuracy accuracy) {
  switch (accuracy) {
  case kernel::Accuracy::BF16:
    return numerics::Accuracy::BF16;
  case kernel::Accuracy::F32:
    return numerics::Accuracy::F32;
  case kernel::Accuracy::F64:
    return numerics::Accuracy::F64;
  }
  llvm_unreachable("every accuracy is listed");
}

namespace {
/// The fast functions of f32. An approximation is used where it is both shorter
/// and within the stated error; the special-function unit takes a quarter of a
/// warp's instruction at a time, so a reciprocal at accuracy bf16 stays a
/// polynomial, beside which an exponential costs nothing.
class FastMath {
public:
  FastMath(ImplicitLocOpBuilder &b, bool isCoarse)
      : b(b), scalar(b, b.getF32Type()), isCoarse(isCoarse) {}

  /// Null where the portable function is the fast one too.
  Value apply(kernel::MathFunction function, Value x);

private:
  Value approximate(StringRef instruction, Value x) {
    return LLVM::InlineAsmOp::create(
               b, b.getF32Type(), x, (instruction + " $0, $1;").str(), "=f,f",
               /*has_side_effects=*/false, /*is_align_stack=*/false,
               LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
        .getRes();
  }
  Value scale(Value x, double factor) {
    return scalar.mul(x, scalar.constant(factor));
  }
  /// 2^x.
  Value power(Value x) { return approximate("ex2.approx.ftz.f32", x); }
  Value gate(Value x);
  Value silu(Value x);
  Value geluTanh(Value x);

  ImplicitLocOpBuilder &b;
  ArithScalarBuilder scalar;
  bool isCoarse;
};
} // namespace

/// 1 / (1 + 2^x), x <= 125.
Value FastMath::gate(Value x) {
  if (isCoarse)
    return numerics::detail::reciprocalOfNegated(
        scalar, scalar.sub(scalar.constant(-1), power(x)),
        numerics::Accuracy::BF16);
  return approximate("rcp.approx.ftz.f32",
                     scalar.add(power(x), scalar.constant(1)));
}

/// The clamped x is a factor too, as -inf times 0 would be NaN.
Value FastMath::silu(Value x) {
  Value clamped = scalar.maximum(x, scalar.constant(-86));
  return scalar.mul(clamped, gate(scale(clamped, -numerics::detail::log2E)));
}

Value FastMath::geluTanh(Value x) {
  // 2 √(2/π) log2 e; x² overflows only where the gate is 1 anyway.
  constexpr double slope = 1.5957691216057308 * numerics::detail::log2E;
  Value clamped = scalar.maximum(x, scalar.constant(-10));
  Value factor =
      scalar.fma(scalar.mul(clamped, clamped),
                 scalar.constant(-0.044715 * slope), scalar.constant(-slope));
  return scalar.mul(clamped, gate(scalar.mul(clamped, factor)));
}

Value FastMath::apply(kernel::MathFunction function, Value x) {
  constexpr double log2E = numerics::detail::log2E;
  switch (function) {
  case kernel::MathFunction::Exp:
    return power(scale(x, log2E));
  case kernel::MathFunction::Log:
    return scale(approximate("lg2.approx.ftz.f32", x), 1 / log2E);
  case kernel::MathFunction::Tanh:
    return approximate("tanh.approx.f32", x);
  case kernel::MathFunction::Sigmoid:
    return gate(scale(scalar.maximum(x, scalar.constant(-86)), -log2E));
  case kernel::MathFunction::Silu:
    return silu(x);
  case kernel::MathFunction::GeluTanh:
    return geluTanh(x);
  case kernel::MathFunction::Rsqrt:
    return approximate("rsqrt.approx.ftz.f32", x);
  case kernel::MathFunction::Sqrt:
    return approximate("sqrt.approx.ftz.f32", x);
  case kernel::MathFunction::Erf:
  case kernel::MathFunction::GeluErf:
    return {};
  }
  llvm_unreachable("every function is listed");
}

Value ptx::expandMath(OpBuilder &builder, Location loc, kernel::MathMode mode,
                      kernel::MathFunction function, kernel::Accuracy accuracy,
                      Value input) {
  ImplicitLocOpBuilder b(loc, builder);
  if (mode == kernel::MathMode::Fast && input.getType().isF32())
    if (Value fast = FastMath(b, accuracy == kernel::Accuracy::BF16)
                         .apply(function, input))
      return fast;
  ArithScalarBuilder scalar(b, input.getType());
  return numerics::applyUnary(scalar, toNumerics(function), input,
                              toNumerics(accuracy));
}
