// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A CUDA device through its driver: memory, and what errors and schedules ask
// of it.

#ifndef EPIFOLD_RUNTIME_DEVICE_H
#define EPIFOLD_RUNTIME_DEVICE_H

#include "epifold/runtime/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace epifold::runtime {

/// What a device and its driver are.
struct DeviceInfo {
  std::string name;               ///< "NVIDIA H200".
  int ordinal = 0;                ///< N of "cuda:N".
  int major = 0;                  ///< Compute capability.
  int minor = 0;                  ///< Compute capability.
  int driverVersion = 0;          ///< 1000 * major + 10 * minor, of CUDA.
  int multiprocessors = 0;        ///< Streaming multiprocessors.
  int maxSharedBytesPerBlock = 0; ///< With opt-in.
  size_t totalBytes = 0;          ///< Device memory.
};

/// Free and total device memory, and what this process' pool holds of it.
struct MemoryInfo {
  size_t freeBytes = 0;
  size_t totalBytes = 0;
  size_t poolUsedBytes = 0;   ///< Handed out.
  size_t poolCachedBytes = 0; ///< Returned, kept for the next request.
  size_t poolPeakBytes = 0;   ///< Largest poolUsedBytes so far.
};

/// Device memory that goes back to its device's pool when destroyed.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer &&) noexcept;
  DeviceBuffer &operator=(DeviceBuffer &&) noexcept;
  ~DeviceBuffer();

  uint64_t address() const {
    return address_;
  } ///< 256-byte aligned; 0 if empty.
  size_t bytes() const { return bytes_; }

private:
  friend class Device;
  std::shared_ptr<struct DeviceState> state_;
  uint64_t address_ = 0;
  size_t bytes_ = 0;
};

/// A device with its primary context. Copies share both. Functions may be
/// called from any thread.
class Device {
public:
  /// Opens the driver and device number `ordinal`. Errors: NoDevice when there
  /// is no driver or no such device; Unsupported when the driver is too old.
  static Expected<Device> open(int ordinal = 0);

  /// Number of devices; 0 without a driver. Errors: a driver that fails.
  static Expected<int> count();

  const DeviceInfo &info() const;
  Expected<MemoryInfo> memory() const;

  /// Device memory, uninitialised. Errors: OutOfMemory says what was asked and
  /// what was free.
  Expected<DeviceBuffer> allocate(size_t bytes, const std::string &purpose);

  /// Gives cached memory back to the driver.
  Expected<void> trim();

  /// Copies between host and device memory and waits.
  Expected<void> upload(uint64_t address, const void *source, size_t bytes);
  Expected<void> download(void *target, uint64_t address, size_t bytes);

  /// Waits for all work of the context.
  Expected<void> synchronize();

private:
  friend class Session;
  explicit Device(std::shared_ptr<struct DeviceState> state);
  std::shared_ptr<struct DeviceState> state_;
};

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_DEVICE_H
