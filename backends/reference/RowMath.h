// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Steps on one row that several ops share.

#ifndef EPIFOLD_BACKENDS_REFERENCE_ROWMATH_H
#define EPIFOLD_BACKENDS_REFERENCE_ROWMATH_H

#include "ir/numerics/ArrayMath.h"
#include "ir/numerics/Reduce.h"
#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace epifold::reference {

/// Rows of a thread's part, about ten thousand elements.
inline int64_t rowsPerPart(int64_t columns) {
  return std::max<int64_t>(1, 10000 / std::max<int64_t>(columns, 1));
}

/// Replaces x by exp(x − max x) and returns the maximum; a NaN anywhere in the
/// row makes all of it NaN.
template <typename T>
T exponentiateRow(llvm::MutableArrayRef<T> x, numerics::Accuracy accuracy) {
  T maximum = x.front();
  for (T value : x)
    maximum = value > maximum || std::isnan(value) ? value : maximum;
  for (T &value : x)
    value -= maximum;
  numerics::applyUnary(numerics::UnaryFunction::Exp, accuracy,
                       std::span<const T>(x.data(), x.size()),
                       std::span<T>(x.data(), x.size()));
  return maximum;
}

/// Σx by the row-sum tree.
template <typename T>
T rowSum(llvm::ArrayRef<T> x) {
  return numerics::rowSum(std::span<const T>(x.data(), x.size()));
}

/// x[0] + x[1] + …, one after the other. At least one element.
template <typename T>
T sumAscending(llvm::ArrayRef<T> x) {
  T sum = x.front();
  for (T value : x.drop_front())
    sum += value;
  return sum;
}

} // namespace epifold::reference

#endif
