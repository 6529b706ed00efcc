// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element types of tensors in memory and in files.

#ifndef EPIFOLD_RUNTIME_DATATYPE_H
#define EPIFOLD_RUNTIME_DATATYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace epifold {

/// The element types that graphs, executables and safetensors files share. The
/// numbers are part of the executable format and of the C interface: append,
/// never renumber.
enum class DataType : uint8_t {
  F64 = 0,
  F32 = 1,
  BF16 = 2,
  F16 = 3,
  I64 = 4,
  I32 = 5,
  I16 = 6,
  I8 = 7,
  U8 = 8,
  I1 = 9, ///< One byte an element, 0 or 1.
};

inline constexpr unsigned kDataTypeCount = 10;

/// Bytes of one element: 8, 4, 2 or 1.
size_t byteSize(DataType type);

/// True for f64, f32, bf16 and f16.
bool isFloat(DataType type);

/// The name used in graphs and messages: "f64", "bf16", "i1", ...
std::string_view name(DataType type);

/// The name used in safetensors headers: "F64", "BF16", "BOOL", ...
std::string_view safetensorsName(DataType type);

/// The type with that `name`, or nothing.
std::optional<DataType> dataTypeFromName(std::string_view name);

/// The type with that `safetensorsName`, or nothing.
std::optional<DataType> dataTypeFromSafetensorsName(std::string_view name);

/// The type with that number, or nothing.
std::optional<DataType> dataTypeFromNumber(uint64_t number);

} // namespace epifold

#endif // EPIFOLD_RUNTIME_DATATYPE_H
