// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The schedules of a product where some were measured.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_TUNEDSCHEDULES_H
#define EPIFOLD_BACKENDS_PTX_GEMM_TUNEDSCHEDULES_H

#include "backends/ptx/Schedules.h"
#include "backends/ptx/gemm/GemmSchedule.h"

namespace epifold::ptx {

/// Rows of a launch, of one group where they are not ragged, when they are
/// known at compile time.
std::optional<int64_t> knownRows(const GemmProblem &problem);

/// The schedules that run `problem` on any target with its type, whatever they
/// cost.
llvm::SmallVector<GemmSchedule> fallbackCandidates(const GemmProblem &problem);

/// Every schedule that the emitters can follow for `problem`, each once.
llvm::SmallVector<GemmSchedule> legalSchedules(const GemmProblem &problem,
                                               bool hasWgmma);

/// As `chooseSchedules`, with measured schedules for the rows that they are
/// for. Reports a text that is no schedule, or one that does not fit.
mlir::FailureOr<llvm::SmallVector<GemmSchedule>>
chooseSchedules(const GemmProblem &problem, bool hasWgmma,
                llvm::ArrayRef<MeasuredSchedule> measured);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_TUNEDSCHEDULES_H
