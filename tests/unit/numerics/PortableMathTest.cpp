// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The portable functions' accuracy, special values and instruction counts.

#include "ir/numerics/PortableMath.h"
#include "ir/numerics/ArrayMath.h"
#include "ir/numerics/HostScalar.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

using namespace epifold::numerics;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The functions in the C library's extended precision, which has 11 bits more
/// than f64.
long double exact(UnaryFunction function, long double x) {
  const long double pi = acosl(-1);
  switch (function) {
  case UnaryFunction::Exp:
    return expl(x);
  case UnaryFunction::Log:
    return logl(x);
  case UnaryFunction::Erf:
    return erfl(x);
  case UnaryFunction::Tanh:
    return tanhl(x);
  case UnaryFunction::Sigmoid:
    return 1 / (1 + expl(-x));
  case UnaryFunction::Silu:
    return x / (1 + expl(-x));
  case UnaryFunction::GeluErf:
    return 0.5L * x * erfcl(-x / sqrtl(2));
  case UnaryFunction::GeluTanh:
    // The same number as x/2 (1 + tanh …), without its cancellation.
    return x / (1 + expl(-2 * sqrtl(2 / pi) * (x + 0.044715L * x * x * x)));
  case UnaryFunction::Rsqrt:
    return 1 / sqrtl(x);
  case UnaryFunction::Sqrt:
    return sqrtl(x);
  }
  return NAN;
}

/// An interval in which an accuracy promises a relative and an absolute error;
/// an element may pass by either.
struct Bound {
  UnaryFunction function;
  Accuracy accuracy;
  double low, high;
  double relative, absolute;
};

std::vector<double> samples(double low, double high) {
  std::vector<double> xs;
  for (int i = 0; i <= 40000; ++i)
    xs.push_back(low + (high - low) * i / 40000);
  // Every binade near zero as well, for relative accuracy there.
  for (int i = 0; i < 1280; ++i)
    for (double x : {std::exp2(-100 + i / 12.0), -std::exp2(-100 + i / 12.0)})
      if (low <= x && x <= high)
        xs.push_back(x);
  return xs;
}

class AccuracyTest : public testing::TestWithParam<Bound> {};

TEST_P(AccuracyTest, StaysWithinItsBound) {
  const Bound &bound = GetParam();
  double worst = 0, worstAt = 0;
  for (double x : samples(bound.low, bound.high)) {
    double y;
    if (bound.accuracy == Accuracy::F64) {
      y = applyUnary(bound.function, bound.accuracy, x);
    } else {
      x = static_cast<float>(x);
      y = applyUnary(bound.function, bound.accuracy, static_cast<float>(x));
    }
    long double truth = exact(bound.function, x);
    if (y == truth)
      continue;
    double share = static_cast<double>(
        fabsl(y - truth) / (bound.relative * fabsl(truth) + bound.absolute));
    if (!(share <= worst)) {
      worst = share;
      worstAt = x;
    }
  }
  EXPECT_LE(worst, 1) << "at " << worstAt;
  // A bound that is nowhere near met says nothing.
  EXPECT_GE(worst, 0.2) << "the stated bound is too loose";
}

constexpr double floatUlp = 0x1p-23, doubleUlp = 0x1p-52;
using enum UnaryFunction;

INSTANTIATE_TEST_SUITE_P(
    BF16, AccuracyTest,
    testing::Values(Bound{Exp, Accuracy::BF16, -87, 88, 7.7e-5, 0},
                    Bound{Log, Accuracy::BF16, 0x1p-20, 64, 9.4e-5, 0},
                    Bound{Erf, Accuracy::BF16, -6, 6, 1.5e-4, 0},
                    Bound{Tanh, Accuracy::BF16, -8, 8, 1.3e-4, 0},
                    Bound{Sigmoid, Accuracy::BF16, -86, 88, 1.1e-4, 0},
                    Bound{Silu, Accuracy::BF16, -86, 88, 1.15e-4, 0},
                    Bound{GeluErf, Accuracy::BF16, -5.5, 9, 1.2e-4, 0},
                    Bound{GeluErf, Accuracy::BF16, -40, -5.5, 0, 1.1e-7},
                    Bound{GeluTanh, Accuracy::BF16, -5, 9, 1.1e-4, 0},
                    Bound{GeluTanh, Accuracy::BF16, -40, -5, 0, 2.4e-7}));

INSTANTIATE_TEST_SUITE_P(
    F32, AccuracyTest,
    testing::Values(Bound{Exp, Accuracy::F32, -87, 88, floatUlp, 0},
                    Bound{Log, Accuracy::F32, 0x1p-20, 64, floatUlp, 0},
                    Bound{Erf, Accuracy::F32, -6, 6, 2 * floatUlp, 0},
                    Bound{Tanh, Accuracy::F32, -12, 12, 2 * floatUlp, 0},
                    Bound{Sigmoid, Accuracy::F32, -86, 88, 2 * floatUlp, 0},
                    Bound{Silu, Accuracy::F32, -86, 88, 2 * floatUlp, 0},
                    Bound{GeluErf, Accuracy::F32, -1, 9, 4 * floatUlp, 0},
                    Bound{GeluErf, Accuracy::F32, -5.65, -1, 3e-6, 0},
                    Bound{GeluErf, Accuracy::F32, -40, -5.65, 0, 5e-8},
                    Bound{GeluTanh, Accuracy::F32, -1, 9, 4 * floatUlp, 0},
                    Bound{GeluTanh, Accuracy::F32, -9.9, -1, 1.2e-5, 0},
                    Bound{Rsqrt, Accuracy::F32, 0x1p-20, 64, floatUlp, 0},
                    Bound{Sqrt, Accuracy::F32, 0, 64, floatUlp / 2, 0}));

INSTANTIATE_TEST_SUITE_P(
    F64, AccuracyTest,
    testing::Values(Bound{Exp, Accuracy::F64, -700, 700, doubleUlp, 0},
                    Bound{Log, Accuracy::F64, 0x1p-20, 64, doubleUlp, 0},
                    Bound{Erf, Accuracy::F64, -8, 8, 4 * doubleUlp, 0},
                    Bound{Tanh, Accuracy::F64, -30, 30, 2 * doubleUlp, 0},
                    Bound{Sigmoid, Accuracy::F64, -86, 88, 2 * doubleUlp, 0},
                    Bound{Silu, Accuracy::F64, -86, 88, 2 * doubleUlp, 0},
                    Bound{GeluErf, Accuracy::F64, -1, 9, 4 * doubleUlp, 0},
                    Bound{GeluErf, Accuracy::F64, -8.48, -1, 2e-14, 0},
                    Bound{GeluErf, Accuracy::F64, -40, -8.48, 0, 1e-16},
                    Bound{GeluTanh, Accuracy::F64, -1, 9, 4 * doubleUlp, 0},
                    Bound{GeluTanh, Accuracy::F64, -21, -1, 2e-13, 0},
                    Bound{Rsqrt, Accuracy::F64, 0x1p-20, 64, doubleUlp, 0},
                    Bound{Sqrt, Accuracy::F64, 0, 64, doubleUlp / 2, 0}));

/// Applies every accuracy of f32, and f64, and hands the results to the check.
template <typename Check>
void forEachAccuracy(UnaryFunction function, double x, Check check) {
  for (Accuracy accuracy : {Accuracy::BF16, Accuracy::F32, Accuracy::F64}) {
    double y = accuracy == Accuracy::F64
                   ? applyUnary(function, accuracy, x)
                   : applyUnary(function, accuracy, static_cast<float>(x));
    SCOPED_TRACE("function " + std::to_string(static_cast<int>(function)) +
                 ", accuracy " + std::to_string(static_cast<int>(accuracy)) +
                 ", x " + std::to_string(x));
    check(y, accuracy == Accuracy::BF16);
  }
}

TEST(PortableMath, NaNGivesNaN) {
  for (unsigned i = 0; i < numUnaryFunctions; ++i)
    forEachAccuracy(UnaryFunction(i), nan,
                    [](double y, bool) { EXPECT_TRUE(std::isnan(y)); });
  for (auto function : {Log, Sqrt, Rsqrt})
    for (double x : {-1.0, -inf, -1e-40})
      forEachAccuracy(function, x,
                      [](double y, bool) { EXPECT_TRUE(std::isnan(y)); });
}

TEST(PortableMath, KeepsTheSignOfZero) {
  for (auto function : {Erf, Tanh, Silu, GeluErf, GeluTanh, Sqrt})
    for (double zero : {0.0, -0.0})
      forEachAccuracy(function, zero, [&](double y, bool) {
        EXPECT_EQ(y, 0);
        EXPECT_EQ(std::signbit(y), std::signbit(zero));
      });
}

TEST(PortableMath, LimitsAtInfinity) {
  forEachAccuracy(Exp, inf, [](double y, bool) { EXPECT_EQ(y, inf); });
  forEachAccuracy(Exp, -inf, [](double y, bool) { EXPECT_EQ(y, 0); });
  forEachAccuracy(Log, inf, [](double y, bool) { EXPECT_EQ(y, inf); });
  for (double zero : {0.0, -0.0})
    forEachAccuracy(Log, zero, [](double y, bool) { EXPECT_EQ(y, -inf); });
  for (auto function : {Erf, Tanh})
    for (double x : {inf, -inf, 1e30, -1e30})
      forEachAccuracy(function, x, [&](double y, bool coarse) {
        EXPECT_NEAR(y, std::copysign(1, x), coarse ? 1.5e-4 : 0);
        EXPECT_LE(std::abs(y), 1);
      });
  forEachAccuracy(Sigmoid, inf, [](double y, bool coarse) {
    EXPECT_NEAR(y, 1, coarse ? 4e-5 : 0);
  });
  forEachAccuracy(Sigmoid, -inf,
                  [](double y, bool) { EXPECT_TRUE(y > 0 && y < 1e-37) << y; });
}

TEST(PortableMath, ActivationsOfLargeNumbers) {
  for (auto function : {Silu, GeluErf, GeluTanh}) {
    forEachAccuracy(function, inf, [](double y, bool) { EXPECT_EQ(y, inf); });
    forEachAccuracy(function, 1e30, [](double y, bool coarse) {
      EXPECT_NEAR(y, 1e30, coarse ? 4e25 : 2e22);
    });
    for (double x : {-1e30, -inf})
      forEachAccuracy(function, x, [](double y, bool) {
        EXPECT_TRUE(y <= 0 && y > -3e-7) << y;
      });
  }
}

TEST(PortableMath, ExponentialUnderflowsGradually) {
  for (double x : {-88.0, -95.0, -103.0, -103.9})
    for (Accuracy accuracy : {Accuracy::BF16, Accuracy::F32}) {
      float y = applyUnary(Exp, accuracy, static_cast<float>(x));
      EXPECT_NEAR(y, std::exp(x), std::exp(x) * 7.7e-5 + 0x1p-149) << x;
      EXPECT_GT(y, 0);
    }
  EXPECT_EQ(applyUnary(Exp, Accuracy::F32, -104.0f), 0);
  EXPECT_EQ(applyUnary(Exp, Accuracy::F64, -745.0), 0x1p-1074);
  EXPECT_EQ(applyUnary(Exp, Accuracy::F64, -745.2), 0);
  EXPECT_EQ(applyUnary(Exp, Accuracy::F32, 89.0f), inf);
  EXPECT_LT(applyUnary(Exp, Accuracy::F32, 88.72f), inf);
}

TEST(PortableMath, LogarithmOfSubnormals) {
  for (int exponent = -149; exponent < -120; ++exponent)
    EXPECT_FLOAT_EQ(applyUnary(Log, Accuracy::F32, std::ldexp(1.0f, exponent)),
                    exponent * std::log(2.0));
  for (int exponent = -1074; exponent < -1015; ++exponent)
    EXPECT_DOUBLE_EQ(applyUnary(Log, Accuracy::F64, std::ldexp(1.0, exponent)),
                     exponent * std::log(2.0));
}

/// Counts what a code generator would emit: every operation but constants and
/// bit casts.
struct CountingBuilder {
  using Value = float;
  using IntValue = int32_t;
  using Bool = bool;
  HostScalar<float> host;
  int count = 0, divisions = 0;

  bool isDouble() const { return false; }
  Value constant(double c) { return host.constant(c); }
  IntValue intConstant(int64_t c) { return host.intConstant(c); }
  Value add(Value a, Value b) { return ++count, host.add(a, b); }
  Value sub(Value a, Value b) { return ++count, host.sub(a, b); }
  Value mul(Value a, Value b) { return ++count, host.mul(a, b); }
  Value div(Value a, Value b) { return ++count, ++divisions, host.div(a, b); }
  Value sqrt(Value a) { return ++count, ++divisions, host.sqrt(a); }
  Value fma(Value a, Value b, Value c) { return ++count, host.fma(a, b, c); }
  Value fmaSaturated(Value a, Value b, Value c) {
    return ++count, host.fmaSaturated(a, b, c);
  }
  Value neg(Value a) { return ++count, host.neg(a); }
  Value abs(Value a) { return ++count, host.abs(a); }
  Value minimum(Value a, Value b) { return ++count, host.minimum(a, b); }
  Value maximum(Value a, Value b) { return ++count, host.maximum(a, b); }
  Bool lt(Value a, Value b) { return ++count, host.lt(a, b); }
  Bool isNaN(Value a) { return ++count, host.isNaN(a); }
  Value select(Bool c, Value a, Value b) {
    return ++count, host.select(c, a, b);
  }
  IntValue bitcastToInt(Value a) { return host.bitcastToInt(a); }
  Value bitcastToFloat(IntValue i) { return host.bitcastToFloat(i); }
  IntValue intAdd(IntValue a, IntValue b) { return ++count, host.intAdd(a, b); }
  IntValue intSub(IntValue a, IntValue b) { return ++count, host.intSub(a, b); }
  IntValue intAnd(IntValue a, IntValue b) { return ++count, host.intAnd(a, b); }
  IntValue intShl(IntValue a, unsigned n) { return ++count, host.intShl(a, n); }
  IntValue intShr(IntValue a, unsigned n) { return ++count, host.intShr(a, n); }
  IntValue intSubShifted(IntValue a, IntValue b, unsigned n) {
    return ++count, host.intSubShifted(a, b, n);
  }
};
static_assert(ScalarBuilder<CountingBuilder>);

TEST(PortableMath, InstructionCounts) {
  struct Expected {
    UnaryFunction function;
    int bf16, f32;
  };
  // A matrix product's epilogue pays these for every element: a change is a
  // decision, so the numbers are exact.
  for (auto [function, bf16, f32] :
       {Expected{Exp, 14, 18}, Expected{Log, 26, 31}, Expected{Erf, 11, 26},
        Expected{Tanh, 20, 28}, Expected{Sigmoid, 14, 20},
        Expected{Silu, 14, 21}, Expected{GeluErf, 15, 28},
        Expected{GeluTanh, 16, 26}})
    for (auto [accuracy, count] :
         {std::pair{Accuracy::BF16, bf16}, std::pair{Accuracy::F32, f32}}) {
      CountingBuilder builder;
      applyUnary(builder, function, 0.75f, accuracy);
      EXPECT_EQ(builder.count, count)
          << "function " << static_cast<int>(function) << ", accuracy "
          << static_cast<int>(accuracy);
      EXPECT_EQ(builder.divisions, 0);
    }
}

} // namespace
