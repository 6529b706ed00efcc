// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the dynamic dimensions from the tensors that a caller passes.

#include "ShapeBinding.h"

#include "ErrorFormat.h"
#include "Expr.h"

#include <fmt/ranges.h>

namespace epifold::runtime {
namespace {

std::string describeSize(const ExecutableDesc &desc, ExprIndex index) {
  const ExprDesc &expr = desc.exprs[index];
  if (std::optional<uint32_t> symbol = loneSymbol(expr))
    return desc.symbols[*symbol];
  if (expr.steps.size() == 1)
    return fmt::format("{}", expr.steps[0].value);
  return "(computed)";
}

} // namespace

std::string describeDeclared(const ExecutableDesc &desc,
                             const TensorDesc &tensor) {
  std::vector<std::string> sizes;
  for (ExprIndex size : tensor.shape)
    sizes.push_back(describeSize(desc, size));
  return fmt::format("{}[{}]", name(tensor.type), fmt::join(sizes, ", "));
}

ShapeBinding::ShapeBinding(const ExecutableDesc &desc)
    : desc_(desc), symbols_(desc.symbols.size()) {}

Expected<void> ShapeBinding::observe(const TensorDesc &tensor, DataType type,
                                     const Shape &shape) {
  if (type != tensor.type)
    return makeError(
        ErrorCode::InvalidArgument,
        "tensor '{}' is {}, the graph wants {}: convert it, or let "
        "epifold-run do so with --cast",
        tensor.name, describe(type, shape), describeDeclared(desc_, tensor));
  if (shape.size() != tensor.shape.size())
    return makeError(ErrorCode::InvalidArgument,
                     "tensor '{}' is {}, the graph wants {} dimension{} as in "
                     "{}",
                     tensor.name, describe(type, shape), tensor.shape.size(),
                     tensor.shape.size() == 1 ? "" : "s",
                     describeDeclared(desc_, tensor));
  for (size_t i = 0; i < shape.size(); ++i) {
    std::optional<uint32_t> index = loneSymbol(desc_.exprs[tensor.shape[i]]);
    if (!index) {
      computed_.push_back({&tensor, i, shape[i]});
      continue;
    }
    Symbol &symbol = symbols_[*index];
    if (symbol.value < 0) {
      symbol = {shape[i], tensor.name, i};
    } else if (symbol.value != shape[i]) {
      return makeError(ErrorCode::InvalidArgument,
                       "tensors '{}' and '{}' disagree about dimension '{}': "
                       "size {} of '{}' is {}, size {} of '{}' is {}",
                       symbol.tensor, tensor.name, desc_.symbols[*index],
                       symbol.dimension, symbol.tensor, symbol.value, i,
                       tensor.name, shape[i]);
    }
  }
  return {};
}

Expected<std::vector<int64_t>> ShapeBinding::finish() {
  std::vector<int64_t> values;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].value < 0)
      return makeError(ErrorCode::InvalidArgument,
                       "nothing was passed that gives dimension '{}'",
                       desc_.symbols[i]);
    values.push_back(symbols_[i].value);
  }
  for (const Computed &check : computed_) {
    Expected<int64_t> expected =
        evaluateExpr(desc_.exprs[check.tensor->shape[check.dimension]], values);
    if (!expected)
      return expected.error().withContext("tensor '" + check.tensor->name +
                                          "'");
    if (*expected != check.size)
      return makeError(ErrorCode::InvalidArgument,
                       "size {} of tensor '{}' is {}, the graph wants {} (it "
                       "is declared {})",
                       check.dimension, check.tensor->name, check.size,
                       *expected, describeDeclared(desc_, *check.tensor));
  }
  return values;
}

Expected<Shape> evaluateShape(const ExecutableDesc &desc,
                              const TensorDesc &tensor,
                              const std::vector<int64_t> &symbols) {
  Shape shape;
  for (ExprIndex index : tensor.shape) {
    Expected<int64_t> size = evaluateExpr(desc.exprs[index], symbols);
    if (!size)
      return size.error().withContext("tensor '" + tensor.name + "'");
    shape.push_back(*size);
  }
  if (Expected<int64_t> bytes = byteCount(tensor.type, shape); !bytes)
    return bytes.error().withContext("tensor '" + tensor.name + "'");
  return shape;
}

} // namespace epifold::runtime
