// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A caching pool of device memory.

#ifndef EPIFOLD_RUNTIME_SRC_MEMORYPOOL_H
#define EPIFOLD_RUNTIME_SRC_MEMORYPOOL_H

#include "Driver.h"
#include "epifold/runtime/Device.h"

#include <map>
#include <mutex>

namespace epifold::runtime {

/// Keeps freed blocks for later requests of about their size. Blocks are
/// returned only after the work that used them was waited for, so no stream
/// order needs to be tracked. Calls need the device's context current.
class MemoryPool {
public:
  explicit MemoryPool(std::shared_ptr<const driver::Driver> driver)
      : driver_(std::move(driver)) {}

  /// A block of at least `bytes`, 256-byte aligned. Errors: OutOfMemory, after
  /// cached blocks were given back and the driver still had too little.
  Expected<uint64_t> allocate(size_t bytes, const std::string &purpose);

  /// Takes a block back into the cache.
  void release(uint64_t address);

  /// Gives cached blocks to the driver.
  Expected<void> trim();

  /// Adds the pool's own figures to `info`.
  void describe(MemoryInfo &info) const;

private:
  Expected<void> trimLocked();
  void take(uint64_t address, size_t size);

  std::shared_ptr<const driver::Driver> driver_;
  mutable std::mutex mutex_;
  std::multimap<size_t, uint64_t> cached_; // size to address
  std::map<uint64_t, size_t> used_;        // address to size
  size_t usedBytes_ = 0;
  size_t cachedBytes_ = 0;
  size_t peakBytes_ = 0;
};

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_MEMORYPOOL_H
