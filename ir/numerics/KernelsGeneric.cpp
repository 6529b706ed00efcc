// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The inner loops compiled for the program's own flags.

#include "ir/numerics/ArrayMathKernels.h"
#include "ir/numerics/MatrixUnitKernels.h"
#include "ir/numerics/ProductKernels.h"
#include "ir/numerics/ReduceKernels.h"

namespace epifold::numerics {
namespace {
// A type of this file alone keeps every instantiation local to it (see
// HostScalar).
struct GenericIsa {
  static constexpr size_t vectorBytes = 16;
};

constexpr KernelTable makeTable() {
  KernelTable table{};
  detail::fillArrayMath<GenericIsa>(table);
  detail::fillReduce<GenericIsa>(table);
  detail::fillProduct<GenericIsa>(table);
  detail::fillMatrixUnit<GenericIsa>(table);
  return table;
}
} // namespace

extern const KernelTable genericKernels;
constexpr KernelTable genericKernels = makeTable();

} // namespace epifold::numerics
