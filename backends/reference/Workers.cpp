// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Splits loops over a thread pool, parts taken as threads come free.

#include "backends/reference/Workers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

using namespace epifold::reference;

static unsigned chooseThreads(unsigned requested) {
  if (requested != 0)
    return requested;
  if (const char *text = std::getenv("EPIFOLD_THREADS"))
    if (unsigned number; llvm::to_integer(text, number) && number > 0)
      return number;
  return std::max(1u, std::thread::hardware_concurrency());
}

Workers::Workers(unsigned requested) : threads(chooseThreads(requested)) {
  if (threads > 1) {
    llvm::ThreadPoolStrategy strategy;
    strategy.ThreadsRequested = threads - 1; // the caller works too
    strategy.UseHyperThreads = true;
    pool = std::make_unique<llvm::StdThreadPool>(strategy);
  }
}

Workers::~Workers() = default;

void Workers::forEach(
    int64_t count, int64_t grain,
    llvm::function_ref<void(int64_t begin, int64_t end)> body) {
  int64_t parts = (count + grain - 1) / grain;
  if (parts <= 1 || threads == 1) {
    for (int64_t begin = 0; begin < count; begin += grain)
      body(begin, std::min(begin + grain, count));
    return;
  }
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t part = next++; part < parts; part = next++)
      body(part * grain, std::min((part + 1) * grain, count));
  };
  llvm::ThreadPoolTaskGroup group(*pool);
  int64_t helpers = std::min<int64_t>(threads, parts) - 1;
  for (int64_t i = 0; i < helpers; ++i)
    group.async(work);
  work();
  group.wait();
}
