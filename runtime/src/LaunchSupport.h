// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which variants of an executable's kernels a device and its driver can launch.

#ifndef EPIFOLD_RUNTIME_SRC_LAUNCHSUPPORT_H
#define EPIFOLD_RUNTIME_SRC_LAUNCHSUPPORT_H

#include "epifold/runtime/Device.h"
#include "epifold/runtime/ExecutableBuilder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epifold::runtime {

/// What of an executable can run on one device, for any sizes.
struct LaunchSupport {
  /// By module: the image to use, or null when none runs on the device.
  std::vector<const ImageDesc *> images;
  /// By launch: the numbers of the variants that can be launched, in order of
  /// preference; empty for memsets and copies.
  std::vector<std::vector<uint32_t>> variants;

  /// The modules that every run launches, whatever its sizes, ascending.
  std::vector<ModuleIndex> modulesOfEveryRun(const ExecutableDesc &desc) const;
};

/// The image of `module` to use on a device of that capability: the one for the
/// newest target that runs there, an architecture-specific one first. Only
/// `target` is considered when it is not empty. Errors: Unsupported, with what
/// the module holds.
Expected<const ImageDesc *> chooseImage(const ModuleDesc &module, int major,
                                        int minor, const std::string &target);

/// Finds what of `desc`, which outlives the result, runs on `device`; only with
/// `hasTensorMaps` variants that take tensor maps do, and only images for
/// `target` when it is not empty. Errors: Unsupported when a kernel has no
/// variant left, with the reasons.
Expected<LaunchSupport> findLaunchSupport(const ExecutableDesc &desc,
                                          const DeviceInfo &device,
                                          bool hasTensorMaps,
                                          const std::string &target);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_LAUNCHSUPPORT_H
