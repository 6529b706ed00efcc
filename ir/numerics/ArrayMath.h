// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elementwise arithmetic over arrays, with the portable functions' bits and
// vector speed.

#ifndef EPIFOLD_IR_NUMERICS_ARRAYMATH_H
#define EPIFOLD_IR_NUMERICS_ARRAYMATH_H

#include "ir/numerics/PortableMath.h"

#include <span>

namespace epifold::numerics {

/// out[i] = function(in[i]). Both spans have the same size and are equal or
/// disjoint. Every element has the bits of applyUnary over HostScalar; f64
/// always uses the F64 sequence.
void applyUnary(UnaryFunction function, Accuracy accuracy,
                std::span<const float> in, std::span<float> out);
void applyUnary(UnaryFunction function, Accuracy accuracy,
                std::span<const double> in, std::span<double> out);

/// out[i] = a[i] * b[i] + c[i], rounded once. Spans of one size, out equal to
/// or disjoint from each operand.
void fusedMultiplyAdd(std::span<const float> a, std::span<const float> b,
                      std::span<const float> c, std::span<float> out);
void fusedMultiplyAdd(std::span<const double> a, std::span<const double> b,
                      std::span<const double> c, std::span<double> out);

/// One element, for callers that cannot batch: the same bits, with the cost of
/// a call.
float applyUnary(UnaryFunction function, Accuracy accuracy, float x);
double applyUnary(UnaryFunction function, Accuracy accuracy, double x);
float fusedMultiplyAdd(float a, float b, float c);
double fusedMultiplyAdd(double a, double b, double c);

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_ARRAYMATH_H
