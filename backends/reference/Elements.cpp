// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Conversions between storage and compute types over spans.

#include "backends/reference/Elements.h"

#include "ir/numerics/Float16.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstring>

using namespace epifold::reference;

namespace {

template <typename Stored, typename T>
void loadAs(const std::byte *data, int64_t stride,
            llvm::MutableArrayRef<T> to) {
  const auto *from = reinterpret_cast<const Stored *>(data);
  auto convert = [](Stored value) -> T {
    if constexpr (std::is_same_v<Stored, epifold::numerics::BFloat16> ||
                  std::is_same_v<Stored, epifold::numerics::Float16>)
      return static_cast<T>(value.toFloat());
    else
      return static_cast<T>(value);
  };
  if (stride == 1)
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = convert(from[i]);
  else
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = convert(from[static_cast<int64_t>(i) * stride]);
}

template <typename Stored, typename T>
void storeAs(llvm::ArrayRef<T> from, std::byte *data) {
  auto *to = reinterpret_cast<Stored *>(data);
  for (size_t i = 0; i < from.size(); ++i) {
    if constexpr (std::is_same_v<Stored, epifold::numerics::BFloat16> ||
                  std::is_same_v<Stored, epifold::numerics::Float16>)
      to[i] = Stored::fromFloat(static_cast<float>(from[i]));
    else
      to[i] = static_cast<Stored>(from[i]);
  }
}

} // namespace

template <typename T>
void epifold::reference::load(ConstElements from, int64_t begin, int64_t stride,
                              llvm::MutableArrayRef<T> to) {
  const std::byte *data = from.data + begin * getByteSize(from.type);
  switch (from.type) {
  case ElementType::F64:
    return loadAs<double>(data, stride, to);
  case ElementType::F32:
    return loadAs<float>(data, stride, to);
  case ElementType::BF16:
    return loadAs<numerics::BFloat16>(data, stride, to);
  case ElementType::F16:
    return loadAs<numerics::Float16>(data, stride, to);
  default:
    llvm_unreachable("not a float type");
  }
}

template <typename T>
void epifold::reference::store(llvm::ArrayRef<T> from, Elements to,
                               int64_t begin) {
  std::byte *data = to.data + begin * getByteSize(to.type);
  switch (to.type) {
  case ElementType::F64:
    return storeAs<double>(from, data);
  case ElementType::F32:
    return storeAs<float>(from, data);
  case ElementType::BF16:
    return storeAs<numerics::BFloat16>(from, data);
  case ElementType::F16:
    return storeAs<numerics::Float16>(from, data);
  default:
    llvm_unreachable("not a float type");
  }
}

namespace epifold::reference {
template void load(ConstElements, int64_t, int64_t,
                   llvm::MutableArrayRef<float>);
template void load(ConstElements, int64_t, int64_t,
                   llvm::MutableArrayRef<double>);
template void store(llvm::ArrayRef<float>, Elements, int64_t);
template void store(llvm::ArrayRef<double>, Elements, int64_t);
} // namespace epifold::reference

std::vector<int64_t> epifold::reference::loadIntegers(const Tensor &tensor) {
  auto widen = [](auto elements) {
    return std::vector<int64_t>(elements.begin(), elements.end());
  };
  switch (tensor.getElementType()) {
  case ElementType::I64:
    return widen(tensor.getElements<int64_t>());
  case ElementType::I32:
    return widen(tensor.getElements<int32_t>());
  case ElementType::I8:
    return widen(tensor.getElements<int8_t>());
  case ElementType::I1:
    return widen(tensor.getElements<uint8_t>());
  default:
    llvm_unreachable("not an integer type");
  }
}

Tensor epifold::reference::makeIntegers(ElementType type,
                                        llvm::ArrayRef<int64_t> shape,
                                        llvm::ArrayRef<int64_t> values) {
  if (type == ElementType::I64)
    return Tensor::copyOf(type, shape, values.data());
  assert(type == ElementType::I32 && "indices are i32 or i64");
  std::vector<int32_t> narrow(values.begin(), values.end());
  return Tensor::copyOf(type, shape, narrow.data());
}

template <typename Word>
static void copyWords(const std::byte *from, int64_t stride, int64_t count,
                      std::byte *to) {
  const auto *source = reinterpret_cast<const Word *>(from);
  auto *target = reinterpret_cast<Word *>(to);
  for (int64_t i = 0; i < count; ++i)
    target[i] = source[i * stride];
}

void epifold::reference::copyStrided(const std::byte *from, int64_t stride,
                                     int64_t size, int64_t count,
                                     std::byte *to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * size));
    return;
  }
  switch (size) {
  case 8:
    return copyWords<uint64_t>(from, stride, count, to);
  case 4:
    return copyWords<uint32_t>(from, stride, count, to);
  case 2:
    return copyWords<uint16_t>(from, stride, count, to);
  default:
    return copyWords<uint8_t>(from, stride, count, to);
  }
}

Tensor epifold::reference::permute(const Tensor &tensor,
                                   llvm::ArrayRef<int64_t> permutation) {
  int64_t rank = tensor.getRank(), size = getByteSize(tensor.getElementType());
  Tensor::Shape strides(rank), shape(rank), resultStrides(rank);
  int64_t stride = 1;
  for (int64_t dim = rank - 1; dim >= 0; stride *= tensor.getDim(dim--))
    strides[dim] = stride;
  for (int64_t dim = 0; dim < rank; ++dim) {
    shape[dim] = tensor.getDim(permutation[dim]);
    resultStrides[dim] = strides[permutation[dim]];
  }
  Tensor result = Tensor::zeros(tensor.getElementType(), shape);
  if (rank == 0 || result.getNumElements() == 0)
    return rank == 0 ? tensor : result;
  std::byte *to = result.getMutableBytes();
  Tensor::Shape position(rank, 0);
  for (int64_t from = 0;;) {
    copyStrided(tensor.getBytes() + from * size, resultStrides.back(), size,
                shape.back(), to);
    to += shape.back() * size;
    // Advance the outer dimensions as an odometer.
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      from += resultStrides[dim];
      if (++position[dim] < shape[dim])
        break;
      from -= resultStrides[dim] * shape[dim];
      position[dim] = 0;
    }
    if (dim < 0)
      return result;
  }
}
