// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the emitter and the schedule of a kernel.gemm.

#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/gemm/GemmEmitters.h"
#include "backends/ptx/gemm/TunedSchedules.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static KernelSource emitBy(const GemmProblem &problem,
                           const GemmSchedule &schedule) {
  if (schedule.usesWgmma)
    return emitWgmmaGemm(problem, schedule);
  return problem.usesMatrixUnit() ? emitMmaGemm(problem, schedule)
                                  : emitFmaGemm(problem, schedule);
}

LogicalResult epifold::ptx::checkGemm(kernel::GemmOp op) {
  GemmProblem problem(op);
  if (problem.depth == 0 || problem.columns == 0)
    return op.emitOpError("has no ")
           << (problem.depth == 0 ? "reduction steps" : "columns")
           << "; it needs no kernel";
  auto typeOfA = cast<RankedTensorType>(op.getA().getType());
  if (problem.hasGroupedA && typeOfA.getDimSize(0) != problem.groups)
    return op.emitOpError("has A ")
           << typeOfA << " but B's for " << problem.groups
           << " groups; both must have as many";
  // The accumulators of all products of a row and column live in one thread's
  // registers.
  constexpr int64_t kMaxProducts = 8;
  if (problem.products > kMaxProducts)
    return op.emitOpError("shares A among ")
           << problem.products << " products; the PTX backend takes at most "
           << kMaxProducts << ", split it";
  return success();
}

FailureOr<std::vector<KernelSource>>
epifold::ptx::emitGemm(kernel::GemmOp op, const TargetFeatures &features) {
  if (failed(checkGemm(op)))
    return failure();
  GemmProblem problem(op);
  FailureOr<SmallVector<GemmSchedule>> schedules =
      chooseSchedules(problem, features.hasWgmma, features.measured);
  if (failed(schedules))
    return failure();
  std::vector<KernelSource> sources;
  for (const GemmSchedule &schedule : *schedules)
    sources.push_back(emitBy(problem, schedule));
  return sources;
}
