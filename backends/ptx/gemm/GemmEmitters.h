// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One emitter of products per kind of arithmetic unit.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_GEMMEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_GEMM_GEMMEMITTERS_H

#include "backends/ptx/gemm/GemmSchedule.h"

namespace epifold::ptx {

/// f32 and f64: one fma a step, k ascending, no step that the product does not
/// have.
KernelSource emitFmaGemm(const GemmProblem &problem,
                         const GemmSchedule &schedule);

/// bf16 and f16: `mma.sync` m16n8k16 into f32, each tap zero-padded to a
/// multiple of 16 steps; sm_80 and later.
KernelSource emitMmaGemm(const GemmProblem &problem,
                         const GemmSchedule &schedule);

/// bf16 and f16: `wgmma` m64nNk16, the same steps and bits as emitMmaGemm's;
/// sm_90a. The schedule must be one that uses wgmma.
KernelSource emitWgmmaGemm(const GemmProblem &problem,
                           const GemmSchedule &schedule);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_GEMMEMITTERS_H
