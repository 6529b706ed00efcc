// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses tiles for wgmma by what they cost on Hopper.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_WGMMACOST_H
#define EPIFOLD_BACKENDS_PTX_GEMM_WGMMACOST_H

#include "backends/ptx/gemm/GemmSchedule.h"

namespace epifold::ptx {

/// Every schedule that wgmma can run `problem` by, whatever it costs.
llvm::SmallVector<GemmSchedule> wgmmaCandidates(const GemmProblem &problem);

/// Clock cycles that a launch of `rows` rows (of all groups together where they
/// are ragged) is expected to take.
double estimateWgmma(const GemmProblem &problem, const GemmSchedule &schedule,
                     int64_t rows);

/// The candidate with the least estimate; none when wgmma cannot run the
/// product.
std::optional<GemmSchedule> chooseWgmma(const GemmProblem &problem,
                                        int64_t rows);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_WGMMACOST_H
