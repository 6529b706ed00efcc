// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How two numbers compare, as bits, so that a predicate is a set of them.

#ifndef EPIFOLD_BACKENDS_REFERENCE_RELATION_H
#define EPIFOLD_BACKENDS_REFERENCE_RELATION_H

#include <cstdint>

namespace epifold::reference {

enum Relation : uint8_t { Less = 1, Greater = 2, Equal = 4, Unordered = 8 };

template <typename T>
uint8_t relate(T a, T b) {
  return a < b ? Less : a > b ? Greater : a == b ? Equal : Unordered;
}

} // namespace epifold::reference

#endif
