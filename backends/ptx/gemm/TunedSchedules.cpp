// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks measured schedules and puts them between the chosen ones.

#include "backends/ptx/gemm/TunedSchedules.h"

#include "backends/ptx/gemm/ScheduleText.h"
#include "backends/ptx/gemm/SlabCopier.h"
#include "backends/ptx/gemm/WgmmaCost.h"

#include <cmath>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
/// A measured schedule and the rows that it is for: above `above`, up to
/// `most`.
struct Interval {
  GemmSchedule schedule;
  int64_t rows, above, most;

  bool contains(int64_t count) const { return above < count && count <= most; }
};
} // namespace

SmallVector<GemmSchedule>
epifold::ptx::legalSchedules(const GemmProblem &problem, bool hasWgmma) {
  SmallVector<GemmSchedule> result;
  auto add = [&](GemmSchedule schedule) {
    schedule.mostRows = std::nullopt;
    if (!llvm::is_contained(result, schedule))
      result.push_back(schedule);
  };
  if (hasWgmma && problem.usesMatrixUnit() &&
      problem.readsPieces(SlabCopier::kPiece))
    llvm::for_each(wgmmaCandidates(problem), add);
  llvm::for_each(fallbackCandidates(problem), add);
  return result;
}

/// Whether `schedule` is one of the legal ones, but for what the emitters take
/// as it comes: fewer stages, and any raster.
static bool fits(const GemmSchedule &schedule, const GemmSchedule &legal) {
  constexpr int64_t kLeastStages = 2, kMostRaster = 64;
  GemmSchedule same = schedule;
  same.stages = legal.stages;
  same.rasterRows = legal.rasterRows;
  return same == legal && schedule.stages >= kLeastStages &&
         schedule.stages <= legal.stages && schedule.rasterRows <= kMostRaster;
}

/// The measured schedules in the order of their rows.
static FailureOr<SmallVector<Interval>>
readMeasured(const GemmProblem &problem, bool hasWgmma,
             llvm::ArrayRef<MeasuredSchedule> measured) {
  SmallVector<GemmSchedule> legal = legalSchedules(problem, hasWgmma);
  SmallVector<Interval> intervals;
  for (const MeasuredSchedule &entry : measured) {
    kernel::GemmOp op = problem.op;
    auto emitError = [&] { return op.emitError("tuning: "); };
    FailureOr<GemmSchedule> schedule =
        parseSchedule(problem, entry.schedule, emitError);
    if (failed(schedule))
      return failure();
    if (llvm::none_of(legal, [&](const GemmSchedule &candidate) {
          return fits(*schedule, candidate);
        }))
      return emitError() << "schedule '" << entry.schedule
                         << "' does not fit the product '"
                         << printProblem(problem)
                         << "'; tune it again with this compiler";
    constexpr int64_t kMost = int64_t(1) << 60;
    int64_t rows = std::min(entry.rows, kMost);
    intervals.push_back({*schedule, rows, rows / 2, rows * 2});
  }
  llvm::sort(intervals, [](const Interval &a, const Interval &b) {
    return a.rows < b.rows;
  });
  // Where two overlap each has what is nearer to its own rows, by ratio.
  for (size_t i = 1; i < intervals.size(); ++i) {
    Interval &lower = intervals[i - 1], &upper = intervals[i];
    if (lower.most <= upper.above)
      continue;
    auto middle = static_cast<int64_t>(
        std::sqrt(double(lower.rows) * double(upper.rows)));
    lower.most = upper.above = middle;
  }
  return intervals;
}

/// Adds `schedule` for rows up to `most`; of neighbours that are alike the last
/// bound counts.
static void append(SmallVectorImpl<GemmSchedule> &schedules,
                   GemmSchedule schedule, std::optional<int64_t> most) {
  if (!schedules.empty()) {
    schedule.mostRows = schedules.back().mostRows;
    if (schedule == schedules.back())
      schedules.pop_back();
  }
  schedule.mostRows = most;
  schedules.push_back(schedule);
}

FailureOr<SmallVector<GemmSchedule>>
epifold::ptx::chooseSchedules(const GemmProblem &problem, bool hasWgmma,
                              llvm::ArrayRef<MeasuredSchedule> measured) {
  SmallVector<GemmSchedule> chosen = chooseSchedules(problem, hasWgmma);
  if (measured.empty())
    return chosen;
  FailureOr<SmallVector<Interval>> intervals =
      readMeasured(problem, hasWgmma, measured);
  if (failed(intervals))
    return failure();
  if (std::optional<int64_t> rows = knownRows(problem)) {
    for (const Interval &interval : *intervals)
      if (interval.contains(*rows))
        return SmallVector<GemmSchedule>{interval.schedule};
    return chosen;
  }
  SmallVector<GemmSchedule> result;
  int64_t below = 0;
  const Interval *next = intervals->begin();
  for (const GemmSchedule &schedule : chosen) {
    int64_t most = schedule.mostRows.value_or(INT64_MAX);
    while (next != intervals->end() && next->above < most) {
      if (next->above > below)
        append(result, schedule, next->above);
      append(result, next->schedule, next->most);
      below = next->most;
      ++next;
    }
    if (most > below)
      append(result, schedule, schedule.mostRows);
    below = std::max(below, most);
  }
  return result;
}
