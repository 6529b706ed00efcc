// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns an executable's modules into functions on a device.

#ifndef EPIFOLD_RUNTIME_SRC_MODULELOADER_H
#define EPIFOLD_RUNTIME_SRC_MODULELOADER_H

#include "DeviceState.h"
#include "LaunchSupport.h"
#include "epifold/runtime/Session.h"

#include <memory>
#include <vector>

namespace epifold::runtime {

/// The modules of one executable on a device, loaded as they come to be needed;
/// unloads them when destroyed.
class LoadedModules {
public:
  /// Loads nothing yet. `desc`, the images of `support` and `options` outlive
  /// the object.
  LoadedModules(std::shared_ptr<DeviceState> device, const ExecutableDesc &desc,
                const LaunchSupport &support, const SessionOptions &options);
  LoadedModules(const LoadedModules &) = delete;
  ~LoadedModules();

  /// Loads those of `wanted` (ascending, with an image) that are not there yet:
  /// from a cubin of the executable or of the cache where one fits, else
  /// compiled by the driver, several at a time. Errors: Driver with the
  /// compiler's log; Unsupported when the driver is older than the PTX.
  Expected<void> load(const std::vector<ModuleIndex> &wanted,
                      LoadReport &report);

  /// The entry of a loaded module.
  driver::Function function(ModuleIndex module) const {
    return modules_[module].function;
  }

  /// Target of the module's image, for messages.
  const std::string &target(ModuleIndex module) const {
    return modules_[module].image->target;
  }

private:
  struct Loaded {
    const ImageDesc *image = nullptr;
    uint32_t sharedBytes = 0; ///< The most that a variant asks for.
    driver::Module module = nullptr;
    driver::Function function = nullptr;
  };

  std::shared_ptr<DeviceState> device_;
  const ExecutableDesc &desc_;
  const SessionOptions &options_;
  std::vector<Loaded> modules_; // by module index
};

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_MODULELOADER_H
