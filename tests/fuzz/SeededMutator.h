// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A libFuzzer mutator that starts from valid files, so that no corpus is
// needed.

#ifndef EPIFOLD_TESTS_FUZZ_SEEDEDMUTATOR_H
#define EPIFOLD_TESTS_FUZZ_SEEDEDMUTATOR_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace epifold::test {

/// Mutates `data` in place; now and then, and for inputs too short to hold
/// anything, it mutates one of `seeds` instead. Returns the new size.
inline size_t mutateFromSeeds(const std::vector<std::vector<uint8_t>> &seeds,
                              uint8_t *data, size_t size, size_t maxSize,
                              unsigned random) {
  constexpr size_t kShort = 8;
  constexpr unsigned kEvery = 64;
  if (size < kShort || random % kEvery == 0) {
    const std::vector<uint8_t> &seed = seeds[random / kEvery % seeds.size()];
    size = std::min(seed.size(), maxSize);
    std::memcpy(data, seed.data(), size);
  }
  return LLVMFuzzerMutate(data, size, maxSize);
}

} // namespace epifold::test

#endif // EPIFOLD_TESTS_FUZZ_SEEDEDMUTATOR_H
