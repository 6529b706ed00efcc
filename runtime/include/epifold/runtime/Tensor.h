// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensors in host memory: a type, a shape and row-major bytes, owned or
// borrowed.

#ifndef EPIFOLD_RUNTIME_TENSOR_H
#define EPIFOLD_RUNTIME_TENSOR_H

#include "epifold/runtime/DataType.h"
#include "epifold/runtime/Error.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace epifold::runtime {

/// Sizes of the dimensions, outermost first; a scalar has none.
using Shape = std::vector<int64_t>;

/// Number of elements. Errors: a negative size, or a product past 2^63 - 1.
Expected<int64_t> elementCount(std::span<const int64_t> shape);

/// Number of bytes of a dense tensor. Errors as `elementCount`.
Expected<int64_t> byteCount(DataType type, std::span<const int64_t> shape);

/// Text for messages, such as "bf16[2, 3]".
std::string describe(DataType type, std::span<const int64_t> shape);

/// A dense row-major tensor in host memory. Copies share the bytes.
class HostTensor {
public:
  /// An empty f32[0].
  HostTensor() = default;

  /// Owned, zero-filled, 64-byte aligned memory. Errors: a bad shape, no
  /// memory.
  static Expected<HostTensor> allocate(DataType type, Shape shape);

  /// Wraps memory that the caller keeps alive and lets change.
  /// `data` holds byteCount(type, shape) bytes. Errors: a bad shape.
  static Expected<HostTensor> borrow(DataType type, Shape shape, void *data);

  /// Wraps read-only memory; `keepAlive` (may be null) is held as long as any
  /// copy of the tensor. Errors: a bad shape.
  static Expected<HostTensor>
  borrowConst(DataType type, Shape shape, const void *data,
              std::shared_ptr<const void> keepAlive);

  DataType type() const { return type_; }
  const Shape &shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t bytes() const {
    return static_cast<size_t>(elements_) * byteSize(type_);
  }

  const std::byte *data() const { return data_; }
  template <typename T>
  const T *dataAs() const {
    return reinterpret_cast<const T *>(data_);
  }
  std::span<const std::byte> span() const { return {data_, bytes()}; }

  /// The bytes for writing, or null where the memory is read-only.
  std::byte *mutableData() {
    return writable_ ? const_cast<std::byte *>(data_) : nullptr;
  }

private:
  DataType type_ = DataType::F32;
  Shape shape_ = {0};
  int64_t elements_ = 0;
  const std::byte *data_ = nullptr;
  bool writable_ = false;
  std::shared_ptr<const void> storage_;
};

/// Tensors by the name of a graph's argument or result.
using TensorMap = std::map<std::string, HostTensor, std::less<>>;

/// Element `index` (row-major) as a double; exact for every type but i64 past
/// 2^53. `index` must be in range.
double elementAsDouble(const HostTensor &tensor, int64_t index);

/// A copy of `tensor` with elements of `type`. Floats round to nearest even
/// (f64 to bf16 and f16 by way of f32, as graphs cast); floats to integers
/// truncate. Errors: a value that the integer type cannot hold, no memory.
Expected<HostTensor> castTensor(const HostTensor &tensor, DataType type);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_TENSOR_H
