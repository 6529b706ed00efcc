// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prepares a step: dimensions, memory, addresses.

#include "ErrorFormat.h"
#include "SessionState.h"
#include "ShapeBinding.h"

#include <algorithm>

namespace epifold::runtime {
namespace {

/// How many sets of dimensions keep their plan and graph.
constexpr size_t kMaxSteps = 16;

/// What kernels may assume of every tensor's address.
constexpr uint64_t kTensorAlignment = 16;

} // namespace

Expected<void> checkDeviceTensor(const std::string &name,
                                 const DeviceTensor &tensor) {
  if (tensor.address % kTensorAlignment != 0)
    return makeError(ErrorCode::InvalidArgument,
                     "the device memory of tensor '{}' at {:#x} is not "
                     "{}-byte aligned",
                     name, tensor.address, kTensorAlignment);
  return {};
}

Expected<PreparedStep *> Session::State::planFor(std::vector<int64_t> symbols) {
  auto found =
      std::find_if(steps.begin(), steps.end(), [&](const PreparedStep &step) {
        return step.plan.symbols == symbols;
      });
  if (found != steps.end()) {
    steps.splice(steps.begin(), steps, found);
    return &steps.front();
  }
  Expected<LaunchPlan> plan =
      bindLaunchPlan(desc(), support, std::move(symbols));
  if (!plan)
    return plan.error();
  if (auto ok = loadModulesOf(*plan); !ok)
    return ok.error();
  if (auto ok = fitResidentGrids(*plan); !ok)
    return ok.error();
  steps.emplace_front().plan = std::move(*plan);
  if (steps.size() > kMaxSteps)
    steps.pop_back();
  return &steps.front();
}

Expected<void> Session::State::loadModulesOf(const LaunchPlan &plan) {
  std::vector<ModuleIndex> wanted;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const BoundLaunch &bound = plan.launches[i];
    const auto *kernel = std::get_if<KernelLaunch>(&desc().launches[i].body);
    if (kernel && !bound.skipped)
      wanted.push_back(kernel->variants[bound.variant].module);
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return modules->load(wanted, loadReport);
}

Expected<void> Session::State::fitResidentGrids(LaunchPlan &plan) {
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    BoundLaunch &bound = plan.launches[i];
    const LaunchDesc &launch = desc().launches[i];
    const auto *kernel = std::get_if<KernelLaunch>(&launch.body);
    if (!kernel || bound.skipped || !kernel->variants[bound.variant].isResident)
      continue;
    const KernelVariant &variant = kernel->variants[bound.variant];
    std::string context = fmt::format(
        "launch {} ('{}'), kernel '{}' for {}", i, launch.label,
        desc().modules[variant.module].entry, modules->target(variant.module));
    auto [x, y, z] = variant.block;
    int fitting = 0; // on a multiprocessor
    if (auto ok = driver().check(
            driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &fitting, modules->function(variant.module),
                static_cast<int>(x * y * z), variant.sharedBytes),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", context);
        !ok)
      return ok;
    if (fitting < 1)
      return makeError(ErrorCode::Unsupported,
                       "{}: a block of {} threads and {} bytes of shared "
                       "memory does not fit a multiprocessor of {}",
                       context, x * y * z, variant.sharedBytes,
                       shared->info.name);
    bound.grid[0] = std::min(
        bound.grid[0],
        static_cast<unsigned>(fitting) *
            static_cast<unsigned>(std::max(shared->info.multiprocessors, 1)));
  }
  return {};
}

Expected<void> Session::State::reserve(size_t bytes) {
  if (bytes <= memory.bytes())
    return {};
  // The old memory goes first: the new one may not fit beside it. Graphs that
  // hold its address are rebuilt because their addresses differ.
  memory = DeviceBuffer();
  auto grown = device.allocate(bytes, "the step's memory");
  if (!grown)
    return grown.error();
  memory = std::move(*grown);
  return {};
}

Expected<void> Session::State::assignAddresses(PreparedStep &step,
                                               const DeviceTensorMap &inputs,
                                               const DeviceTensorMap &results,
                                               bool inputsOnHost) {
  const LaunchPlan &plan = step.plan;
  std::vector<uint64_t> addresses(desc().buffers.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (plan.placement[i] >= 0)
      addresses[i] =
          memory.address() + static_cast<uint64_t>(plan.placement[i]);
    else if (desc().buffers[i].kind == BufferKind::Constant)
      addresses[i] = constants[i].address();
  }
  if (statusBuffer)
    addresses[*statusBuffer] = statusMemory.address();

  std::vector<int> residents(addresses.size()); // results by buffer
  for (size_t i = 0; i < desc().tensors.size(); ++i) {
    const TensorDesc &tensor = desc().tensors[i];
    uint64_t &address = addresses[tensor.buffer];
    if (tensor.kind == TensorKind::Parameter) {
      const BoundParameter &bound = parameters[i];
      if (plan.bufferBytes[tensor.buffer] > static_cast<int64_t>(bound.bytes))
        return makeError(ErrorCode::InvalidArgument,
                         "parameter '{}' has {} bytes of memory, this step "
                         "needs {}",
                         tensor.name, bound.bytes,
                         plan.bufferBytes[tensor.buffer]);
      address = bound.address;
    } else if (tensor.kind == TensorKind::Input && !inputsOnHost) {
      address = inputs.find(tensor.name)->second.address;
    } else if (tensor.kind == TensorKind::Result) {
      ++residents[tensor.buffer];
    }
  }

  // A result in a buffer of its own is written where the caller wants it; any
  // other is copied there.
  std::vector<ResultCopy> oldCopies = std::move(step.copies);
  step.copies.clear();
  step.results.assign(desc().tensors.size(), 0);
  for (size_t i = 0; i < desc().tensors.size(); ++i) {
    const TensorDesc &tensor = desc().tensors[i];
    if (tensor.kind != TensorKind::Result)
      continue;
    auto wanted = results.find(tensor.name);
    if (wanted == results.end())
      continue;
    const DeviceTensor &target = wanted->second;
    if (auto ok = checkDeviceTensor(tensor.name, target); !ok)
      return ok;
    if (target.type != tensor.type || target.shape != plan.tensorShapes[i])
      return makeError(ErrorCode::InvalidArgument,
                       "memory for result '{}' is {}, the result is {}",
                       tensor.name, describe(target.type, target.shape),
                       describe(tensor.type, plan.tensorShapes[i]));
    int64_t bytes = *byteCount(tensor.type, plan.tensorShapes[i]);
    bool exclusive = desc().buffers[tensor.buffer].kind == BufferKind::Result &&
                     residents[tensor.buffer] == 1 &&
                     bytes == plan.bufferBytes[tensor.buffer];
    step.results[i] = target.address;
    if (exclusive)
      addresses[tensor.buffer] = target.address;
    else
      step.copies.push_back({target.address, addresses[tensor.buffer],
                             static_cast<size_t>(bytes)});
  }
  for (size_t i = 0; i < desc().tensors.size(); ++i)
    if (desc().tensors[i].kind == TensorKind::Result && step.results[i] == 0)
      step.results[i] = addresses[desc().tensors[i].buffer];

  // A captured graph holds all of these.
  if (addresses == step.addresses && step.copies == oldCopies &&
      step.arguments.size() == plan.launches.size())
    return {};
  step.addresses = std::move(addresses);
  step.graph = {};
  return assignArguments(step);
}

Expected<void> Session::State::assignArguments(PreparedStep &step) {
  step.arguments.clear();
  for (size_t i = 0; i < step.plan.launches.size(); ++i) {
    const BoundLaunch &bound = step.plan.launches[i];
    auto arguments =
        LaunchArguments::make(driver(), bound.args, step.addresses);
    if (!arguments) {
      const LaunchDesc &launch = desc().launches[i];
      const auto &kernel = std::get<KernelLaunch>(launch.body);
      ModuleIndex module = kernel.variants[bound.variant].module;
      return arguments.error().withContext(
          fmt::format("launch {} ('{}'), kernel '{}' for {}", i, launch.label,
                      desc().modules[module].entry, modules->target(module)));
    }
    step.arguments.push_back(std::move(*arguments));
  }
  return {};
}

Expected<void> Session::State::prepare(const DeviceTensorMap &inputs,
                                       const DeviceTensorMap &results,
                                       bool inputsOnHost) {
  current = nullptr;
  ShapeBinding shapes(desc());
  for (size_t i = 0; i < desc().tensors.size(); ++i) {
    const TensorDesc &tensor = desc().tensors[i];
    if (tensor.kind == TensorKind::Result)
      continue;
    if (tensor.kind == TensorKind::Parameter) {
      const BoundParameter &bound = parameters[i];
      if (!bound.bound)
        return makeError(ErrorCode::InvalidArgument,
                         "parameter '{}' ({}) is not bound", tensor.name,
                         describeDeclared(desc(), tensor));
      if (auto ok = shapes.observe(tensor, tensor.type, bound.shape); !ok)
        return ok;
      continue;
    }
    auto found = inputs.find(tensor.name);
    if (found == inputs.end())
      return makeError(ErrorCode::NotFound,
                       "input '{}' ({}) is missing from what was passed",
                       tensor.name, describeDeclared(desc(), tensor));
    const DeviceTensor &input = found->second;
    if (auto ok = shapes.observe(tensor, input.type, input.shape); !ok)
      return ok;
    if (!inputsOnHost)
      if (auto ok = checkDeviceTensor(tensor.name, input); !ok)
        return ok;
  }
  Expected<std::vector<int64_t>> symbols = shapes.finish();
  if (!symbols)
    return symbols.error();
  Expected<PreparedStep *> step = planFor(std::move(*symbols));
  if (!step)
    return step.error();
  if (auto ok = reserve(static_cast<size_t>((*step)->plan.totalBytes)); !ok)
    return ok;
  if (auto ok = assignAddresses(**step, inputs, results, inputsOnHost); !ok)
    return ok;
  current = *step;
  return {};
}

Expected<void> Session::prepare(const DeviceTensorMap &inputs,
                                const DeviceTensorMap &results) {
  return state_->prepare(inputs, results, /*inputsOnHost=*/false);
}

Expected<void> Session::prepare(const TensorMap &inputs) {
  State &state = *state_;
  DeviceTensorMap shapes;
  for (const auto &[name, tensor] : inputs)
    shapes[name] = {tensor.type(), tensor.shape(), 0};
  if (auto ok = state.prepare(shapes, {}, /*inputsOnHost=*/true); !ok)
    return ok;
  for (const TensorDesc &tensor : state.desc().tensors) {
    if (tensor.kind != TensorKind::Input)
      continue;
    const HostTensor &host = inputs.find(tensor.name)->second;
    if (auto ok = state.device.upload(state.current->addresses[tensor.buffer],
                                      host.data(), host.bytes());
        !ok) {
      state.current = nullptr;
      return ok.error().withContext("input '" + tensor.name + "'");
    }
  }
  return {};
}

} // namespace epifold::runtime
