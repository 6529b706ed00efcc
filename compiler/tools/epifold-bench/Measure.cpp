// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs workloads on the GPU and on the reference, and counts what they do.

#include "Measure.h"

#include "epifold/Compiler.h"

#include <algorithm>
#include <chrono>
#include <sys/resource.h>

namespace epifold::tools {
namespace {

using namespace runtime;
using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

/// The GPU that was asked for or found, or nothing for the reference.
Expected<std::optional<Device>> openDevice(const MeasureOptions &options,
                                           std::optional<std::string> &note) {
  if (options.device == "reference")
    return std::optional<Device>();
  int ordinal =
      options.device.empty() ? 0 : std::stoi(options.device.substr(5));
  Expected<Device> device = Device::open(ordinal);
  if (device)
    return std::optional<Device>(std::move(*device));
  if (!options.device.empty() || device.error().code() != ErrorCode::NoDevice)
    return device.error();
  note = "timing the reference on the CPU: " + device.error().message();
  return std::optional<Device>();
}

Expected<Executable> compileFor(const Workload &workload,
                                const MeasureOptions &options,
                                const std::string &target) {
  CompileOptions compiling;
  compiling.fusion = options.fusion;
  compiling.targets = {target};
  Expected<CompiledGraph> compiled = compile(workload.graph, compiling);
  if (!compiled)
    return compiled.error();
  return Executable::load(compiled->executable);
}

/// NaN in random data would make the times those of another computation.
Expected<void> checkStatus(const StatusWord &status) {
  if (status.ok())
    return {};
  return Error(ErrorCode::InvalidArgument,
               "the workload does not run cleanly on random data: " +
                   describe(status));
}

/// Runs back to back for that long.
Expected<void> sustain(Session &session, const MeasureOptions &options,
                       double stepMs) {
  // A chunk of runs is waited for: long against the wait, short against the
  // time asked for.
  int chunk = static_cast<int>(std::clamp(50 / stepMs, 1.0, 1000.0));
  Clock::time_point start = Clock::now();
  while (millisecondsSince(start) < 1e3 * options.sustained)
    if (auto times = session.timeSteps(chunk, options.launch); !times)
      return times.error();
  return {};
}

Expected<Measurement> measureOnDevice(const Workload &workload,
                                      const MeasureOptions &options,
                                      Device &device) {
  const DeviceInfo &info = device.info();
  bool hopper = info.major == 9 && info.minor == 0;
  Expected<Executable> executable =
      compileFor(workload, options, hopper ? "sm_90a" : "sm_80");
  if (!executable)
    return executable.error();
  Expected<Session> session = Session::create(device, *executable);
  if (!session)
    return session.error();
  {
    // Gone before the timing: the weights live on the device from here on.
    Expected<TensorMap> arguments = drawArguments(workload);
    if (!arguments)
      return arguments.error();
    if (auto bound = session->bindParameters(*arguments); !bound)
      return bound.error();
    if (auto prepared = session->prepare(*arguments); !prepared)
      return prepared.error();
  }

  Measurement result;
  result.device = "cuda:" + std::to_string(info.ordinal);
  result.deviceName = info.name;
  RunOptions counting;
  counting.profile = true;
  Expected<RunReport> counted = session->step(counting);
  if (!counted)
    return counted.error();
  if (auto clean = checkStatus(counted->status); !clean)
    return clean.error();
  result.launches = counted->launches;
  result.bytes = 0;
  result.flops = 0;
  for (const LaunchProfile &launch : counted->profile) {
    *result.bytes += launch.skipped ? 0 : launch.bytes;
    *result.flops += launch.skipped ? 0 : static_cast<double>(launch.flops);
  }

  Expected<std::vector<double>> warm =
      session->timeSteps(options.warmup.value_or(3), options.launch);
  if (!warm)
    return warm.error();
  if (auto sustained = sustain(*session, options, counted->deviceMs);
      !sustained)
    return sustained.error();
  Expected<std::vector<double>> times =
      session->timeSteps(options.repeat.value_or(20), options.launch);
  if (!times)
    return times.error();
  result.ms = std::move(*times);
  Expected<MemoryInfo> memory = device.memory();
  if (!memory)
    return memory.error();
  result.peakBytes = memory->poolPeakBytes;
  return result;
}

/// The value of an expression that needs no dynamic dimension.
std::optional<int64_t> constantOf(const ExecutableDesc &desc,
                                  std::optional<ExprIndex> index) {
  if (!index)
    return 0;
  const std::vector<ExprStep> &steps = desc.exprs[*index].steps;
  if (steps.size() != 1 || steps[0].op != ExprOp::Constant)
    return std::nullopt;
  return steps[0].value;
}

/// What an executable would do on a GPU, for a run that only evaluates it.
void countLaunches(const ExecutableDesc &desc, Measurement &result) {
  result.bytes = 0;
  result.flops = 0;
  for (const LaunchDesc &launch : desc.launches) {
    result.launches += std::holds_alternative<KernelLaunch>(launch.body);
    std::optional<int64_t> bytes = constantOf(desc, launch.bytes);
    std::optional<int64_t> flops = constantOf(desc, launch.flops);
    if (result.bytes)
      result.bytes = bytes ? std::optional(*result.bytes + *bytes) : bytes;
    if (result.flops)
      result.flops =
          flops ? std::optional(*result.flops + static_cast<double>(*flops))
                : std::nullopt;
  }
}

Expected<Measurement> measureOnReference(const Workload &workload,
                                         const MeasureOptions &options) {
  Measurement result;
  result.device = "reference";
  result.deviceName = "CPU";
  Expected<Executable> executable = compileFor(workload, options, "sm_80");
  if (!executable)
    return executable.error();
  countLaunches(executable->desc(), result);
  Expected<TensorMap> arguments = drawArguments(workload);
  if (!arguments)
    return arguments.error();
  EvaluateOptions evaluating;
  evaluating.level = EvaluationLevel::Kernel;
  evaluating.fusion = options.fusion;
  auto run = [&]() -> Expected<double> {
    Clock::time_point start = Clock::now();
    Expected<Evaluation> evaluated =
        evaluate(workload.graph, *arguments, evaluating);
    double milliseconds = millisecondsSince(start);
    if (!evaluated)
      return evaluated.error();
    if (auto clean = checkStatus(evaluated->status); !clean)
      return clean.error();
    return milliseconds;
  };
  int warmup = options.warmup.value_or(1);
  Clock::time_point start = Clock::now();
  for (int i = 0;
       i < warmup || millisecondsSince(start) < 1e3 * options.sustained; ++i)
    if (Expected<double> time = run(); !time)
      return time.error();
  for (int i = 0; i < options.repeat.value_or(3); ++i) {
    Expected<double> time = run();
    if (!time)
      return time.error();
    result.ms.push_back(*time);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peakBytes = static_cast<size_t>(usage.ru_maxrss) * 1024;
  return result;
}

} // namespace

double minimum(const std::vector<double> &values) {
  return *std::min_element(values.begin(), values.end());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

Expected<Measurement> measure(const Workload &workload,
                              const MeasureOptions &options) {
  std::optional<std::string> note;
  Expected<std::optional<Device>> device = openDevice(options, note);
  if (!device)
    return device.error();
  Expected<Measurement> result =
      *device ? measureOnDevice(workload, options, **device)
              : measureOnReference(workload, options);
  if (result)
    result->note = std::move(note);
  return result;
}

} // namespace epifold::tools
