// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks and evaluates the integer expressions of executables.

#ifndef EPIFOLD_RUNTIME_SRC_EXPR_H
#define EPIFOLD_RUNTIME_SRC_EXPR_H

#include "epifold/runtime/ExecutableBuilder.h"

#include <cstdint>
#include <optional>
#include <span>

namespace epifold::runtime {

/// Checks that the program leaves exactly one value, never pops from nothing,
/// and names symbols below `symbolCount`. Errors: Corrupt.
Expected<void> checkExpr(const ExprDesc &expr, size_t symbolCount);

/// Value of a checked expression. Errors: InvalidArgument on overflow or a zero
/// divisor.
Expected<int64_t> evaluateExpr(const ExprDesc &expr,
                               std::span<const int64_t> symbols);

/// `op` applied to two values; nothing on overflow, a zero divisor, or an op
/// that is not binary.
std::optional<int64_t> applyExprOp(ExprOp op, int64_t lhs, int64_t rhs);

/// The symbol when the expression is that symbol alone.
std::optional<uint32_t> loneSymbol(const ExprDesc &expr);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_EXPR_H
