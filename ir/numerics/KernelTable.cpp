// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the inner loops by what the processor offers.

#include "ir/numerics/KernelTable.h"

#include <initializer_list>

namespace epifold::numerics {

extern const KernelTable genericKernels;
#ifdef EPIFOLD_HAS_X86_KERNELS
extern const KernelTable avx2Kernels;
extern const KernelTable avx512Kernels;
#endif

const KernelTable *kernelTableFor(Isa isa) {
  switch (isa) {
  case Isa::Generic:
    return &genericKernels;
#ifdef EPIFOLD_HAS_X86_KERNELS
  case Isa::Avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? &avx2Kernels
               : nullptr;
  case Isa::Avx512:
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("fma")
               ? &avx512Kernels
               : nullptr;
#endif
  default:
    return nullptr;
  }
}

const KernelTable &kernelTable() {
  static const KernelTable &best = []() -> const KernelTable & {
    for (Isa isa : {Isa::Avx512, Isa::Avx2})
      if (const KernelTable *table = kernelTableFor(isa))
        return *table;
    return genericKernels;
  }();
  return best;
}

} // namespace epifold::numerics
