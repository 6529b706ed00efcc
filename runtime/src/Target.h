// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Names of GPU targets and of PTX versions, and what runs where.

#ifndef EPIFOLD_RUNTIME_SRC_TARGET_H
#define EPIFOLD_RUNTIME_SRC_TARGET_H

#include <optional>
#include <string>
#include <string_view>

namespace epifold::runtime {

/// "sm_90a": compute capability 9.0 with its architecture-specific features.
struct Target {
  int major = 0;
  int minor = 0;
  bool specific = false; ///< Suffix "a": runs on exactly this capability.

  bool operator==(const Target &) const = default;
};

/// Parses "sm_<major><minor>[a]", or nothing.
std::optional<Target> parseTarget(std::string_view name);

/// True when PTX for `target` can run on a device of that capability.
bool ptxRunsOn(const Target &target, int major, int minor);

/// True when a cubin for `target` can run on a device of that capability.
bool cubinRunsOn(const Target &target, int major, int minor);

/// A version of the PTX language.
struct PtxVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const PtxVersion &) const = default;
};

/// The version that PTX text states in its `.version` line, or nothing.
std::optional<PtxVersion> statedPtxVersion(std::string_view ptx);

/// The newest PTX that a driver of that CUDA version (13000 is 13.0) accepts,
/// or nothing for a driver newer than this list.
std::optional<PtxVersion> newestPtxVersion(int driverVersion);

/// "13.0" for 13000.
std::string cudaVersionText(int driverVersion);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_TARGET_H
