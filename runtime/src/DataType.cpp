// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Names and sizes of element types.

#include "epifold/runtime/DataType.h"

#include <array>

namespace epifold {
namespace {

struct TypeInfo {
  std::string_view name;
  std::string_view safetensors;
  uint8_t bytes;
  bool isFloat;
};

// Indexed by the number of the type.
constexpr std::array<TypeInfo, kDataTypeCount> kTypes = {{
    {"f64", "F64", 8, true},
    {"f32", "F32", 4, true},
    {"bf16", "BF16", 2, true},
    {"f16", "F16", 2, true},
    {"i64", "I64", 8, false},
    {"i32", "I32", 4, false},
    {"i16", "I16", 2, false},
    {"i8", "I8", 1, false},
    {"u8", "U8", 1, false},
    {"i1", "BOOL", 1, false},
}};

const TypeInfo &info(DataType type) {
  return kTypes[static_cast<size_t>(type)];
}

template <typename Predicate>
std::optional<DataType> findType(Predicate matches) {
  for (unsigned i = 0; i < kDataTypeCount; ++i)
    if (matches(kTypes[i]))
      return static_cast<DataType>(i);
  return std::nullopt;
}

} // namespace

size_t byteSize(DataType type) { return info(type).bytes; }
bool isFloat(DataType type) { return info(type).isFloat; }
std::string_view name(DataType type) { return info(type).name; }
std::string_view safetensorsName(DataType type) {
  return info(type).safetensors;
}

std::optional<DataType> dataTypeFromName(std::string_view name) {
  return findType([&](const TypeInfo &type) { return type.name == name; });
}

std::optional<DataType> dataTypeFromSafetensorsName(std::string_view name) {
  return findType(
      [&](const TypeInfo &type) { return type.safetensors == name; });
}

std::optional<DataType> dataTypeFromNumber(uint64_t number) {
  if (number >= kDataTypeCount)
    return std::nullopt;
  return static_cast<DataType>(number);
}

} // namespace epifold
