// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Storage of the reference's host tensors.

#include "backends/reference/Tensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstring>
#include <new>
#include <numeric>

using namespace epifold::reference;

int64_t epifold::reference::getByteSize(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  case ElementType::I8:
  case ElementType::I1:
    return 1;
  }
  llvm_unreachable("unknown element type");
}

llvm::StringRef epifold::reference::getName(ElementType type) {
  static constexpr llvm::StringLiteral names[] = {"f64", "f32", "bf16", "f16",
                                                  "i64", "i32", "i8",   "i1"};
  return names[static_cast<unsigned>(type)];
}

std::optional<ElementType> epifold::reference::getElementType(mlir::Type type) {
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (type.isInteger(64))
    return ElementType::I64;
  if (type.isInteger(32))
    return ElementType::I32;
  if (type.isInteger(8))
    return ElementType::I8;
  if (type.isInteger(1))
    return ElementType::I1;
  return std::nullopt;
}

struct Tensor::Storage {
  static constexpr std::align_val_t alignment{64};

  explicit Storage(size_t size)
      : data(static_cast<std::byte *>(
            ::operator new(std::max<size_t>(size, 1), alignment))) {}
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;
  ~Storage() { ::operator delete(data, alignment); }

  std::byte *data;
};

Tensor::Tensor(ElementType type, llvm::ArrayRef<int64_t> shape)
    : numElements(std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>())),
      shape(shape), type(type) {
  storage = std::make_shared<Storage>(getByteSize());
}

Tensor Tensor::zeros(ElementType type, llvm::ArrayRef<int64_t> shape) {
  Tensor tensor(type, shape);
  std::memset(tensor.storage->data, 0, tensor.getByteSize());
  return tensor;
}

Tensor Tensor::unwritten(ElementType type, llvm::ArrayRef<int64_t> shape) {
  Tensor tensor(type, shape);
  std::memset(tensor.storage->data, 0xff, tensor.getByteSize());
  return tensor;
}

Tensor Tensor::copyOf(ElementType type, llvm::ArrayRef<int64_t> shape,
                      const void *data) {
  Tensor tensor(type, shape);
  if (tensor.numElements != 0)
    std::memcpy(tensor.storage->data, data, tensor.getByteSize());
  return tensor;
}

size_t Tensor::elementSize() const {
  return static_cast<size_t>(epifold::reference::getByteSize(type));
}

int64_t Tensor::getByteSize() const {
  return numElements * epifold::reference::getByteSize(type);
}

const std::byte *Tensor::getBytes() const {
  return storage ? storage->data + offset * elementSize() : nullptr;
}

std::byte *Tensor::getMutableBytes() {
  if (storage && storage.use_count() != 1)
    *this = copyOf(type, Shape(shape), getBytes());
  return const_cast<std::byte *>(getBytes());
}

Tensor Tensor::view(int64_t begin, llvm::ArrayRef<int64_t> newShape) const {
  Tensor result = *this;
  result.offset += begin;
  result.shape = Shape(newShape);
  result.numElements = std::accumulate(newShape.begin(), newShape.end(),
                                       int64_t(1), std::multiplies<>());
  assert(begin >= 0 && begin + result.numElements <= numElements &&
         "view outside its tensor");
  return result;
}

std::string Tensor::describe() const {
  std::string text;
  for (int64_t dim : shape)
    text += std::to_string(dim) + "x";
  return text + getName(type).str();
}
