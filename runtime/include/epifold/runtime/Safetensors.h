// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Safetensors files: reading by memory map, writing by atomic replacement.

#ifndef EPIFOLD_RUNTIME_SAFETENSORS_H
#define EPIFOLD_RUNTIME_SAFETENSORS_H

#include "epifold/runtime/Error.h"
#include "epifold/runtime/Tensor.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace epifold::runtime {

/// The text pairs of a file's "__metadata__".
using Metadata = std::map<std::string, std::string, std::less<>>;

/// A parsed file. Tensors point into it; it is held while any of them lives.
///
/// Every file is treated as hostile: the header must be a bounded, shallow JSON
/// object with unique names; the tensors' bytes must fit their types and
/// shapes and tile the data area without overlap or hole.
class SafetensorsFile {
public:
  /// Maps and checks the file. Errors: Io, or Corrupt with the reason.
  static Expected<SafetensorsFile> open(const std::string &path);

  /// Checks bytes that the caller keeps alive; `name` is for messages.
  static Expected<SafetensorsFile> parse(std::span<const std::byte> bytes,
                                         std::string name);

  /// Names of the tensors, sorted.
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const;

  /// A read-only tensor that points into the file where its bytes are aligned
  /// for their type, and a copy elsewhere. Errors: NotFound; Unsupported for an
  /// element type of the format that Epifold has none for.
  Expected<HostTensor> tensor(std::string_view name) const;

  const Metadata &metadata() const;
  const std::string &path() const;

private:
  struct Content;
  explicit SafetensorsFile(std::shared_ptr<const Content> content)
      : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

/// Writes the tensors and `metadata` to a temporary file
/// beside `path`, then renames it: `path` is either complete or untouched.
/// Errors: Io.
Expected<void> writeSafetensors(const std::string &path,
                                const TensorMap &tensors,
                                const Metadata &metadata = {});

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SAFETENSORS_H
