// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random tensors that are the same on every machine, so that no test data has
// to travel.

#ifndef EPIFOLD_TESTS_EXACT_RANDOMTENSORS_H
#define EPIFOLD_TESTS_EXACT_RANDOMTENSORS_H

#include "epifold/runtime/Error.h"
#include "epifold/runtime/Tensor.h"

#include <cstdint>
#include <string_view>

namespace epifold::exact {

/// What a random tensor holds.
struct RandomSpec {
  uint64_t seed = 1;
  double scale = 1;     ///< Standard deviation of floats.
  double mean = 0;      ///< Mean of floats.
  int64_t intBound = 2; ///< Integers are uniform in [0, intBound).
};

/// A tensor whose element i depends on the seed, the name and i alone: the
/// first rows of a longer tensor of that name are those of a shorter one.
/// Floats are close to normal and rounded to nearest even. Errors: a bad shape,
/// no memory, a type other than f64, f32, bf16, f16, i64 and i32.
Expected<runtime::HostTensor> randomTensor(std::string_view name, DataType type,
                                           const runtime::Shape &shape,
                                           const RandomSpec &spec);

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_RANDOMTENSORS_H
