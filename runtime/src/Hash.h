// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A fast 64-bit content hash: guards against damage, not against an adversary.

#ifndef EPIFOLD_RUNTIME_SRC_HASH_H
#define EPIFOLD_RUNTIME_SRC_HASH_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace epifold::runtime {

/// Hashes bytes eight at a time. Every step maps the running value one to one
/// for a fixed word and each word one to one for a fixed running value, so two
/// inputs of one length that differ in a single word always differ in the hash.
inline uint64_t hashBytes(std::span<const uint8_t> bytes, uint64_t seed = 0) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15; // 2^64 / golden ratio
  uint64_t hash = (seed ^ bytes.size()) * kMultiplier;
  auto mix = [&](uint64_t word) {
    hash = std::rotl(hash ^ word, 29) * kMultiplier;
  };
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  if (i < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, bytes.size() - i);
    mix(word);
  }
  // Spreads the last words' influence over all bits.
  hash ^= hash >> 32;
  hash *= kMultiplier;
  return hash ^ (hash >> 29);
}

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_HASH_H
