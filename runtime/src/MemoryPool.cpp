// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A caching pool of device memory.

#include "MemoryPool.h"

#include "ErrorFormat.h"

#include <algorithm>
#include <optional>

namespace epifold::runtime {
namespace {

constexpr size_t kSmallGranule = 512;
constexpr size_t kLargeGranule = size_t(2) << 20; // the driver's page size
constexpr size_t kLargeFrom = size_t(1) << 20;

/// Rounded sizes make blocks fit later requests; nothing on overflow.
std::optional<size_t> roundUp(size_t bytes) {
  size_t granule = bytes < kLargeFrom ? kSmallGranule : kLargeGranule;
  size_t padded;
  if (__builtin_add_overflow(bytes, granule - 1, &padded))
    return std::nullopt;
  return std::max(padded / granule * granule, granule);
}

} // namespace

void MemoryPool::take(uint64_t address, size_t size) {
  used_.emplace(address, size);
  usedBytes_ += size;
  peakBytes_ = std::max(peakBytes_, usedBytes_);
}

Expected<uint64_t> MemoryPool::allocate(size_t bytes,
                                        const std::string &purpose) {
  std::lock_guard lock(mutex_);
  std::optional<size_t> size = roundUp(bytes);
  // A block up to an eighth too large is better than another one.
  if (size)
    if (auto found = cached_.lower_bound(*size);
        found != cached_.end() && found->first - *size <= *size / 8) {
      auto [blockSize, address] = *found;
      cached_.erase(found);
      cachedBytes_ -= blockSize;
      take(address, blockSize);
      return address;
    }

  driver::DevicePointer address = 0;
  driver::Result result = driver::kOutOfMemory;
  if (size) {
    result = driver_->cuMemAlloc(&address, *size);
    if (result == driver::kOutOfMemory && !cached_.empty()) {
      if (Expected<void> trimmed = trimLocked(); !trimmed)
        return trimmed.error();
      result = driver_->cuMemAlloc(&address, *size);
    }
  }
  if (result == driver::kOutOfMemory) {
    size_t free = 0, total = 0;
    driver_->cuMemGetInfo(&free, &total);
    return makeError(ErrorCode::OutOfMemory,
                     "out of device memory: {} needs {} bytes, {} of {} bytes "
                     "are free and this process holds {}; use fewer tokens, a "
                     "smaller model or another device",
                     purpose, bytes, free, total, usedBytes_);
  }
  if (Expected<void> ok = driver_->check(result, "cuMemAlloc", purpose); !ok)
    return ok.error();
  take(address, *size);
  return uint64_t(address);
}

void MemoryPool::release(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = used_.find(address);
  if (found == used_.end())
    return;
  cached_.emplace(found->second, address);
  cachedBytes_ += found->second;
  usedBytes_ -= found->second;
  used_.erase(found);
}

Expected<void> MemoryPool::trimLocked() {
  for (auto block = cached_.begin(); block != cached_.end();
       block = cached_.erase(block)) {
    if (Expected<void> freed = driver_->check(driver_->cuMemFree(block->second),
                                              "cuMemFree", "trimming");
        !freed)
      return freed;
    cachedBytes_ -= block->first;
  }
  return {};
}

Expected<void> MemoryPool::trim() {
  std::lock_guard lock(mutex_);
  return trimLocked();
}

void MemoryPool::describe(MemoryInfo &info) const {
  std::lock_guard lock(mutex_);
  info.poolUsedBytes = usedBytes_;
  info.poolCachedBytes = cachedBytes_;
  info.poolPeakBytes = peakBytes_;
}

} // namespace epifold::runtime
