// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs independent pieces of work on several threads.

#ifndef EPIFOLD_RUNTIME_SRC_PARALLEL_H
#define EPIFOLD_RUNTIME_SRC_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace epifold::runtime {

/// Number of threads that `threads` asks for; 0 means all cores.
inline unsigned threadCount(unsigned threads) {
  return threads ? threads : std::max(1u, std::thread::hardware_concurrency());
}

/// Calls `work(i)` once for each i below `count`, on up to `threads` threads,
/// the calling one among them, and returns when all are done.
template <typename Work>
void parallelFor(size_t count, unsigned threads, Work work) {
  std::atomic<size_t> next = 0;
  auto drain = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;)
      work(i);
  };
  size_t helpers = std::min<size_t>(threadCount(threads), count);
  std::vector<std::jthread> pool;
  for (size_t i = 1; i < helpers; ++i)
    pool.emplace_back(drain);
  drain();
}

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_PARALLEL_H
