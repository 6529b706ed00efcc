// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Driver objects that are destroyed with their owner.

#ifndef EPIFOLD_RUNTIME_SRC_DRIVERHANDLE_H
#define EPIFOLD_RUNTIME_SRC_DRIVERHANDLE_H

#include "Driver.h"

#include <utility>

namespace epifold::runtime::driver {

/// Owns a T, or nothing; `Destroy` is the entry of Driver that ends one.
template <typename T, auto Destroy>
class Handle {
public:
  Handle() = default;
  Handle(std::shared_ptr<const Driver> driver, T value)
      : driver_(std::move(driver)), value_(value) {}
  Handle(Handle &&other) noexcept
      : driver_(std::move(other.driver_)),
        value_(std::exchange(other.value_, T())) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_)
      (driver_.get()->*Destroy)(value_);
  }

  T get() const { return value_; }
  explicit operator bool() const { return value_ != T(); }

private:
  std::shared_ptr<const Driver> driver_;
  T value_ = T();
};

using StreamHandle = Handle<Stream, &Driver::cuStreamDestroy>;
using EventHandle = Handle<Event, &Driver::cuEventDestroy>;
using PinnedHandle = Handle<void *, &Driver::cuMemFreeHost>;
using GraphHandle = Handle<Graph, &Driver::cuGraphDestroy>;
using GraphExecHandle = Handle<GraphExec, &Driver::cuGraphExecDestroy>;

} // namespace epifold::runtime::driver

#endif // EPIFOLD_RUNTIME_SRC_DRIVERHANDLE_H
