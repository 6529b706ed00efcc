// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds an Error from a format string.

#ifndef EPIFOLD_RUNTIME_SRC_ERRORFORMAT_H
#define EPIFOLD_RUNTIME_SRC_ERRORFORMAT_H

#include "epifold/runtime/Error.h"

#include <fmt/format.h>

namespace epifold::runtime {

template <typename... Args>
Error makeError(ErrorCode code, fmt::format_string<Args...> format,
                Args &&...args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_ERRORFORMAT_H
