// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel's parameters as a launch passes them: addresses, integers and
// encoded tensor maps.

#ifndef EPIFOLD_RUNTIME_SRC_LAUNCHARGUMENTS_H
#define EPIFOLD_RUNTIME_SRC_LAUNCHARGUMENTS_H

#include "Driver.h"
#include "LaunchPlan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace epifold::runtime {

/// The parameters of one launch and, in their order, pointers to them. Moving
/// it keeps them valid.
class LaunchArguments {
public:
  /// The parameters for buffers at those addresses. Errors name the argument
  /// and what it maps: InvalidArgument where a tensor map would start at an
  /// address that is not 16-byte aligned, else the driver's.
  static Expected<LaunchArguments> make(const driver::Driver &driver,
                                        const std::vector<BoundArg> &args,
                                        std::span<const uint64_t> addresses);

  /// What a launch call takes.
  void **pointers() { return pointers_.data(); }

private:
  std::vector<uint64_t> words_;
  std::vector<driver::TensorMap> maps_;
  std::vector<void *> pointers_;
};

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_LAUNCHARGUMENTS_H
