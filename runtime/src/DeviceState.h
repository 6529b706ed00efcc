// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What copies of a Device share.

#ifndef EPIFOLD_RUNTIME_SRC_DEVICESTATE_H
#define EPIFOLD_RUNTIME_SRC_DEVICESTATE_H

#include "Driver.h"
#include "MemoryPool.h"
#include "epifold/runtime/Device.h"

namespace epifold::runtime {

struct DeviceState {
  explicit DeviceState(std::shared_ptr<const driver::Driver> opened)
      : driver(opened), pool(std::move(opened)) {}
  DeviceState(const DeviceState &) = delete;
  ~DeviceState();

  /// Makes the device's context the calling thread's.
  Expected<void> enter() const {
    return driver->check(driver->cuCtxSetCurrent(context), "cuCtxSetCurrent");
  }

  std::shared_ptr<const driver::Driver> driver;
  MemoryPool pool;
  driver::Device device = 0;
  driver::Context context = nullptr;
  DeviceInfo info;
};

/// Opens a device of that driver. Errors: NoDevice, or the driver's.
Expected<std::shared_ptr<DeviceState>>
openDeviceState(std::shared_ptr<const driver::Driver> driver, int ordinal);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_DEVICESTATE_H
