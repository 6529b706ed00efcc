// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Schedules as text, and a product's name in a tuning file.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_SCHEDULETEXT_H
#define EPIFOLD_BACKENDS_PTX_GEMM_SCHEDULETEXT_H

#include "backends/ptx/gemm/GemmSchedule.h"

namespace epifold::ptx {

/// See `describeProduct`.
std::string printProblem(const GemmProblem &problem);

/// See `ScheduleUse`; `mostRows` is no part of the text.
std::string printSchedule(const GemmProblem &problem,
                          const GemmSchedule &schedule);

/// The schedule of such a text, whether or not it fits the problem. Reports
/// what cannot be read.
mlir::FailureOr<GemmSchedule>
parseSchedule(const GemmProblem &problem, llvm::StringRef text,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_SCHEDULETEXT_H
