// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves elements between storage types and the types they are computed in.

#ifndef EPIFOLD_BACKENDS_REFERENCE_ELEMENTS_H
#define EPIFOLD_BACKENDS_REFERENCE_ELEMENTS_H

#include "backends/reference/Tensor.h"

#include <vector>

namespace epifold::reference {

/// Elements for reading, by pointer so that threads may share them.
struct ConstElements {
  ElementType type;
  const std::byte *data;

  ConstElements(ElementType type, const std::byte *data)
      : type(type), data(data) {}
  explicit ConstElements(const Tensor &tensor)
      : type(tensor.getElementType()), data(tensor.getBytes()) {}
};

/// Elements for writing. Made before threads start: it makes the tensor's
/// storage its own.
struct Elements {
  ElementType type;
  std::byte *data;

  Elements(ElementType type, std::byte *data) : type(type), data(data) {}
  explicit Elements(Tensor &tensor)
      : type(tensor.getElementType()), data(tensor.getMutableBytes()) {}
};

/// Reads elements `begin, begin + stride, …` of a float type as `T` (float or
/// double). Widening is exact; f64 elements are rounded when `T` is float.
template <typename T>
void load(ConstElements from, int64_t begin, int64_t stride,
          llvm::MutableArrayRef<T> to);

/// Rounds `from` to nearest even into elements `begin, begin + 1, …` of a float
/// type; from double to bf16 or f16 through f32.
template <typename T>
void store(llvm::ArrayRef<T> from, Elements to, int64_t begin);

/// All elements of an integer tensor.
std::vector<int64_t> loadIntegers(const Tensor &tensor);

/// A tensor of integers of `type`.
Tensor makeIntegers(ElementType type, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> values);

/// Copies `count` elements of `size` bytes each, read with a stride.
void copyStrided(const std::byte *from, int64_t stride, int64_t size,
                 int64_t count, std::byte *to);

/// A copy whose dimension i is dimension `permutation[i]` of `tensor`.
Tensor permute(const Tensor &tensor, llvm::ArrayRef<int64_t> permutation);

/// True when values of this type are computed in double.
inline bool computesInDouble(ElementType type) {
  return type == ElementType::F64;
}

/// Calls `body` with a double or a float, whichever values are computed in.
template <typename Body>
auto withComputeType(bool isDouble, Body body) {
  if (isDouble)
    return body(double());
  return body(float());
}

} // namespace epifold::reference

#endif
