// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Creates sessions and moves parameters in and out of them.

#include "epifold/runtime/Session.h"

#include "ErrorFormat.h"
#include "ParameterLayout.h"
#include "SessionState.h"
#include "ShapeBinding.h"

#include <algorithm>

namespace epifold::runtime {
namespace {

/// Index of a tensor of the executable.
size_t indexOf(const ExecutableDesc &desc, const TensorDesc &tensor) {
  return static_cast<size_t>(&tensor - desc.tensors.data());
}

/// Bytes of a parameter's memory: its buffer may be padded past the tensor.
size_t parameterBytes(const ExecutableDesc &desc, const TensorDesc &tensor,
                      size_t tensorBytes) {
  const ExprDesc &size = desc.exprs[desc.buffers[tensor.buffer].size];
  if (size.steps.size() == 1 && size.steps[0].op == ExprOp::Constant &&
      size.steps[0].value > 0)
    return std::max(tensorBytes, static_cast<size_t>(size.steps[0].value));
  return tensorBytes;
}

} // namespace

Session::State::~State() {
  // Memory goes back to the pool only when no launch can still use it.
  if (shared && stream && shared->enter())
    driver().cuStreamSynchronize(stream.get());
}

Expected<void> Session::State::load() {
  if (auto ok = shared->enter(); !ok)
    return ok;
  driver::Stream created = nullptr;
  if (auto ok = driver().check(
          driver().cuStreamCreate(&created, driver::kStreamNonBlocking),
          "cuStreamCreate");
      !ok)
    return ok;
  stream = driver::StreamHandle(shared->driver, created);
  auto found = findLaunchSupport(desc(), shared->info, driver().hasTensorMaps(),
                                 options.target);
  if (!found)
    return found.error();
  support = std::move(*found);
  modules.emplace(shared, desc(), support, options);
  if (auto ok = modules->load(support.modulesOfEveryRun(desc()), loadReport);
      !ok)
    return ok;
  parameters.resize(desc().tensors.size());
  if (auto ok = uploadConstants(); !ok)
    return ok;
  return createStatus();
}

Expected<void> Session::State::uploadConstants() {
  constants.resize(desc().buffers.size());
  for (size_t i = 0; i < constants.size(); ++i) {
    const BufferDesc &buffer = desc().buffers[i];
    if (buffer.kind != BufferKind::Constant)
      continue;
    auto memory = device.allocate(buffer.data.size(), "a constant");
    if (!memory)
      return memory.error();
    if (auto ok = device.upload(memory->address(), buffer.data.data(),
                                buffer.data.size());
        !ok)
      return ok;
    constants[i] = std::move(*memory);
  }
  return {};
}

Expected<void> Session::State::createStatus() {
  for (BufferIndex i = 0; i < desc().buffers.size(); ++i)
    if (desc().buffers[i].kind == BufferKind::Status)
      statusBuffer = i;
  if (!statusBuffer)
    return {};
  const StatusWord words[2]; // the word in use, and what it is reset to
  auto memory = device.allocate(sizeof(words), "the status word");
  if (!memory)
    return memory.error();
  statusMemory = std::move(*memory);
  if (auto ok = device.upload(statusMemory.address(), words, sizeof(words));
      !ok)
    return ok;
  void *pinned = nullptr;
  if (auto ok =
          driver().check(driver().cuMemAllocHost(&pinned, sizeof(StatusWord)),
                         "cuMemAllocHost", "the status word");
      !ok)
    return ok;
  statusOnHost = driver::PinnedHandle(shared->driver, pinned);
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session &&) noexcept = default;
Session &Session::operator=(Session &&) noexcept = default;
Session::~Session() = default;

Expected<Session> Session::create(Device device, Executable executable,
                                  const SessionOptions &options) {
  auto state = std::make_unique<State>(device, std::move(executable), options);
  state->shared = device.state_;
  if (auto ok = state->load(); !ok)
    return ok.error();
  return Session(std::move(state));
}

const Executable &Session::executable() const { return state_->executable; }
const LoadReport &Session::loadReport() const { return state_->loadReport; }

Expected<void> Session::bindParameters(const TensorMap &parameters) {
  State &state = *state_;
  const ExecutableDesc &desc = state.desc();
  // Everything is checked before anything moves.
  ShapeBinding shapes(desc);
  for (const TensorDesc &tensor : desc.tensors) {
    if (tensor.kind != TensorKind::Parameter)
      continue;
    auto found = parameters.find(tensor.name);
    if (found == parameters.end())
      return makeError(ErrorCode::NotFound,
                       "parameter '{}' ({}) is missing from what was passed",
                       tensor.name, describeDeclared(desc, tensor));
    if (auto ok =
            shapes.observe(tensor, found->second.type(), found->second.shape());
        !ok)
      return ok;
  }
  for (const TensorDesc &tensor : desc.tensors) {
    if (tensor.kind != TensorKind::Parameter)
      continue;
    const HostTensor &host = parameters.find(tensor.name)->second;
    size_t bytes = parameterBytes(desc, tensor, host.bytes());
    auto memory =
        state.device.allocate(bytes, "parameter '" + tensor.name + "'");
    if (!memory)
      return memory.error();
    HostTensor packed = host;
    if (!layoutIsIdentity(host.shape(), tensor.layout)) {
      auto target = HostTensor::allocate(host.type(), host.shape());
      if (!target)
        return target.error();
      packParameter(host.data(), target->mutableData(), byteSize(host.type()),
                    host.shape(), tensor.layout, state.options.threads);
      packed = std::move(*target);
    }
    if (bytes > host.bytes())
      if (auto ok = state.driver().check(
              state.driver().cuMemsetD8Async(memory->address(), 0, bytes,
                                             nullptr),
              "cuMemsetD8Async", "padding parameter '" + tensor.name + "'");
          !ok)
        return ok;
    if (auto ok = state.device.upload(memory->address(), packed.data(),
                                      packed.bytes());
        !ok)
      return ok.error().withContext("parameter '" + tensor.name + "'");
    BoundParameter &bound = state.parameters[indexOf(desc, tensor)];
    bound = {true, host.shape(), std::move(*memory), 0, bytes};
    bound.address = bound.owned.address();
  }
  state.current = nullptr; // its addresses are stale
  return {};
}

Expected<void> Session::bindParameter(const std::string &name,
                                      const DeviceTensor &tensor) {
  const ExecutableDesc &desc = state_->desc();
  const TensorDesc *declared =
      state_->executable.find(TensorKind::Parameter, name);
  if (!declared)
    return makeError(ErrorCode::NotFound, "the graph has no parameter '{}'",
                     name);
  if (auto ok =
          ShapeBinding(desc).observe(*declared, tensor.type, tensor.shape);
      !ok)
    return ok;
  if (auto ok = checkDeviceTensor(name, tensor); !ok)
    return ok;
  Expected<int64_t> bytes = byteCount(tensor.type, tensor.shape);
  if (!bytes)
    return bytes.error();
  size_t needed = parameterBytes(desc, *declared, static_cast<size_t>(*bytes));
  state_->parameters[indexOf(desc, *declared)] = {
      true, tensor.shape, DeviceBuffer(), tensor.address, needed};
  state_->current = nullptr;
  return {};
}

Expected<DeviceTensor> Session::parameter(const std::string &name) {
  State &state = *state_;
  const TensorDesc *declared =
      state.executable.find(TensorKind::Parameter, name);
  if (!declared)
    return makeError(ErrorCode::NotFound, "the graph has no parameter '{}'",
                     name);
  const BoundParameter &bound =
      state.parameters[indexOf(state.desc(), *declared)];
  if (!bound.bound)
    return makeError(ErrorCode::InvalidArgument, "parameter '{}' is not bound",
                     name);
  return DeviceTensor{declared->type, bound.shape, bound.address};
}

Expected<HostTensor> Session::readParameter(const std::string &name) {
  State &state = *state_;
  Expected<DeviceTensor> bound = parameter(name);
  if (!bound)
    return bound.error();
  auto packed = HostTensor::allocate(bound->type, bound->shape);
  if (!packed)
    return packed;
  if (auto ok = state.device.download(packed->mutableData(), bound->address,
                                      packed->bytes());
      !ok)
    return ok.error();
  const std::vector<uint32_t> &layout =
      state.executable.find(TensorKind::Parameter, name)->layout;
  if (layoutIsIdentity(bound->shape, layout))
    return packed;
  auto unpacked = HostTensor::allocate(bound->type, bound->shape);
  if (unpacked)
    unpackParameter(packed->data(), unpacked->mutableData(),
                    byteSize(bound->type), bound->shape, layout,
                    state.options.threads);
  return unpacked;
}

} // namespace epifold::runtime
