// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An executable on a device: bind parameters once, then run steps.

#ifndef EPIFOLD_RUNTIME_SESSION_H
#define EPIFOLD_RUNTIME_SESSION_H

#include "epifold/runtime/Device.h"
#include "epifold/runtime/Error.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Status.h"
#include "epifold/runtime/Tensor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace epifold::runtime {

/// How the launches of a step reach the device; the bits are the same.
enum class LaunchMode {
  Stream, ///< One launch call each, on one stream.
  Graph,  ///< The whole step as one CUDA graph, captured once per binding.
};

/// Choices made when a session is created.
struct SessionOptions {
  /// Folder of the cubin cache. Empty: $EPIFOLD_CACHE_DIR, or
  /// $XDG_CACHE_HOME/epifold, or ~/.cache/epifold.
  std::string cacheDir;
  bool useCache = true;
  /// Use only images of this target ("sm_80"); empty: the best the device runs.
  std::string target;
  /// Threads that compile and pack; 0 means all cores.
  unsigned threads = 0;
  /// Starts kernels while the launch before them still runs, where kernel,
  /// device and driver can; the bits are the same. Profiled and watched runs
  /// never overlap launches.
  bool overlap = true;
};

/// A tensor in device memory that the caller owns.
struct DeviceTensor {
  DataType type = DataType::F32;
  Shape shape;
  uint64_t address = 0; ///< At least 16-byte aligned.
};
using DeviceTensorMap = std::map<std::string, DeviceTensor, std::less<>>;

/// Time and work of one launch of a profiled run.
struct LaunchProfile {
  std::string label;  ///< The launch's label in the executable.
  std::string kernel; ///< Entry name, or "memset" or "copy".
  double startMs = 0; ///< Since the step began.
  double durationMs = 0;
  int64_t flops = 0;
  int64_t bytes = 0;
  bool skipped = false; ///< A grid size or byte count was zero.
};

/// What a run did.
struct RunReport {
  StatusWord status;
  double deviceMs = 0;   ///< From the first launch's start to the last's end.
  int launches = 0;      ///< Kernels launched, without memsets and copies.
  size_t arenaBytes = 0; ///< Scratch memory of the step.
  std::vector<LaunchProfile> profile; ///< Empty unless asked for.
};

/// What loading modules did so far; see Session::loadReport.
struct LoadReport {
  int modules = 0;
  int cacheHits = 0;
  int compiled = 0;
  double milliseconds = 0;
  std::vector<std::string> targets; ///< Of each module's chosen image.
};

/// Choices of one run.
struct RunOptions {
  LaunchMode launch = LaunchMode::Stream;
  bool profile = false; ///< Times each launch; implies LaunchMode::Stream.
  /// Waits after each launch, so that an error names the launch that failed;
  /// implies LaunchMode::Stream.
  bool waitEach = false;
};

/// An executable loaded on a device. Not safe for concurrent calls; several
/// sessions on one device are.
class Session {
public:
  /// Loads the modules that every run needs (from the cubin cache, or by the
  /// driver's compiler, in parallel) and constants; `prepare` loads those that
  /// its sizes need besides. Errors: Unsupported when no image fits the device
  /// or the driver is older than the PTX; Driver with the compiler's log.
  static Expected<Session> create(Device device, Executable executable,
                                  const SessionOptions &options = {});
  Session(Session &&) noexcept;
  Session &operator=(Session &&) noexcept;
  ~Session();

  const Executable &executable() const;
  const LoadReport &loadReport() const;

  /// Packs the executable's parameters into their layouts and uploads them;
  /// names it does not know are ignored. Errors name the tensor that is missing
  /// or whose type or shape does not fit.
  Expected<void> bindParameters(const TensorMap &parameters);

  /// Binds one parameter to device memory that is already in the layout of the
  /// executable and stays alive while the session does.
  Expected<void> bindParameter(const std::string &name,
                               const DeviceTensor &tensor);

  /// Where a bound parameter lives, in the executable's layout: valid until it
  /// is bound again. Another session of the same graph and fusions may bind it.
  Expected<DeviceTensor> parameter(const std::string &name);

  /// Copies a bound parameter back and unpacks it.
  Expected<HostTensor> readParameter(const std::string &name);

  /// Runs one step with inputs and results in host memory; names that are not
  /// inputs are ignored. A report whose status is not ok comes with results
  /// all the same. Errors: a missing or unfitting tensor, memory, the driver.
  struct Outcome {
    TensorMap results;
    RunReport report;
  };
  Expected<Outcome> run(const TensorMap &inputs,
                        const RunOptions &options = {});

  /// Prepares a step: binds the dynamic dimensions from the inputs' shapes,
  /// chooses the kernels for them and loads those that are new, sizes and
  /// places memory, uploads the inputs. Later calls of `step` reuse all of it.
  Expected<void> prepare(const TensorMap &inputs);

  /// As above with inputs in device memory, read in place. Results named in
  /// `results` are written in place too; the others live in the session.
  Expected<void> prepare(const DeviceTensorMap &inputs,
                         const DeviceTensorMap &results = {});

  /// Runs the prepared step and waits. No host or device allocation on the way
  /// after the first call with the same options.
  Expected<RunReport> step(const RunOptions &options = {});

  /// Runs the prepared step `count` times back to back and returns each one's
  /// device time in milliseconds.
  Expected<std::vector<double>> timeSteps(int count, LaunchMode launch);

  /// As `timeSteps` for launches `first` up to before `end` of the prepared
  /// step alone: those before them run once first, those after them not at all.
  /// The launches must not change what they read. Errors: no such launches.
  Expected<std::vector<double>> timeLaunches(size_t first, size_t end,
                                             int count);

  /// Results of the last step, in host memory.
  Expected<TensorMap> results();

  /// Where a result lives after `prepare`: valid until the next one.
  Expected<DeviceTensor> result(const std::string &name);

private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What a device can do at most; zero where that is not known.
struct PeakRates {
  double teraflops = 0;     ///< TFLOP/s of products.
  double copyGigabytes = 0; ///< GB/s of a copy, read and written together.
};

/// The launches of a profiled run as a Chrome trace ("chrome://tracing"). An
/// event's arguments are FLOP and bytes of the launch where they are known,
/// both over its time, and their shares of the peaks that are given.
std::string chromeTrace(const RunReport &report, const DeviceInfo &device,
                        const PeakRates &peaks = {});

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SESSION_H
