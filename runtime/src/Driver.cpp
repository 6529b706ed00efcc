// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Resolves the driver's entries and puts its errors into words.

#include "Driver.h"

#include "ErrorFormat.h"
#include "Target.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace epifold::runtime::driver {
namespace {

/// Looks entries up by the driver's own resolver, which gives the form of an
/// entry that a CUDA version defined, whatever the library exports today.
class Resolver {
public:
  explicit Resolver(void *library) {
    second_ =
        reinterpret_cast<SecondForm>(dlsym(library, "cuGetProcAddress_v2"));
    first_ = reinterpret_cast<FirstForm>(dlsym(library, "cuGetProcAddress"));
  }

  bool usable() const { return first_ || second_; }

  void *find(const char *name, int version) const {
    void *entry = nullptr;
    Result result = second_ ? second_(name, &entry, version, 0, nullptr)
                            : first_(name, &entry, version, 0);
    return result == kSuccess ? entry : nullptr;
  }

private:
  using FirstForm = Result (*)(const char *, void **, int, uint64_t);
  using SecondForm = Result (*)(const char *, void **, int, uint64_t,
                                void *status);
  FirstForm first_ = nullptr;
  SecondForm second_ = nullptr;
};

Error tooOld(const std::string &path, const char *missing, int version,
             int needed) {
  std::string has =
      version ? fmt::format(" implements CUDA {} and", cudaVersionText(version))
              : std::string();
  return makeError(ErrorCode::Unsupported,
                   "the driver '{}'{} lacks {}, which came with CUDA {}: "
                   "install an NVIDIA driver for CUDA 11.4 or later",
                   path, has, missing, cudaVersionText(needed));
}

} // namespace

Error Driver::error(const char *call, Result result,
                    const std::string &context) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != kSuccess || !name)
    name = "unknown error";
  if (cuGetErrorString(result, &text) != kSuccess || !text)
    text = "no description";
  ErrorCode code = ErrorCode::Driver;
  if (result == kOutOfMemory)
    code = ErrorCode::OutOfMemory;
  else if (result == kNoDevice || result == kInvalidDevice)
    code = ErrorCode::NoDevice;
  return makeError(code, "{}{}{} failed: {} ({}, error {})", context,
                   context.empty() ? "" : ": ", call, text, name,
                   static_cast<int>(result));
}

Expected<std::shared_ptr<const Driver>> openDriver(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return makeError(
        ErrorCode::NoDevice,
        "no CUDA driver: '{}' could not be opened ({}). Install the NVIDIA "
        "driver, or use the CPU with --device=reference",
        path, reason ? reason : "no reason given");
  }
  Resolver resolver(library);
  if (!resolver.usable())
    return tooOld(path, "cuGetProcAddress", 0, 11030);

  auto driver = std::make_shared<Driver>();
  // The version is wanted in the messages about what is missing.
  if (auto getVersion = reinterpret_cast<Result (*)(int *)>(
          resolver.find("cuDriverGetVersion", 2020)))
    getVersion(&driver->version);
#define EPIFOLD_DRIVER_OPTIONAL(name, since, parameters)                       \
  driver->name =                                                               \
      reinterpret_cast<Result(*) parameters>(resolver.find(#name, since));
#define EPIFOLD_DRIVER_REQUIRED(name, since, parameters)                       \
  EPIFOLD_DRIVER_OPTIONAL(name, since, parameters)                             \
  if (!driver->name)                                                           \
    return tooOld(path, #name, driver->version, since);
#include "DriverSymbols.def"

  if (Result result = driver->cuInit(0); result != kSuccess) {
    Error error = driver->error("cuInit", result, "");
    return makeError(ErrorCode::NoDevice,
                     "no usable CUDA device: {}. Check the driver with "
                     "nvidia-smi, or use the CPU with --device=reference",
                     error.message());
  }
  return std::shared_ptr<const Driver>(std::move(driver));
}

Expected<std::shared_ptr<const Driver>> systemDriver() {
  static std::mutex mutex;
  static std::shared_ptr<const Driver> opened;
  std::lock_guard lock(mutex);
  if (opened)
    return opened;
  const char *path = std::getenv("EPIFOLD_CUDA_DRIVER");
  auto driver = openDriver(path && *path ? path : "libcuda.so.1");
  if (driver)
    opened = *driver; // failures are tried again: a driver may be installed
  return driver;
}

} // namespace epifold::runtime::driver
