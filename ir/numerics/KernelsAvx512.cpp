// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The inner loops compiled for AVX-512.

#include "ir/numerics/ArrayMathKernels.h"
#include "ir/numerics/MatrixUnitKernels.h"
#include "ir/numerics/ProductKernels.h"
#include "ir/numerics/ReduceKernels.h"

namespace epifold::numerics {
namespace {
// A type of this file alone keeps every instantiation local to it (see
// HostScalar).
struct Avx512Isa {
  static constexpr size_t vectorBytes = 64;
};

constexpr KernelTable makeTable() {
  KernelTable table{};
  detail::fillArrayMath<Avx512Isa>(table);
  detail::fillReduce<Avx512Isa>(table);
  detail::fillProduct<Avx512Isa>(table);
  detail::fillMatrixUnit<Avx512Isa>(table);
  return table;
}
} // namespace

extern const KernelTable avx512Kernels;
constexpr KernelTable avx512Kernels = makeTable();

} // namespace epifold::numerics
