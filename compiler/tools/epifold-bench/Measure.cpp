// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs workloads on the GPU and on the reference, and counts what they do.

#include "Measure.h"

#include "Roof.h"
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
  Expected<Device> device = Device::open(ordinalOf(options.device));
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
  compiling.tuning = options.tuning;
  Expected<CompiledGraph> compiled = compile(workload.graph, compiling);
  if (!compiled)
    return compiled.error();
  return Executable::load(compiled->executable);
}

/// Launches `first` up to before `end`, or all of a step.
struct TimedPart {
  size_t first = 0, end = 0;
  bool isWhole = true;
};

/// The part of the step that the workload is about.
TimedPart timedPart(const Workload &workload,
                    const std::vector<LaunchProfile> &launches) {
  TimedPart part{0, launches.size(), true};
  if (!workload.productsOnly)
    return part;
  auto isProduct = [](const LaunchProfile &launch) { return launch.flops > 0; };
  auto combines = [](const LaunchProfile &launch) {
    return launch.label.starts_with("combine");
  };
  auto first = std::find_if(launches.begin(), launches.end(), isProduct);
  auto end = std::find_if(first, launches.end(), combines);
  return {static_cast<size_t>(first - launches.begin()),
          static_cast<size_t>(end - launches.begin()), false};
}

Expected<std::vector<double>> timeRuns(Session &session, const TimedPart &part,
                                       int count, LaunchMode launch) {
  return part.isWhole ? session.timeSteps(count, launch)
                      : session.timeLaunches(part.first, part.end, count);
}

/// Runs back to back for that long.
Expected<void> sustain(Session &session, const MeasureOptions &options,
                       const TimedPart &part, double stepMs) {
  // A chunk of runs is waited for: long against the wait, short against the
  // time asked for.
  int chunk = static_cast<int>(std::clamp(50 / stepMs, 1.0, 1000.0));
  Clock::time_point start = Clock::now();
  while (millisecondsSince(start) < 1e3 * options.sustained)
    if (auto times = timeRuns(session, part, chunk, options.launch); !times)
      return times.error();
  return {};
}

/// From what a whole run does to what each of the workload's copies does.
void takeOneCopy(const Workload &workload, Measurement &result) {
  auto copies = static_cast<double>(workload.copies);
  for (double &ms : result.ms)
    ms /= copies;
  result.launches /= copies;
  if (result.bytes)
    *result.bytes /= copies;
  if (result.flops)
    *result.flops /= copies;
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
  result.launches = 0;
  result.bytes = 0;
  result.flops = 0;
  for (const LaunchDesc &launch : desc.launches) {
    result.launches += std::holds_alternative<KernelLaunch>(launch.body);
    std::optional<int64_t> bytes = constantOf(desc, launch.bytes);
    std::optional<int64_t> flops = constantOf(desc, launch.flops);
    if (result.bytes)
      result.bytes =
          bytes ? std::optional(*result.bytes + static_cast<double>(*bytes))
                : std::nullopt;
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
  takeOneCopy(workload, result);
  return result;
}

} // namespace

Expected<Measurement> measureOnDevice(const Workload &workload,
                                      const MeasureOptions &options,
                                      Device &device) {
  const DeviceInfo &info = device.info();
  Expected<Executable> executable =
      compileFor(workload, options, targetFor(info));
  if (!executable)
    return executable.error();
  SessionOptions sessionOptions;
  sessionOptions.overlap = options.overlap;
  Expected<Session> session =
      Session::create(device, *executable, sessionOptions);
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
  TimedPart part = timedPart(workload, counted->profile);
  result.bytes = 0;
  result.flops = 0;
  for (size_t i = part.first; i < part.end; ++i) {
    const LaunchProfile &launch = counted->profile[i];
    if (launch.skipped)
      continue;
    result.launches += launch.kernel != "memset" && launch.kernel != "copy";
    *result.bytes += static_cast<double>(launch.bytes);
    *result.flops += static_cast<double>(launch.flops);
  }

  Expected<std::vector<double>> warm =
      timeRuns(*session, part, options.warmup.value_or(3), options.launch);
  if (!warm)
    return warm.error();
  if (auto sustained = sustain(*session, options, part, counted->deviceMs);
      !sustained)
    return sustained.error();
  Expected<std::vector<double>> times =
      timeRuns(*session, part, options.repeat.value_or(20), options.launch);
  if (!times)
    return times.error();
  result.ms = std::move(*times);
  Expected<MemoryInfo> memory = device.memory();
  if (!memory)
    return memory.error();
  result.peakBytes = memory->poolPeakBytes;
  takeOneCopy(workload, result);
  return result;
}

int ordinalOf(const std::string &device) {
  return device.empty() ? 0 : std::stoi(device.substr(5));
}

std::string targetFor(const DeviceInfo &info) {
  return info.major == 9 && info.minor == 0 ? "sm_90a" : "sm_80";
}

Expected<void> checkStatus(const StatusWord &status) {
  if (status.ok())
    return {};
  return Error(ErrorCode::InvalidArgument,
               "the workload does not run cleanly on random data: " +
                   describe(status));
}

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
  if (!*device) {
    Expected<Measurement> result = measureOnReference(workload, options);
    if (result)
      result->note = std::move(note);
    return result;
  }
  Expected<Measurement> result = measureOnDevice(workload, options, **device);
  if (!result || !options.withRoof)
    return result;
  Expected<Roof> roof = measureRoof(workload.type, options, **device);
  if (!roof)
    return roof.error();
  result->roof = *roof;
  return result;
}

} // namespace epifold::tools
