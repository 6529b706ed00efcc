// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Dense host tensors with value semantics, the values the reference computes
// on.

#ifndef EPIFOLD_BACKENDS_REFERENCE_TENSOR_H
#define EPIFOLD_BACKENDS_REFERENCE_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mlir {
class Type;
} // namespace mlir

namespace epifold::reference {

/// Element types of the graph and kernel dialects. An i1 takes one byte.
enum class ElementType : uint8_t { F64, F32, BF16, F16, I64, I32, I8, I1 };

/// Bytes of one element.
int64_t getByteSize(ElementType type);

/// "f64", "bf16", … as MLIR spells them.
llvm::StringRef getName(ElementType type);

/// True for f64, f32, bf16 and f16.
inline bool isFloat(ElementType type) { return type <= ElementType::F16; }

/// The element type an MLIR type stands for, nothing for a foreign one.
std::optional<ElementType> getElementType(mlir::Type type);

/// A dense row-major tensor whose storage is aligned to 64 bytes.
///
/// Copies share storage; the first write through a copy that shares makes it
/// its own, so a tensor behaves as a value. A view shares storage too and
/// begins somewhere inside it.
class Tensor {
public:
  using Shape = llvm::SmallVector<int64_t, 4>;

  /// An empty vector of f32.
  Tensor() = default;

  /// A tensor of zeros.
  static Tensor zeros(ElementType type, llvm::ArrayRef<int64_t> shape);

  /// A tensor whose bytes are all ones: NaN as a float, −1 as an integer. So
  /// a result that depends on an element nobody wrote shows it.
  static Tensor unwritten(ElementType type, llvm::ArrayRef<int64_t> shape);

  /// A copy of `getByteSize()` bytes at `data`.
  static Tensor copyOf(ElementType type, llvm::ArrayRef<int64_t> shape,
                       const void *data);

  ElementType getElementType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getDim(int64_t dim) const { return shape[dim]; }
  int64_t getNumElements() const { return numElements; }
  int64_t getByteSize() const;

  /// The bytes; const, and never moved while this tensor lives unwritten.
  const std::byte *getBytes() const;

  /// The bytes for writing; copies them first when another tensor shares them.
  std::byte *getMutableBytes();

  /// The elements as `T`, whose size must be the element's.
  template <typename T>
  llvm::ArrayRef<T> getElements() const {
    assert(sizeof(T) == elementSize() && "element of another size");
    return {reinterpret_cast<const T *>(getBytes()),
            static_cast<size_t>(numElements)};
  }
  template <typename T>
  llvm::MutableArrayRef<T> getMutableElements() {
    assert(sizeof(T) == elementSize() && "element of another size");
    return {reinterpret_cast<T *>(getMutableBytes()),
            static_cast<size_t>(numElements)};
  }

  /// Elements `offset … offset + product(shape)` in another shape, sharing
  /// storage. The range must lie inside this tensor.
  Tensor view(int64_t offset, llvm::ArrayRef<int64_t> shape) const;

  /// All elements in a shape with as many.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const {
    return view(0, shape);
  }

  /// "30x16x8xbf16".
  std::string describe() const;

private:
  struct Storage;

  Tensor(ElementType type, llvm::ArrayRef<int64_t> shape);
  size_t elementSize() const;

  std::shared_ptr<Storage> storage;
  int64_t offset = 0; // in elements
  int64_t numElements = 0;
  Shape shape = {0};
  ElementType type = ElementType::F32;
};

} // namespace epifold::reference

#endif
