// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graph ops on rows: embedding, softmax, sums and the cross entropy.

#include "backends/reference/GraphOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/RowMath.h"

#include <limits>

using namespace epifold;
using namespace epifold::reference;

static numerics::Accuracy
resolveAccuracy(std::optional<graph::Accuracy> accuracy, ElementType type) {
  if (computesInDouble(type))
    return numerics::Accuracy::F64;
  return accuracy ? static_cast<numerics::Accuracy>(*accuracy)
                  : numerics::Accuracy::F32;
}

llvm::Error epifold::reference::evaluate(graph::EmbeddingOp op, Frame &frame) {
  const Tensor &indices = frame.getTensor(op.getIndices()),
               &table = frame.getTensor(op.getTable());
  int64_t width = table.getDim(1), size = getByteSize(table.getElementType());
  Tensor::Shape shape(indices.getShape());
  shape.push_back(width);
  // Unwritten rows are NaN, as the op wants them where the index is outside.
  Tensor result = Tensor::unwritten(table.getElementType(), shape);
  std::byte *to = result.getMutableBytes();
  for (auto [row, index] : llvm::enumerate(loadIntegers(indices))) {
    if (index < 0 || index >= table.getDim(0))
      frame.reportIndexError(row);
    else
      copyStrided(table.getBytes() + index * width * size, 1, size, width,
                  to + row * width * size);
  }
  return frame.define(op.getResult(), std::move(result));
}

llvm::Error epifold::reference::evaluate(graph::SoftmaxOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t columns = input.getShape().back(),
          rows = input.getNumElements() / columns;
  ElementType type = input.getElementType();
  numerics::Accuracy accuracy = resolveAccuracy(op.getAccuracy(), type);
  Tensor result = Tensor::unwritten(type, input.getShape());
  Elements to(result);
  withComputeType(computesInDouble(type), [&](auto zero) {
    using T = decltype(zero);
    frame.getWorkers().forEach(
        rows, rowsPerPart(columns), [&](int64_t begin, int64_t end) {
          std::vector<T> x(columns);
          for (int64_t row = begin; row < end; ++row) {
            load<T>(ConstElements(input), row * columns, 1, x);
            exponentiateRow<T>(x, accuracy);
            T sum = rowSum<T>(x);
            for (T &value : x)
              value /= sum;
            store<T>(x, to, row * columns);
          }
        });
  });
  return frame.define(op.getResult(), std::move(result));
}

llvm::Error epifold::reference::evaluate(graph::ReduceSumOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t dim = op.getDim(), length = input.getDim(dim), outer = 1, inner = 1;
  for (int64_t i = 0; i < input.getRank(); ++i)
    (i < dim ? outer : inner) *= i == dim ? 1 : input.getDim(i);
  Tensor::Shape shape(input.getShape());
  if (op.getKeepdim())
    shape[dim] = 1;
  else
    shape.erase(shape.begin() + dim);
  ElementType type = input.getElementType();
  bool isTree = op.getOrder() == graph::SumOrder::Tree;
  Tensor result = Tensor::unwritten(type, shape);
  Elements to(result);
  withComputeType(computesInDouble(type), [&](auto zero) {
    using T = decltype(zero);
    frame.getWorkers().forEach(
        outer * inner, rowsPerPart(length), [&](int64_t begin, int64_t end) {
          std::vector<T> x(length), sums;
          for (int64_t i = begin; i < end; ++i) {
            load<T>(ConstElements(input),
                    i / inner * length * inner + i % inner, inner, x);
            sums.push_back(isTree ? rowSum<T>(x) : sumAscending<T>(x));
          }
          store<T>(sums, to, begin);
        });
  });
  return frame.define(op.getResult(), std::move(result));
}

llvm::Error epifold::reference::evaluate(graph::CrossEntropyOp op,
                                         Frame &frame) {
  const Tensor &logits = frame.getTensor(op.getLogits());
  std::vector<int64_t> targets = loadIntegers(frame.getTensor(op.getTargets()));
  int64_t columns = logits.getShape().back(),
          rows = logits.getNumElements() / columns;
  ElementType type = logits.getElementType();
  if (static_cast<int64_t>(targets.size()) != rows)
    return makeError(op, "has " + llvm::Twine(targets.size()) +
                             " targets for logits " + logits.describe());
  numerics::Accuracy accuracy = resolveAccuracy(op.getAccuracy(), type);
  Tensor result = Tensor::unwritten(getElementType(op.getResult()), {});
  Elements to(result);
  withComputeType(computesInDouble(type), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> losses(rows);
    frame.getWorkers().forEach(
        rows, rowsPerPart(columns), [&](int64_t begin, int64_t end) {
          std::vector<T> x(columns);
          for (int64_t row = begin; row < end; ++row) {
            int64_t target = targets[row];
            if (target < 0 || target >= columns) {
              losses[row] = std::numeric_limits<T>::quiet_NaN();
              continue;
            }
            load<T>(ConstElements(logits), row * columns, 1, x);
            T chosen = x[target];
            T maximum = exponentiateRow<T>(x, accuracy);
            T sum = numerics::applyUnary(numerics::UnaryFunction::Log, accuracy,
                                         rowSum<T>(x));
            losses[row] = (sum + maximum) - chosen;
          }
        });
    T mean = (rows == 0 ? T(0) : rowSum<T>(losses)) / static_cast<T>(rows);
    store<T>(mean, to, 0);
  });
  for (auto [row, target] : llvm::enumerate(targets))
    if (target < 0 || target >= columns)
      frame.reportIndexError(row);
  return frame.define(op.getResult(), std::move(result));
}
