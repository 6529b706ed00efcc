// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes the launches of prepared steps to the driver, one by one or as a
// graph.

#include "ErrorFormat.h"
#include "SessionState.h"

namespace epifold::runtime {

/// `overlaps`: the kernel may start while the launch before it still runs.
Expected<void> Session::State::launchKernel(PreparedStep &step, size_t index,
                                            bool overlaps) {
  const BoundLaunch &bound = step.plan.launches[index];
  const LaunchDesc &launch = desc().launches[index];
  const KernelVariant &variant =
      std::get<KernelLaunch>(launch.body).variants[bound.variant];
  driver::Function function = modules->function(variant.module);
  void **arguments = step.arguments[index].pointers();
  auto [gridX, gridY, gridZ] = bound.grid;
  auto [blockX, blockY, blockZ] = variant.block;
  const char *call = "cuLaunchKernel";
  driver::Result result;
  if (variant.isResident) {
    // In order: a launch that overlaps shares the device with the one before,
    // and not all blocks might find a place.
    call = "cuLaunchCooperativeKernel";
    result = driver().cuLaunchCooperativeKernel(
        function, gridX, gridY, gridZ, blockX, blockY, blockZ,
        variant.sharedBytes, stream.get(), arguments);
  } else if (overlaps && variant.overlapsPrevious) {
    driver::LaunchAttribute overlap = {
        driver::kProgrammaticStreamSerialization, {}, 1, {}};
    driver::LaunchConfig config = {gridX,
                                   gridY,
                                   gridZ,
                                   blockX,
                                   blockY,
                                   blockZ,
                                   variant.sharedBytes,
                                   stream.get(),
                                   &overlap,
                                   1};
    call = "cuLaunchKernelEx";
    result = driver().cuLaunchKernelEx(&config, function, arguments, nullptr);
  } else {
    result = driver().cuLaunchKernel(function, gridX, gridY, gridZ, blockX,
                                     blockY, blockZ, variant.sharedBytes,
                                     stream.get(), arguments, nullptr);
  }
  if (result == driver::kSuccess)
    return {};
  return driver().error(
      call, result,
      fmt::format("kernel '{}' for {}, grid {} x {} x {}, launch {} ('{}')",
                  desc().modules[variant.module].entry,
                  modules->target(variant.module), gridX, gridY, gridZ, index,
                  launch.label));
}

Expected<void> Session::State::enqueueLaunch(PreparedStep &step, size_t index,
                                             bool overlaps) {
  const BoundLaunch &bound = step.plan.launches[index];
  const LaunchDesc &launch = desc().launches[index];
  if (std::holds_alternative<KernelLaunch>(launch.body))
    return launchKernel(step, index, overlaps);
  auto address = [&](const BoundPointer &pointer) {
    return step.addresses[pointer.buffer] +
           static_cast<uint64_t>(pointer.offset);
  };
  size_t size = static_cast<size_t>(bound.size);
  std::string context = fmt::format("launch {} ('{}')", index, launch.label);
  if (const auto *memset = std::get_if<MemsetLaunch>(&launch.body))
    return driver().check(driver().cuMemsetD8Async(address(bound.target),
                                                   memset->value, size,
                                                   stream.get()),
                          "cuMemsetD8Async", context);
  return driver().check(driver().cuMemcpyDtoDAsync(address(bound.target),
                                                   address(bound.source), size,
                                                   stream.get()),
                        "cuMemcpyDtoDAsync", context);
}

Expected<void> Session::State::enqueue(PreparedStep &step, const Around &around,
                                       bool inGraph) {
  if (statusBuffer)
    if (auto ok =
            driver().check(driver().cuMemcpyDtoDAsync(
                               statusMemory.address(),
                               statusMemory.address() + sizeof(StatusWord),
                               sizeof(StatusWord), stream.get()),
                           "cuMemcpyDtoDAsync", "resetting the status word");
        !ok)
      return ok;
  if (auto ok =
          enqueueRange(step, 0, step.plan.launches.size(), around, inGraph);
      !ok)
    return ok;
  for (const ResultCopy &copy : step.copies)
    if (copy.bytes != 0)
      if (auto ok = driver().check(
              driver().cuMemcpyDtoDAsync(copy.target, copy.source, copy.bytes,
                                         stream.get()),
              "cuMemcpyDtoDAsync", "copying a result");
          !ok)
        return ok;
  if (statusBuffer)
    return driver().check(
        driver().cuMemcpyDtoHAsync(statusOnHost.get(), statusMemory.address(),
                                   sizeof(StatusWord), stream.get()),
        "cuMemcpyDtoHAsync", "reading the status word");
  return {};
}

Expected<void> Session::State::enqueueRange(PreparedStep &step, size_t first,
                                            size_t end, const Around &around,
                                            bool inGraph) {
  // Only kernels let the next one start early: what follows anything else is
  // launched in order.
  constexpr int kOverlapSince = 9; // compute capability
  bool mayOverlap = options.overlap && !around &&
                    shared->info.major >= kOverlapSince &&
                    driver().hasOverlap(inGraph);
  bool followsKernel = false;
  for (size_t i = first; i < end; ++i) {
    if (step.plan.launches[i].skipped) {
      // A kernel may read early what the launch right before it in the plan
      // does not write; of any other it waits for the end.
      followsKernel = false;
      continue;
    }
    if (around)
      if (auto ok = around(i, /*after=*/false); !ok)
        return ok;
    if (auto ok = enqueueLaunch(step, i, mayOverlap && followsKernel); !ok)
      return ok;
    followsKernel =
        std::holds_alternative<KernelLaunch>(desc().launches[i].body);
    if (around)
      if (auto ok = around(i, /*after=*/true); !ok)
        return ok;
  }
  return {};
}

Expected<void> Session::State::capture(PreparedStep &step) {
  if (!driver().hasGraphs())
    return makeError(ErrorCode::Unsupported,
                     "this driver has no CUDA graphs: use --launch=stream");
  if (auto ok = driver().check(driver().cuStreamBeginCapture(
                                   stream.get(), driver::kCaptureThreadLocal),
                               "cuStreamBeginCapture");
      !ok)
    return ok;
  Expected<void> enqueued = enqueue(step, {}, /*inGraph=*/true);
  // The capture is ended in any case: the stream is of no use within one.
  driver::Graph captured = nullptr;
  driver::Result ended = driver().cuStreamEndCapture(stream.get(), &captured);
  driver::GraphHandle graph(shared->driver, captured);
  if (!enqueued)
    return enqueued;
  if (auto ok = driver().check(ended, "cuStreamEndCapture"); !ok)
    return ok;
  driver::GraphExec executable = nullptr;
  if (auto ok = driver().check(
          driver().cuGraphInstantiateWithFlags(&executable, graph.get(), 0),
          "cuGraphInstantiateWithFlags");
      !ok)
    return ok;
  step.graph = driver::GraphExecHandle(shared->driver, executable);
  return {};
}

Expected<void> Session::State::submit(PreparedStep &step, LaunchMode mode) {
  if (mode == LaunchMode::Stream)
    return enqueue(step, {});
  if (!step.graph)
    if (auto ok = capture(step); !ok)
      return ok;
  return driver().check(driver().cuGraphLaunch(step.graph.get(), stream.get()),
                        "cuGraphLaunch");
}

} // namespace epifold::runtime
