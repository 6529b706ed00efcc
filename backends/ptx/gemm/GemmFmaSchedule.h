// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the tiles of f32 and f64 products.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_GEMMFMASCHEDULE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_GEMMFMASCHEDULE_H

#include "backends/ptx/gemm/GemmSchedule.h"

namespace epifold::ptx {

/// Every schedule that the emitter of f32 and f64 products can follow.
llvm::SmallVector<GemmSchedule> fmaCandidates(const GemmProblem &problem);

/// The schedule that a model of the multiprocessors expects to take least, for
/// groups of `rows` rows (of all groups' rows where they are ragged; INT32_MAX
/// when they are not known).
GemmSchedule chooseFma(const GemmProblem &problem, int64_t rows);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_GEMMFMASCHEDULE_H
