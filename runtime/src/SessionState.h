// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a Session holds, and the steps that it prepares and runs.

#ifndef EPIFOLD_RUNTIME_SRC_SESSIONSTATE_H
#define EPIFOLD_RUNTIME_SRC_SESSIONSTATE_H

#include "DeviceState.h"
#include "DriverHandle.h"
#include "LaunchArguments.h"
#include "LaunchPlan.h"
#include "ModuleLoader.h"
#include "epifold/runtime/Session.h"

#include <functional>
#include <list>
#include <optional>
#include <vector>

namespace epifold::runtime {

/// A parameter on the device, in its packed layout.
struct BoundParameter {
  bool bound = false;
  Shape shape;
  DeviceBuffer owned; ///< Empty where the caller owns the memory.
  uint64_t address = 0;
  size_t bytes = 0;
};

/// Checks that a caller's device memory is aligned as kernels assume.
Expected<void> checkDeviceTensor(const std::string &name,
                                 const DeviceTensor &tensor);

/// A copy from a buffer to a caller's result at the end of a step.
struct ResultCopy {
  uint64_t target = 0;
  uint64_t source = 0;
  size_t bytes = 0;
  bool operator==(const ResultCopy &) const = default;
};

/// A launch plan with addresses: everything that a step passes to the driver.
struct PreparedStep {
  LaunchPlan plan;
  std::vector<uint64_t> addresses;        ///< By buffer.
  std::vector<LaunchArguments> arguments; ///< By launch.
  std::vector<ResultCopy> copies;
  std::vector<uint64_t> results; ///< By tensor; 0 for arguments.
  driver::GraphExecHandle graph; ///< Empty until a run in graph mode.
};

struct Session::State {
  State(Device opened, Executable loaded, SessionOptions chosen)
      : device(std::move(opened)), executable(std::move(loaded)),
        options(std::move(chosen)) {}
  ~State();

  const ExecutableDesc &desc() const { return executable.desc(); }
  const driver::Driver &driver() const { return *shared->driver; }

  // Creation and parameters (Session.cpp).
  Expected<void> load();
  Expected<void> uploadConstants();
  Expected<void> createStatus();

  // Preparing a step (SessionPrepare.cpp).
  Expected<void> prepare(const DeviceTensorMap &inputs,
                         const DeviceTensorMap &results, bool inputsOnHost);
  Expected<PreparedStep *> planFor(std::vector<int64_t> symbols);
  Expected<void> loadModulesOf(const LaunchPlan &plan);
  Expected<void> fitResidentGrids(LaunchPlan &plan);
  Expected<void> reserve(size_t bytes);
  Expected<void> assignAddresses(PreparedStep &step,
                                 const DeviceTensorMap &inputs,
                                 const DeviceTensorMap &results,
                                 bool inputsOnHost);
  Expected<void> assignArguments(PreparedStep &step);

  // Passing its launches to the driver (SessionLaunch.cpp). `around` is called
  // before and after each launch with its index; launches may overlap only
  // without it.
  using Around = std::function<Expected<void>(size_t launch, bool after)>;
  Expected<void> enqueue(PreparedStep &step, const Around &around,
                         bool inGraph = false);
  Expected<void> enqueueRange(PreparedStep &step, size_t first, size_t end,
                              const Around &around, bool inGraph = false);
  Expected<void> enqueueLaunch(PreparedStep &step, size_t index, bool overlaps);
  Expected<void> launchKernel(PreparedStep &step, size_t index, bool overlaps);
  Expected<void> capture(PreparedStep &step);
  Expected<void> submit(PreparedStep &step, LaunchMode mode);

  // Running and timing it (SessionStep.cpp).
  Expected<driver::Event> event(size_t index);
  Expected<void> record(size_t index);
  Expected<double> elapsed(size_t from, size_t to);
  Expected<std::vector<double>>
  timeRepeated(int count, const std::function<Expected<void>()> &submitOne);
  Expected<void> wait();

  Device device;
  Executable executable;
  SessionOptions options;
  std::shared_ptr<DeviceState> shared;
  LaunchSupport support;
  std::optional<LoadedModules> modules;
  LoadReport loadReport;

  driver::StreamHandle stream;
  std::vector<driver::EventHandle> events; // grown on demand, then reused

  std::vector<DeviceBuffer> constants;    // by buffer
  std::vector<BoundParameter> parameters; // by tensor
  std::optional<BufferIndex> statusBuffer;
  DeviceBuffer statusMemory; // the word, then its reset value
  driver::PinnedHandle statusOnHost;

  /// Scratch, inputs and results of the current step. It grows to the largest
  /// step seen; growing it invalidates the graphs of all steps.
  DeviceBuffer memory;
  /// Steps of recent dimensions, the latest first.
  std::list<PreparedStep> steps;
  PreparedStep *current = nullptr;
};

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_SESSIONSTATE_H
