// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A few threads among which an evaluation splits its loops.

#ifndef EPIFOLD_BACKENDS_REFERENCE_WORKERS_H
#define EPIFOLD_BACKENDS_REFERENCE_WORKERS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <memory>

namespace llvm {
class StdThreadPool;
} // namespace llvm

namespace epifold::reference {

/// Threads that live as long as an evaluation. What they compute must not
/// depend on how a loop is split: every element is one part's own.
class Workers {
public:
  /// `threads` as in `Options`.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  /// Calls `body(begin, end)` for parts that cover `0 … count`, each of
  /// `grain` iterations at most, and returns when all are done. Not for use
  /// inside `body`.
  void forEach(int64_t count, int64_t grain,
               llvm::function_ref<void(int64_t begin, int64_t end)> body);

  unsigned getThreads() const { return threads; }

private:
  unsigned threads;
  std::unique_ptr<llvm::StdThreadPool> pool;
};

} // namespace epifold::reference

#endif
