// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elements as doubles, and copies of tensors in another element type.

#include "ErrorFormat.h"
#include "epifold/runtime/Tensor.h"
#include "ir/numerics/Float16.h"

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

namespace epifold::runtime {
namespace {

using numerics::BFloat16;
using numerics::Float16;

/// One byte that holds 0 or 1.
struct Bool {
  uint8_t value;
};

/// Calls `action` with a null pointer to the C++ type of `type`'s elements.
template <typename Action>
auto visitType(DataType type, Action action) {
  switch (type) {
  case DataType::F64:
    return action(static_cast<double *>(nullptr));
  case DataType::F32:
    return action(static_cast<float *>(nullptr));
  case DataType::BF16:
    return action(static_cast<BFloat16 *>(nullptr));
  case DataType::F16:
    return action(static_cast<Float16 *>(nullptr));
  case DataType::I64:
    return action(static_cast<int64_t *>(nullptr));
  case DataType::I32:
    return action(static_cast<int32_t *>(nullptr));
  case DataType::I16:
    return action(static_cast<int16_t *>(nullptr));
  case DataType::I8:
    return action(static_cast<int8_t *>(nullptr));
  case DataType::U8:
    return action(static_cast<uint8_t *>(nullptr));
  case DataType::I1:
    break;
  }
  return action(static_cast<Bool *>(nullptr));
}

template <typename T>
constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, BFloat16> ||
    std::is_same_v<T, Float16>;

/// Floats widen to double and integers to int64; both are exact.
template <typename T>
auto widen(T element) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return double(element.toFloat());
  else if constexpr (std::is_floating_point_v<T>)
    return double(element);
  else if constexpr (std::is_same_v<T, Bool>)
    return int64_t(element.value);
  else
    return int64_t(element);
}

/// The element of type To for a widened value; false when there is none.
template <typename To, typename Wide>
bool narrow(Wide value, To &element) {
  if constexpr (std::is_floating_point_v<To>) {
    element = static_cast<To>(value);
  } else if constexpr (kIsFloat<To>) {
    element = To::fromFloat(static_cast<float>(value));
  } else {
    int64_t integer;
    if constexpr (std::is_same_v<Wide, double>) {
      // The bounds are powers of two, so they are exact; NaN fails both.
      if (!(value > -0x1p63 && value < 0x1p63))
        return false;
      integer = static_cast<int64_t>(value);
    } else {
      integer = value;
    }
    if constexpr (std::is_same_v<To, Bool>) {
      element.value = static_cast<uint8_t>(integer);
      return integer == 0 || integer == 1;
    } else {
      element = static_cast<To>(integer);
      return integer >= std::numeric_limits<To>::min() &&
             integer <= std::numeric_limits<To>::max();
    }
  }
  return true;
}

} // namespace

double elementAsDouble(const HostTensor &tensor, int64_t index) {
  return visitType(tensor.type(), [&]<typename T>(T *) {
    return double(widen(tensor.dataAs<T>()[index]));
  });
}

Expected<HostTensor> castTensor(const HostTensor &tensor, DataType type) {
  if (tensor.type() == type)
    return tensor;
  Expected<HostTensor> result = HostTensor::allocate(type, tensor.shape());
  if (!result)
    return result;
  std::optional<int64_t> failed;
  visitType(tensor.type(), [&]<typename From>(From *) {
    visitType(type, [&]<typename To>(To *) {
      const From *source = tensor.dataAs<From>();
      To *target = reinterpret_cast<To *>(result->mutableData());
      for (int64_t i = 0; i < tensor.elements(); ++i)
        if (!narrow(widen(source[i]), target[i])) {
          failed = i;
          return;
        }
    });
  });
  if (failed)
    return makeError(ErrorCode::InvalidArgument,
                     "element {} of a {} tensor is {}, which {} cannot hold",
                     *failed, name(tensor.type()),
                     elementAsDouble(tensor, *failed), name(type));
  return result;
}

} // namespace epifold::runtime
