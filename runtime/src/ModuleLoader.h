// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns an executable's modules into functions on a device.

#ifndef EPIFOLD_RUNTIME_SRC_MODULELOADER_H
#define EPIFOLD_RUNTIME_SRC_MODULELOADER_H

#include "DeviceState.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Session.h"

#include <memory>
#include <vector>

namespace epifold::runtime {

/// The loaded modules of one executable; unloads them when destroyed.
class LoadedModules {
public:
  /// Loads each module that a launch uses: from a cubin of the executable or of
  /// the cache where one fits, else compiled by the driver, several at a time.
  /// Errors: Unsupported when no image fits; Driver with the compiler's log.
  static Expected<LoadedModules> load(std::shared_ptr<DeviceState> device,
                                      const ExecutableDesc &desc,
                                      const SessionOptions &options,
                                      LoadReport &report);

  LoadedModules(LoadedModules &&) = default;
  LoadedModules &operator=(LoadedModules &&) = default;
  ~LoadedModules();

  /// The entry of a module that a launch uses.
  driver::Function function(ModuleIndex module) const {
    return modules_[module].function;
  }

  /// Target of the module's image, for messages.
  const std::string &target(ModuleIndex module) const {
    return modules_[module].target;
  }

private:
  struct Loaded {
    driver::Module module = nullptr;
    driver::Function function = nullptr;
    std::string target;
  };
  explicit LoadedModules(std::shared_ptr<DeviceState> device)
      : device_(std::move(device)) {}

  std::shared_ptr<DeviceState> device_;
  std::vector<Loaded> modules_; // by module index; unused ones stay empty
};

/// The image of `module` to use on a device of that capability: the one for the
/// newest target that runs there, an architecture-specific one first. Only
/// `target` is considered when it is not empty. Errors: Unsupported, with what
/// the module holds.
Expected<const ImageDesc *> chooseImage(const ModuleDesc &module, int major,
                                        int minor, const std::string &target);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_MODULELOADER_H
