// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Times a workload on a device.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_MEASURE_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_MEASURE_H

#include "Workload.h"
#include "epifold/runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace epifold::tools {

struct MeasureOptions {
  std::string fusion = "all";
  runtime::LaunchMode launch = runtime::LaunchMode::Stream;
  /// "reference", "cuda:N", or empty: the first GPU, and the reference where
  /// there is none.
  std::string device;
  std::optional<int> warmup; ///< Runs before; 3, or 1 on the reference.
  std::optional<int> repeat; ///< Timed runs; 20, or 3 on the reference.
  double sustained = 0; ///< Seconds of the same work before the timed runs.
};

struct Measurement {
  std::string device;           ///< "reference" or "cuda:N".
  std::string deviceName;       ///< Of the chip; "CPU" for the reference.
  std::vector<double> ms;       ///< Of each timed run; not empty.
  int64_t launches = 0;         ///< Kernels of a run.
  std::optional<int64_t> bytes; ///< What they read and write, each once.
  std::optional<double> flops;  ///< The compiler's count.
  size_t peakBytes = 0;         ///< Device memory in use at most, parameters
                                ///< included; of the reference, the process'.
  std::optional<std::string> note; ///< For the user: what was done instead.
};

double minimum(const std::vector<double> &values);
double median(std::vector<double> values);

/// Compiles, loads and runs `workload` with random arguments. On a GPU the
/// times are between device events around each of the runs, which are enqueued
/// back to back; on the reference they are of the evaluation of the kernels
/// that `fusion` makes, by the wall clock. Errors: the compiler's, the
/// driver's, or data that raised the status word.
Expected<Measurement> measure(const Workload &workload,
                              const MeasureOptions &options);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_MEASURE_H
