// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The CUDA driver, opened at run time through one table of entries.

#ifndef EPIFOLD_RUNTIME_SRC_DRIVER_H
#define EPIFOLD_RUNTIME_SRC_DRIVER_H

#include "DriverTypes.h"
#include "epifold/runtime/Error.h"

#include <memory>
#include <string>

namespace epifold::runtime::driver {

/// The entries of one opened driver library. It stays open until the process
/// ends: drivers do not survive being unloaded.
struct Driver {
#define EPIFOLD_DRIVER_REQUIRED(name, version, parameters)                     \
  Result(*name) parameters = nullptr;
#include "DriverSymbols.def"

  int version = 0; ///< CUDA version that the driver implements: 13000 is 13.0.

  bool hasGraphs() const {
    return cuStreamBeginCapture && cuStreamEndCapture &&
           cuGraphInstantiateWithFlags && cuGraphLaunch && cuGraphExecDestroy &&
           cuGraphDestroy;
  }

  bool hasTensorMaps() const { return cuTensorMapEncodeTiled; }

  /// Whether a launch may overlap the one before it, in a stream or in a graph
  /// that is captured from one.
  bool hasOverlap(bool inGraph) const {
    constexpr int kInGraphSince = 12030;
    return cuLaunchKernelEx && (!inGraph || version >= kInGraphSince);
  }

  /// An error that names the call, the driver's own words and `context` (the
  /// kernel, target or purpose; may be empty).
  Error error(const char *call, Result result,
              const std::string &context) const;

  /// Success, or `error` of the arguments.
  Expected<void> check(Result result, const char *call,
                       const std::string &context = {}) const {
    if (result == kSuccess)
      return {};
    return error(call, result, context);
  }
};

/// Opens and initialises the driver library at `path`. Errors: NoDevice when it
/// cannot be opened or finds no device; Unsupported when it lacks a required
/// entry.
Expected<std::shared_ptr<const Driver>> openDriver(const std::string &path);

/// The process' driver, opened on the first call: $EPIFOLD_CUDA_DRIVER, or
/// libcuda.so.1 where the loader finds it. Errors as `openDriver`.
Expected<std::shared_ptr<const Driver>> systemDriver();

} // namespace epifold::runtime::driver

#endif // EPIFOLD_RUNTIME_SRC_DRIVER_H
