// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs prepared steps, timed by events, and hands out their results.

#include "ErrorFormat.h"
#include "SessionState.h"

#include <cstring>

namespace epifold::runtime {
namespace {

Error notPrepared() {
  return makeError(
      ErrorCode::InvalidArgument,
      "no step is prepared: call prepare after binding parameters");
}

} // namespace

Expected<driver::Event> Session::State::event(size_t index) {
  while (events.size() <= index) {
    driver::Event created = nullptr;
    if (auto ok = driver().check(
            driver().cuEventCreate(&created, driver::kEventDefault),
            "cuEventCreate");
        !ok)
      return ok.error();
    events.emplace_back(shared->driver, created);
  }
  return events[index].get();
}

Expected<void> Session::State::record(size_t index) {
  Expected<driver::Event> marker = event(index);
  if (!marker)
    return marker.error();
  return driver().check(driver().cuEventRecord(*marker, stream.get()),
                        "cuEventRecord");
}

Expected<double> Session::State::elapsed(size_t from, size_t to) {
  float milliseconds = 0;
  if (auto ok = driver().check(driver().cuEventElapsedTime(&milliseconds,
                                                           events[from].get(),
                                                           events[to].get()),
                               "cuEventElapsedTime");
      !ok)
    return ok.error();
  return double(milliseconds);
}

Expected<void> Session::State::wait() {
  return driver().check(
      driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize",
      "a launch of the step failed on the device; waiting after each launch "
      "(--wait-each) names it");
}

Expected<RunReport> Session::step(const RunOptions &options) {
  State &state = *state_;
  if (!state.current)
    return notPrepared();
  PreparedStep &step = *state.current;
  if (auto ok = state.shared->enter(); !ok)
    return ok.error();

  // Events 0 and 1 enclose the step, 2 + 2i and 3 + 2i launch i.
  bool watched = options.profile || options.waitEach;
  LaunchMode mode = watched ? LaunchMode::Stream : options.launch;
  if (mode == LaunchMode::Graph && !step.graph)
    if (auto ok = state.capture(step); !ok)
      return ok.error();
  if (auto ok = state.record(0); !ok)
    return ok.error();
  Expected<void> submitted;
  if (watched) {
    submitted =
        state.enqueue(step, [&](size_t launch, bool after) -> Expected<void> {
          if (options.profile)
            if (auto ok = state.record(2 + 2 * launch + after); !ok)
              return ok;
          if (!after || !options.waitEach)
            return {};
          return state.driver().check(
              state.driver().cuStreamSynchronize(state.stream.get()),
              "cuStreamSynchronize",
              fmt::format("launch {} ('{}') failed on the device", launch,
                          state.desc().launches[launch].label));
        });
  } else {
    submitted = state.submit(step, mode);
  }
  if (!submitted)
    return submitted.error();
  if (auto ok = state.record(1); !ok)
    return ok.error();
  if (auto ok = state.wait(); !ok)
    return ok.error();

  RunReport report;
  report.arenaBytes = static_cast<size_t>(step.plan.arenaBytes);
  if (state.statusBuffer)
    std::memcpy(&report.status, state.statusOnHost.get(), sizeof(StatusWord));
  Expected<double> total = state.elapsed(0, 1);
  if (!total)
    return total.error();
  report.deviceMs = *total;
  for (size_t i = 0; i < step.plan.launches.size(); ++i) {
    const BoundLaunch &bound = step.plan.launches[i];
    const LaunchDesc &launch = state.desc().launches[i];
    const auto *kernel = std::get_if<KernelLaunch>(&launch.body);
    report.launches += kernel && !bound.skipped;
    if (!options.profile)
      continue;
    LaunchProfile &entry = report.profile.emplace_back();
    entry.label = launch.label;
    entry.kernel =
        kernel
            ? state.desc().modules[kernel->variants[bound.variant].module].entry
        : std::holds_alternative<MemsetLaunch>(launch.body) ? "memset"
                                                            : "copy";
    entry.flops = bound.flops;
    entry.bytes = bound.bytes;
    entry.skipped = bound.skipped;
    if (bound.skipped)
      continue;
    Expected<double> start = state.elapsed(0, 2 + 2 * i);
    if (!start)
      return start.error();
    Expected<double> duration = state.elapsed(2 + 2 * i, 3 + 2 * i);
    if (!duration)
      return duration.error();
    entry.startMs = *start;
    entry.durationMs = *duration;
  }
  return report;
}

Expected<std::vector<double>> Session::timeSteps(int count, LaunchMode launch) {
  State &state = *state_;
  if (!state.current)
    return notPrepared();
  if (count < 0)
    return makeError(ErrorCode::InvalidArgument, "cannot run {} steps", count);
  if (auto ok = state.shared->enter(); !ok)
    return ok.error();
  if (launch == LaunchMode::Graph && !state.current->graph)
    if (auto ok = state.capture(*state.current); !ok)
      return ok.error();
  return state.timeRepeated(
      count, [&] { return state.submit(*state.current, launch); });
}

Expected<std::vector<double>> Session::timeLaunches(size_t first, size_t end,
                                                    int count) {
  State &state = *state_;
  if (!state.current)
    return notPrepared();
  PreparedStep &step = *state.current;
  if (count < 0 || first > end || end > step.plan.launches.size())
    return makeError(ErrorCode::InvalidArgument,
                     "cannot run launches {} to {} of {} {} times", first, end,
                     step.plan.launches.size(), count);
  if (auto ok = state.shared->enter(); !ok)
    return ok.error();
  if (auto ok = state.enqueueRange(step, 0, first, {}); !ok)
    return ok.error();
  return state.timeRepeated(
      count, [&] { return state.enqueueRange(step, first, end, {}); });
}

Expected<std::vector<double>>
Session::State::timeRepeated(int count,
                             const std::function<Expected<void>()> &submitOne) {
  // Events are made before the first run: making one takes time.
  if (auto last = event(static_cast<size_t>(count)); !last)
    return last.error();
  if (auto ok = record(0); !ok)
    return ok.error();
  for (int i = 0; i < count; ++i) {
    if (auto ok = submitOne(); !ok)
      return ok.error();
    if (auto ok = record(static_cast<size_t>(i) + 1); !ok)
      return ok.error();
  }
  if (auto ok = wait(); !ok)
    return ok.error();
  std::vector<double> times;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    Expected<double> time = elapsed(i, i + 1);
    if (!time)
      return time.error();
    times.push_back(*time);
  }
  return times;
}

Expected<TensorMap> Session::results() {
  State &state = *state_;
  if (!state.current)
    return notPrepared();
  TensorMap results;
  for (size_t i = 0; i < state.desc().tensors.size(); ++i) {
    const TensorDesc &tensor = state.desc().tensors[i];
    if (tensor.kind != TensorKind::Result)
      continue;
    auto host =
        HostTensor::allocate(tensor.type, state.current->plan.tensorShapes[i]);
    if (!host)
      return host.error();
    if (auto ok = state.device.download(
            host->mutableData(), state.current->results[i], host->bytes());
        !ok)
      return ok.error().withContext("result '" + tensor.name + "'");
    results.emplace(tensor.name, std::move(*host));
  }
  return results;
}

Expected<DeviceTensor> Session::result(const std::string &name) {
  State &state = *state_;
  if (!state.current)
    return notPrepared();
  for (size_t i = 0; i < state.desc().tensors.size(); ++i) {
    const TensorDesc &tensor = state.desc().tensors[i];
    if (tensor.kind == TensorKind::Result && tensor.name == name)
      return DeviceTensor{tensor.type, state.current->plan.tensorShapes[i],
                          state.current->results[i]};
  }
  return makeError(ErrorCode::NotFound, "the graph has no result '{}'", name);
}

Expected<Session::Outcome> Session::run(const TensorMap &inputs,
                                        const RunOptions &options) {
  if (auto ok = prepare(inputs); !ok)
    return ok.error();
  Expected<RunReport> report = step(options);
  if (!report)
    return report.error();
  Expected<TensorMap> tensors = results();
  if (!tensors)
    return tensors.error();
  return Outcome{std::move(*tensors), std::move(*report)};
}

} // namespace epifold::runtime
