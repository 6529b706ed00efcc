// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A CUDA device: its context, facts and memory.

#include "epifold/runtime/Device.h"

#include "DeviceState.h"
#include "ErrorFormat.h"

#include <utility>

namespace epifold::runtime {

using driver::Driver;

DeviceState::~DeviceState() {
  if (!context)
    return;
  // Destruction has nobody to report to: a failure here means that the context
  // is gone, and its memory with it.
  if (enter())
    (void)pool.trim();
  driver->cuDevicePrimaryCtxRelease(device);
}

Expected<std::shared_ptr<DeviceState>>
openDeviceState(std::shared_ptr<const Driver> driver, int ordinal) {
  auto state = std::make_shared<DeviceState>(driver);
  int count = 0;
  if (auto ok =
          driver->check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount");
      !ok)
    return ok.error();
  if (ordinal < 0 || ordinal >= count)
    return makeError(ErrorCode::NoDevice,
                     "no device cuda:{}: the driver lists {} device{}", ordinal,
                     count, count == 1 ? "" : "s");
  DeviceInfo &info = state->info;
  info.ordinal = ordinal;
  info.driverVersion = driver->version;
  if (auto ok = driver->check(driver->cuDeviceGet(&state->device, ordinal),
                              "cuDeviceGet");
      !ok)
    return ok.error();
  char name[256] = {};
  if (auto ok = driver->check(
          driver->cuDeviceGetName(name, sizeof(name) - 1, state->device),
          "cuDeviceGetName");
      !ok)
    return ok.error();
  info.name = name;
  for (auto [attribute, value] :
       {std::pair{driver::kComputeCapabilityMajor, &info.major},
        {driver::kComputeCapabilityMinor, &info.minor},
        {driver::kMultiprocessorCount, &info.multiprocessors},
        {driver::kMaxSharedMemoryPerBlockOptin, &info.maxSharedBytesPerBlock}})
    if (auto ok = driver->check(
            driver->cuDeviceGetAttribute(value, attribute, state->device),
            "cuDeviceGetAttribute", info.name);
        !ok)
      return ok.error();
  if (auto ok = driver->check(
          driver->cuDeviceTotalMem(&info.totalBytes, state->device),
          "cuDeviceTotalMem", info.name);
      !ok)
    return ok.error();
  driver::Context context = nullptr;
  if (auto ok = driver->check(
          driver->cuDevicePrimaryCtxRetain(&context, state->device),
          "cuDevicePrimaryCtxRetain", info.name);
      !ok)
    return ok.error();
  state->context = context;
  if (auto ok = state->enter(); !ok)
    return ok.error();
  return state;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer &&other) noexcept
    : state_(std::move(other.state_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  std::swap(state_, other.state_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0)
    state_->pool.release(address_);
}

Device::Device(std::shared_ptr<DeviceState> state) : state_(std::move(state)) {}

Expected<Device> Device::open(int ordinal) {
  auto opened = driver::systemDriver();
  if (!opened)
    return opened.error();
  auto state = openDeviceState(*opened, ordinal);
  if (!state)
    return state.error();
  return Device(*state);
}

Expected<int> Device::count() {
  auto opened = driver::systemDriver();
  if (!opened) {
    if (opened.error().code() == ErrorCode::NoDevice)
      return 0;
    return opened.error();
  }
  int count = 0;
  if (auto ok = (*opened)->check((*opened)->cuDeviceGetCount(&count),
                                 "cuDeviceGetCount");
      !ok)
    return ok.error();
  return count;
}

const DeviceInfo &Device::info() const { return state_->info; }

Expected<MemoryInfo> Device::memory() const {
  if (auto ok = state_->enter(); !ok)
    return ok.error();
  MemoryInfo info;
  const Driver &driver = *state_->driver;
  if (auto ok =
          driver.check(driver.cuMemGetInfo(&info.freeBytes, &info.totalBytes),
                       "cuMemGetInfo");
      !ok)
    return ok.error();
  state_->pool.describe(info);
  return info;
}

Expected<DeviceBuffer> Device::allocate(size_t bytes,
                                        const std::string &purpose) {
  DeviceBuffer buffer;
  if (bytes == 0)
    return buffer;
  if (auto ok = state_->enter(); !ok)
    return ok.error();
  Expected<uint64_t> address = state_->pool.allocate(bytes, purpose);
  if (!address)
    return address.error();
  buffer.state_ = state_;
  buffer.address_ = *address;
  buffer.bytes_ = bytes;
  return buffer;
}

Expected<void> Device::trim() {
  if (auto ok = state_->enter(); !ok)
    return ok;
  return state_->pool.trim();
}

Expected<void> Device::upload(uint64_t address, const void *source,
                              size_t bytes) {
  if (bytes == 0)
    return {};
  if (auto ok = state_->enter(); !ok)
    return ok;
  const Driver &driver = *state_->driver;
  if (auto ok = driver.check(driver.cuMemcpyHtoD(address, source, bytes),
                             "cuMemcpyHtoD");
      !ok)
    return ok;
  // The call above returns once the source was staged; the streams that launch
  // kernels do not wait for the stream that it copies on.
  return driver.check(driver.cuStreamSynchronize(nullptr),
                      "cuStreamSynchronize", "upload");
}

Expected<void> Device::download(void *target, uint64_t address, size_t bytes) {
  if (bytes == 0)
    return {};
  if (auto ok = state_->enter(); !ok)
    return ok;
  return state_->driver->check(
      state_->driver->cuMemcpyDtoH(target, address, bytes), "cuMemcpyDtoH");
}

Expected<void> Device::synchronize() {
  if (auto ok = state_->enter(); !ok)
    return ok;
  return state_->driver->check(state_->driver->cuCtxSynchronize(),
                               "cuCtxSynchronize");
}

} // namespace epifold::runtime
