// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensors of random numbers, made fast enough for gigabytes of weights.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_RANDOMTENSOR_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_RANDOMTENSOR_H

#include "epifold/runtime/Tensor.h"

#include <cstdint>

namespace epifold::tools {

/// What the elements of a tensor are drawn from.
struct Distribution {
  double mean = 0;      ///< Of floats, which are normal.
  double deviation = 1; ///< Of floats.
  int64_t limit = 256;  ///< Integers are uniform in [0, limit).
};

/// A tensor of numbers that depend on `seed` and the place alone, never on the
/// number of threads. Past 2^24 - 1 elements the numbers repeat: the period is
/// odd, so that no two rows of a usual width are equal. Errors: a bad shape, no
/// memory, a limit that the integer type cannot hold.
Expected<runtime::HostTensor> randomTensor(DataType type, runtime::Shape shape,
                                           const Distribution &distribution,
                                           uint64_t seed);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_RANDOMTENSOR_H
