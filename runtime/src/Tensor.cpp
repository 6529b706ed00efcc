// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sizes of shapes, and the memory of host tensors.

#include "epifold/runtime/Tensor.h"

#include "ErrorFormat.h"

#include <cstdlib>
#include <cstring>
#include <fmt/ranges.h>

namespace epifold::runtime {

std::string describe(DataType type, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", name(type), fmt::join(shape, ", "));
}

Expected<int64_t> elementCount(std::span<const int64_t> shape) {
  // A zero anywhere makes the count zero, but a negative size is wrong even
  // then, and so is a product of the others that no index could reach.
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return makeError(ErrorCode::InvalidArgument,
                       "shape [{}] has the negative size {}",
                       fmt::join(shape, ", "), size);
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, size, &count))
      return makeError(ErrorCode::InvalidArgument,
                       "shape [{}] has more than 2^63 - 1 elements",
                       fmt::join(shape, ", "));
  }
  return empty ? 0 : count;
}

Expected<int64_t> byteCount(DataType type, std::span<const int64_t> shape) {
  Expected<int64_t> elements = elementCount(shape);
  if (!elements)
    return elements;
  int64_t bytes;
  if (__builtin_mul_overflow(*elements, static_cast<int64_t>(byteSize(type)),
                             &bytes))
    return makeError(ErrorCode::InvalidArgument,
                     "{} has more than 2^63 - 1 bytes", describe(type, shape));
  return bytes;
}

Expected<HostTensor>
HostTensor::borrowConst(DataType type, Shape shape, const void *data,
                        std::shared_ptr<const void> keepAlive) {
  Expected<int64_t> bytes = byteCount(type, shape);
  if (!bytes)
    return bytes.error();
  HostTensor tensor;
  tensor.type_ = type;
  tensor.shape_ = std::move(shape);
  tensor.elements_ = *bytes / static_cast<int64_t>(byteSize(type));
  tensor.data_ = static_cast<const std::byte *>(data);
  tensor.storage_ = std::move(keepAlive);
  return tensor;
}

Expected<HostTensor> HostTensor::borrow(DataType type, Shape shape,
                                        void *data) {
  Expected<HostTensor> tensor =
      borrowConst(type, std::move(shape), data, nullptr);
  if (tensor)
    tensor->writable_ = true;
  return tensor;
}

Expected<HostTensor> HostTensor::allocate(DataType type, Shape shape) {
  constexpr size_t kAlignment = 64;
  Expected<int64_t> bytes = byteCount(type, shape);
  if (!bytes)
    return bytes.error();
  // aligned_alloc wants a multiple of the alignment, and never zero bytes.
  size_t rounded = (static_cast<size_t>(*bytes) / kAlignment + 1) * kAlignment;
  void *memory = std::aligned_alloc(kAlignment, rounded);
  if (!memory)
    return makeError(ErrorCode::OutOfMemory, "no host memory for {} ({} bytes)",
                     describe(type, shape), *bytes);
  std::memset(memory, 0, rounded);
  Expected<HostTensor> tensor =
      borrowConst(type, std::move(shape), memory,
                  std::shared_ptr<const void>(memory, [](const void *pointer) {
                    std::free(const_cast<void *>(pointer));
                  }));
  if (tensor)
    tensor->writable_ = true;
  return tensor;
}

} // namespace epifold::runtime
