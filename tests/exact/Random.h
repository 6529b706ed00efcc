// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A small generator of random choices that is the same with every standard
// library.

#ifndef EPIFOLD_TESTS_EXACT_RANDOM_H
#define EPIFOLD_TESTS_EXACT_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace epifold::exact {

/// Mixes all bits of `x` into all bits of the result (a bijection).
inline uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 29)) * 0xa0761d6478bd642fu;
  return x ^ (x >> 32);
}

/// A stream of choices that its seed determines.
class Random {
public:
  explicit Random(uint64_t seed) : state_(mixBits(seed + 1)) {}

  uint64_t bits() { return mixBits(state_ += 0x9e3779b97f4a7c15u); }
  /// Uniform in [0, bound).
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(bound));
  }
  bool percent(int64_t chance) { return below(100) < chance; }

  template <typename T>
  const T &of(const std::vector<T> &choices) {
    return choices[below(static_cast<int64_t>(choices.size()))];
  }
  template <typename T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

private:
  uint64_t state_;
};

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_RANDOM_H
