// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks and evaluates the integer expressions of executables.

#include "Expr.h"

#include "ErrorFormat.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace epifold::runtime {
namespace {

bool pushesValue(ExprOp op) {
  return op == ExprOp::Constant || op == ExprOp::Symbol;
}

std::optional<int64_t> divide(int64_t lhs, int64_t rhs, bool up) {
  if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
    return std::nullopt;
  int64_t quotient = lhs / rhs;
  if (lhs % rhs == 0)
    return quotient;
  // Truncation went up for a negative quotient and down for a positive one.
  bool negative = (lhs < 0) != (rhs < 0);
  if (up)
    return negative ? quotient : quotient + 1;
  return negative ? quotient - 1 : quotient;
}

} // namespace

std::optional<int64_t> applyExprOp(ExprOp op, int64_t lhs, int64_t rhs) {
  int64_t result;
  switch (op) {
  case ExprOp::Add:
    if (__builtin_add_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case ExprOp::Sub:
    if (__builtin_sub_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case ExprOp::Mul:
    if (__builtin_mul_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case ExprOp::FloorDiv:
    return divide(lhs, rhs, /*up=*/false);
  case ExprOp::CeilDiv:
    return divide(lhs, rhs, /*up=*/true);
  case ExprOp::Max:
    return std::max(lhs, rhs);
  case ExprOp::Min:
    return std::min(lhs, rhs);
  case ExprOp::Constant:
  case ExprOp::Symbol:
    break;
  }
  return std::nullopt;
}

Expected<void> checkExpr(const ExprDesc &expr, size_t symbolCount) {
  size_t depth = 0;
  for (const ExprStep &step : expr.steps) {
    if (step.op > ExprOp::Min)
      return makeError(ErrorCode::Corrupt, "unknown operation {}",
                       static_cast<unsigned>(step.op));
    if (step.op == ExprOp::Symbol &&
        (step.value < 0 || static_cast<uint64_t>(step.value) >= symbolCount))
      return makeError(ErrorCode::Corrupt, "symbol {} of {}", step.value,
                       symbolCount);
    if (pushesValue(step.op)) {
      ++depth;
      continue;
    }
    if (depth < 2)
      return makeError(ErrorCode::Corrupt, "an operation lacks an operand");
    --depth;
  }
  if (depth != 1)
    return makeError(ErrorCode::Corrupt, "{} values are left, not 1", depth);
  return {};
}

Expected<int64_t> evaluateExpr(const ExprDesc &expr,
                               std::span<const int64_t> symbols) {
  std::vector<int64_t> stack;
  stack.reserve(expr.steps.size());
  for (const ExprStep &step : expr.steps) {
    if (pushesValue(step.op)) {
      stack.push_back(step.op == ExprOp::Constant ? step.value
                                                  : symbols[step.value]);
      continue;
    }
    assert(stack.size() >= 2 && "unchecked expression");
    int64_t rhs = stack.back();
    stack.pop_back();
    std::optional<int64_t> result = applyExprOp(step.op, stack.back(), rhs);
    if (!result)
      return makeError(ErrorCode::InvalidArgument,
                       "a size leaves the 64-bit range or divides by zero for "
                       "these dimensions (operands {} and {})",
                       stack.back(), rhs);
    stack.back() = *result;
  }
  assert(stack.size() == 1 && "unchecked expression");
  return stack.back();
}

std::optional<uint32_t> loneSymbol(const ExprDesc &expr) {
  if (expr.steps.size() == 1 && expr.steps[0].op == ExprOp::Symbol)
    return static_cast<uint32_t>(expr.steps[0].value);
  return std::nullopt;
}

} // namespace epifold::runtime
