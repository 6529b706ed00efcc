// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The inner loops compiled for AVX2 and FMA.

#include "ir/numerics/ArrayMathKernels.h"
#include "ir/numerics/MatrixUnitKernels.h"
#include "ir/numerics/ProductKernels.h"
#include "ir/numerics/ReduceKernels.h"

namespace epifold::numerics {
namespace {
// A type of this file alone keeps every instantiation local to it (see
// HostScalar).
struct Avx2Isa {
  static constexpr size_t vectorBytes = 32;
};

constexpr KernelTable makeTable() {
  KernelTable table{};
  detail::fillArrayMath<Avx2Isa>(table);
  detail::fillReduce<Avx2Isa>(table);
  detail::fillProduct<Avx2Isa>(table);
  detail::fillMatrixUnit<Avx2Isa>(table);
  return table;
}
} // namespace

extern const KernelTable avx2Kernels;
constexpr KernelTable avx2Kernels = makeTable();

} // namespace epifold::numerics
