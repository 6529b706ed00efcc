// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A loaded executable: checked, immutable, not yet bound to a device.

#ifndef EPIFOLD_RUNTIME_EXECUTABLE_H
#define EPIFOLD_RUNTIME_EXECUTABLE_H

#include "epifold/runtime/Error.h"
#include "epifold/runtime/ExecutableBuilder.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace epifold::runtime {

/// An executable file's content. Copies share it.
class Executable {
public:
  /// Checks and copies the bytes of an `.efx` file. A truncated or altered
  /// file is an error (Corrupt), one of another format version too
  /// (Unsupported); nothing in the bytes is trusted before it is checked.
  static Expected<Executable> load(std::span<const uint8_t> bytes);

  /// As `load`, from a file; errors name it.
  static Expected<Executable> open(const std::string &path);

  const ExecutableDesc &desc() const { return *desc_; }

  /// The tensor of that kind and name, or null.
  const TensorDesc *find(TensorKind kind, std::string_view name) const;

private:
  explicit Executable(std::shared_ptr<const ExecutableDesc> desc)
      : desc_(std::move(desc)) {}
  std::shared_ptr<const ExecutableDesc> desc_;
};

/// True when `bytes` start like an `.efx` file; says nothing of the rest.
bool looksLikeExecutable(std::span<const uint8_t> bytes);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_EXECUTABLE_H
