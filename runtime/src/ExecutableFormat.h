// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Constants of the executable format that its writer and reader share.

#ifndef EPIFOLD_RUNTIME_SRC_EXECUTABLEFORMAT_H
#define EPIFOLD_RUNTIME_SRC_EXECUTABLEFORMAT_H

#include "epifold/runtime/ExecutableBuilder.h"

#include <cstdint>
#include <span>
#include <vector>

namespace epifold::runtime {

/// Raised whenever a reader of the old version would misread a new file.
inline constexpr uint32_t kFormatVersion = 2;

/// "No expression" where one is optional.
inline constexpr uint32_t kNoExpr = UINT32_MAX;

/// Alignment of the plan in the file, enough for every field in it.
inline constexpr size_t kPlanAlignment = 16;

/// The plan of `desc`: a FlatBuffer without hash or envelope.
std::vector<uint8_t> serializePlan(const ExecutableDesc &desc);

/// The file around a serialized plan: version, hash, identifier.
std::vector<uint8_t> wrapPlan(std::span<const uint8_t> plan);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_EXECUTABLEFORMAT_H
