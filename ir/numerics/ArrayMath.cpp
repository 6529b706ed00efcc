// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks sizes and hands arrays to the loops of this processor.

#include "ir/numerics/ArrayMath.h"

#include "ir/numerics/KernelTable.h"

#include <cassert>

namespace epifold::numerics {

void applyUnary(UnaryFunction function, Accuracy accuracy,
                std::span<const float> in, std::span<float> out) {
  assert(in.size() == out.size());
  auto loop = kernelTable().unaryFloat[static_cast<unsigned>(function)]
                                      [static_cast<unsigned>(accuracy)];
  loop(in.data(), out.data(), in.size());
}

void applyUnary(UnaryFunction function, Accuracy, std::span<const double> in,
                std::span<double> out) {
  assert(in.size() == out.size());
  kernelTable().unaryDouble[static_cast<unsigned>(function)](
      in.data(), out.data(), in.size());
}

void fusedMultiplyAdd(std::span<const float> a, std::span<const float> b,
                      std::span<const float> c, std::span<float> out) {
  assert(a.size() == out.size() && b.size() == out.size() &&
         c.size() == out.size());
  kernelTable().fmaFloat(a.data(), b.data(), c.data(), out.data(), out.size());
}

void fusedMultiplyAdd(std::span<const double> a, std::span<const double> b,
                      std::span<const double> c, std::span<double> out) {
  assert(a.size() == out.size() && b.size() == out.size() &&
         c.size() == out.size());
  kernelTable().fmaDouble(a.data(), b.data(), c.data(), out.data(), out.size());
}

float applyUnary(UnaryFunction function, Accuracy accuracy, float x) {
  applyUnary(function, accuracy, std::span<const float>(&x, 1),
             std::span(&x, 1));
  return x;
}

double applyUnary(UnaryFunction function, Accuracy accuracy, double x) {
  applyUnary(function, accuracy, std::span<const double>(&x, 1),
             std::span(&x, 1));
  return x;
}

float fusedMultiplyAdd(float a, float b, float c) {
  kernelTable().fmaFloat(&a, &b, &c, &c, 1);
  return c;
}

double fusedMultiplyAdd(double a, double b, double c) {
  kernelTable().fmaDouble(&a, &b, &c, &c, 1);
  return c;
}

} // namespace epifold::numerics
