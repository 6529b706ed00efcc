// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled kernels on disk, keyed by what they were compiled from and for.

#ifndef EPIFOLD_RUNTIME_SRC_MODULECACHE_H
#define EPIFOLD_RUNTIME_SRC_MODULECACHE_H

#include "epifold/runtime/Error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace epifold::runtime {

/// What decides the bits of a cubin.
struct ModuleKey {
  std::span<const uint8_t> ptx;
  int driverVersion = 0;
  int major = 0; ///< Compute capability.
  int minor = 0;
};

/// A folder of cubins. Every failure to use it is silent by design: the cache
/// saves time, and a machine without a writable home still runs.
class ModuleCache {
public:
  /// A cache that holds nothing.
  ModuleCache() = default;

  /// A cache in `directory`, or in the default one when that is empty
  /// ($EPIFOLD_CACHE_DIR, $XDG_CACHE_HOME/epifold, ~/.cache/epifold).
  explicit ModuleCache(const std::string &directory);

  /// The cubin for `key`; nothing when absent or damaged.
  std::optional<std::vector<uint8_t>> find(const ModuleKey &key) const;

  /// Stores a cubin; false when that failed.
  bool store(const ModuleKey &key, std::span<const uint8_t> cubin) const;

  /// The file that holds the entry of `key`; empty without a directory.
  std::string pathOf(const ModuleKey &key) const;

private:
  std::string directory_;
};

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_MODULECACHE_H
