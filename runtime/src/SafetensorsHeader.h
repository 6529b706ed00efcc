// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The JSON header of a safetensors file, parsed and checked.

#ifndef EPIFOLD_RUNTIME_SRC_SAFETENSORSHEADER_H
#define EPIFOLD_RUNTIME_SRC_SAFETENSORSHEADER_H

#include "epifold/runtime/Safetensors.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace epifold::runtime {

/// A tensor's place in the file.
struct SafetensorsEntry {
  std::string typeName;         ///< As written: "F32", "F8_E4M3", ...
  std::optional<DataType> type; ///< Nothing where Epifold has no such type.
  Shape shape;
  uint64_t begin = 0; ///< Bytes from the start of the data area.
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry, std::less<>> entries;
  Metadata metadata;
};

/// Bytes of the length field before the header.
inline constexpr size_t kSafetensorsPrefix = 8;

/// Longest header that is read, as in the format's reference implementation.
inline constexpr uint64_t kSafetensorsMaxHeader = 100'000'000;

/// Parses `text` (the header alone) and checks it against a data area of
/// `dataBytes`. Errors: Corrupt, with the reason and the tensor's name.
Expected<SafetensorsHeader> parseSafetensorsHeader(std::string_view text,
                                                   uint64_t dataBytes);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_SAFETENSORSHEADER_H
