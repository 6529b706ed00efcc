// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Vectors as wide as an instruction set's registers, by the compiler's vector
// extension.

#ifndef EPIFOLD_IR_NUMERICS_VECTORTYPES_H
#define EPIFOLD_IR_NUMERICS_VECTORTYPES_H

#include <cstddef>

namespace epifold::numerics::detail {

template <typename T, size_t count>
struct VectorOf {
  typedef T Type __attribute__((vector_size(count * sizeof(T))));
};

/// count elements of T, a power of two.
template <typename T, size_t count>
using Vector = VectorOf<T, count>::Type;

template <typename V, typename T>
V loadVector(const T *from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}

template <typename V, typename T>
void storeVector(T *to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_VECTORTYPES_H
