// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Files as read-only memory maps, and whole files written atomically.

#ifndef EPIFOLD_RUNTIME_SRC_FILEIO_H
#define EPIFOLD_RUNTIME_SRC_FILEIO_H

#include "epifold/runtime/Error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace epifold::runtime {

/// A regular file mapped for reading.
class MappedFile {
public:
  /// Errors: Io with the system's reason. An empty file maps to no bytes.
  static Expected<std::shared_ptr<const MappedFile>>
  open(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

private:
  MappedFile(const std::byte *data, size_t size) : data_(data), size_(size) {}
  const std::byte *data_;
  size_t size_;
};

/// Writes the chunks one after another to a temporary file beside `path`, then
/// renames it over `path`; on an error `path` is untouched. Errors: Io.
Expected<void>
writeFileAtomically(const std::string &path,
                    std::span<const std::span<const std::byte>> chunks);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_FILEIO_H
