// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Schedules of products, for those who list and measure them.

#include "backends/ptx/Schedules.h"

#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/gemm/ScheduleText.h"
#include "backends/ptx/gemm/TunedSchedules.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

std::optional<std::string> epifold::ptx::describeProduct(Operation *op) {
  auto gemm = dyn_cast<kernel::GemmOp>(op);
  return gemm ? std::optional(printProblem(GemmProblem(gemm))) : std::nullopt;
}

std::optional<int64_t> epifold::ptx::rowsOfProduct(Operation *op) {
  return knownRows(GemmProblem(cast<kernel::GemmOp>(op)));
}

FailureOr<std::vector<ScheduleUse>>
epifold::ptx::schedulesInUse(Operation *op, const std::string &target,
                             llvm::ArrayRef<TunedSchedule> tuned) {
  auto gemm = cast<kernel::GemmOp>(op);
  if (failed(checkGemm(gemm)))
    return failure();
  GemmProblem problem(gemm);
  TargetFeatures features = featuresOf(op, target, tuned);
  FailureOr<SmallVector<GemmSchedule>> schedules =
      chooseSchedules(problem, features.hasWgmma, features.measured);
  if (failed(schedules))
    return failure();
  std::vector<ScheduleUse> uses;
  for (const GemmSchedule &schedule : *schedules) {
    ScheduleUse &use = uses.emplace_back();
    use.schedule = printSchedule(problem, schedule);
    use.mostRows = schedule.mostRows;
    use.isMeasured = llvm::any_of(features.measured, [&](const auto &entry) {
      return entry.schedule == use.schedule;
    });
  }
  return uses;
}

FailureOr<std::vector<std::string>>
epifold::ptx::scheduleCandidates(Operation *op, const std::string &target) {
  auto gemm = cast<kernel::GemmOp>(op);
  if (failed(checkGemm(gemm)))
    return failure();
  GemmProblem problem(gemm);
  bool hasWgmma = featuresOf(op, target, {}).hasWgmma;
  std::vector<std::string> texts;
  for (const GemmSchedule &schedule : legalSchedules(problem, hasWgmma))
    texts.push_back(printSchedule(problem, schedule));
  return texts;
}
