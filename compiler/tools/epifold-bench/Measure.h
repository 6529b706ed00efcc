// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Times a workload on a device.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_MEASURE_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_MEASURE_H

#include "Workload.h"
#include "epifold/Tuning.h"
#include "epifold/runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace epifold::tools {

/// What the chip can do at most.
struct Roof {
  std::optional<double> teraflops;     ///< Of products of the workload's type.
  std::optional<double> copyGigabytes; ///< A second, read and written together.
};

struct MeasureOptions {
  std::string fusion = "all";
  Tuning tuning;
  runtime::LaunchMode launch = runtime::LaunchMode::Stream;
  bool overlap = true; ///< See SessionOptions.
  /// "reference", "cuda:N", or empty: the first GPU, and the reference where
  /// there is none.
  std::string device;
  std::optional<int> warmup; ///< Runs before; 3, or 1 on the reference.
  std::optional<int> repeat; ///< Timed runs; 20, or 3 on the reference.
  double sustained = 0; ///< Seconds of the same work before the timed runs.
  /// What is not given is measured in the same run, unless `withRoof` is false.
  Roof roof;
  bool withRoof = true;
};

/// What one run does; where the workload has copies, one of them.
struct Measurement {
  std::string device;          ///< "reference" or "cuda:N".
  std::string deviceName;      ///< Of the chip; "CPU" for the reference.
  std::vector<double> ms;      ///< Of each timed run; not empty.
  double launches = 0;         ///< Kernels of a run.
  std::optional<double> bytes; ///< What they read and write, each once.
  std::optional<double> flops; ///< The compiler's count.
  size_t peakBytes = 0;        ///< Device memory in use at most, parameters
                               ///< included; of the reference, the process'.
  Roof roof;                   ///< Empty on the reference.
  std::optional<std::string> note; ///< For the user: what was done instead.
};

/// N of "cuda:N"; 0 when the name is empty.
int ordinalOf(const std::string &device);

/// The target whose code is best on a chip.
std::string targetFor(const runtime::DeviceInfo &info);

/// An error when random data raised the status word: NaN would make the times
/// those of another computation.
Expected<void> checkStatus(const runtime::StatusWord &status);

double minimum(const std::vector<double> &values);
double median(std::vector<double> values);

/// Compiles, loads and runs `workload` with random arguments. On a GPU the
/// times are between device events around each of the runs, which are enqueued
/// back to back; on the reference they are of the evaluation of the kernels
/// that `fusion` makes, by the wall clock. Of a workload that is measured in
/// part the launches before that part run once, and the reference evaluates
/// the whole. Errors: the compiler's, the
/// driver's, or data that raised the status word.
Expected<Measurement> measure(const Workload &workload,
                              const MeasureOptions &options);

/// As above on an open device, without a roof.
Expected<Measurement> measureOnDevice(const Workload &workload,
                                      const MeasureOptions &options,
                                      runtime::Device &device);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_MEASURE_H
