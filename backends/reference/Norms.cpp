// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graph ops that normalise groups and rows.

#include "backends/reference/GraphOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/RowMath.h"

#include <cmath>

using namespace epifold;
using namespace epifold::reference;

template <typename T>
static std::vector<T> loadAll(const Tensor &tensor) {
  std::vector<T> values(tensor.getNumElements());
  load<T>(ConstElements(tensor), 0, 1, values);
  return values;
}

namespace {

/// Input of a normalisation as samples [samples, rows, groups · width], each
/// group having statistics of its own.
struct Normalisation {
  const Tensor &input, &scale, &bias;
  int64_t samples, rows, groups, width;
  double epsilon;
};

} // namespace

template <typename T>
static void normalise(const Normalisation &n, Elements to, Workers &workers) {
  int64_t columns = n.groups * n.width;
  std::vector<T> x = loadAll<T>(n.input), scale = loadAll<T>(n.scale),
                 bias = loadAll<T>(n.bias);
  std::vector<T> mean(n.samples * n.groups), deviation(mean.size());
  workers.forEach(
      n.samples * n.groups, rowsPerPart(n.rows * n.width),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T *first = x.data() + (i / n.groups * n.rows * columns) +
                           i % n.groups * n.width;
          auto moments =
              numerics::sampleMoments(first, n.rows, n.width, columns);
          mean[i] = moments.mean;
          deviation[i] =
              numerics::reciprocalDeviation(moments, static_cast<T>(n.epsilon));
        }
      });
  workers.forEach(
      n.samples * n.rows, rowsPerPart(columns),
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          llvm::MutableArrayRef<T> y =
              llvm::MutableArrayRef<T>(x).slice(row * columns, columns);
          for (int64_t c = 0; c < columns; ++c) {
            int64_t group = row / n.rows * n.groups + c / n.width;
            y[c] =
                ((y[c] - mean[group]) * deviation[group]) * scale[c] + bias[c];
          }
          store<T>(y, to, row * columns);
        }
      });
}

/// Checks the vectors' lengths, normalises and defines the op's result.
static llvm::Error normalise(mlir::Operation *op, const Normalisation &n,
                             Frame &frame) {
  int64_t columns = n.groups * n.width;
  if (n.scale.getNumElements() != columns || n.bias.getNumElements() != columns)
    return makeError(op, "scales " + n.input.describe() + " by " +
                             n.scale.describe() + " and adds " +
                             n.bias.describe());
  Tensor result =
      Tensor::unwritten(getElementType(op->getResult(0)), n.input.getShape());
  if (n.input.getNumElements() != 0)
    withComputeType(computesInDouble(n.input.getElementType()), [&](auto zero) {
      normalise<decltype(zero)>(n, Elements(result), frame.getWorkers());
    });
  return frame.define(op->getResult(0), std::move(result));
}

llvm::Error epifold::reference::evaluate(graph::GroupNormOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t rank = input.getRank(), groups = op.getGroups();
  return normalise(
      op,
      {input, frame.getTensor(op.getScale()), frame.getTensor(op.getBias()),
       rank == 3 ? input.getDim(0) : 1, input.getDim(rank - 2), groups,
       input.getDim(rank - 1) / groups, op.getEpsilon().convertToDouble()},
      frame);
}

llvm::Error epifold::reference::evaluate(graph::LayerNormOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t width = input.getShape().back();
  return normalise(op,
                   {input, frame.getTensor(op.getScale()),
                    frame.getTensor(op.getBias()),
                    input.getNumElements() / width, 1, 1, width,
                    op.getEpsilon().convertToDouble()},
                   frame);
}

llvm::Error epifold::reference::evaluate(graph::RmsNormOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  const Tensor &scaleTensor = frame.getTensor(op.getScale());
  int64_t columns = input.getShape().back(),
          rows = input.getNumElements() / columns;
  if (scaleTensor.getNumElements() != columns)
    return makeError(op, "scales " + input.describe() + " by " +
                             scaleTensor.describe());
  Tensor result =
      Tensor::unwritten(getElementType(op.getResult()), input.getShape());
  Elements to(result);
  withComputeType(computesInDouble(input.getElementType()), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> scale = loadAll<T>(scaleTensor);
    T epsilon = static_cast<T>(op.getEpsilon().convertToDouble());
    frame.getWorkers().forEach(
        rows, rowsPerPart(columns), [&](int64_t begin, int64_t end) {
          std::vector<T> x(columns), squares(columns);
          for (int64_t row = begin; row < end; ++row) {
            load<T>(ConstElements(input), row * columns, 1, x);
            for (int64_t c = 0; c < columns; ++c)
              squares[c] = x[c] * x[c];
            T meanSquare = rowSum<T>(squares) / static_cast<T>(columns);
            T r = T(1) / std::sqrt(meanSquare + epsilon);
            for (int64_t c = 0; c < columns; ++c)
              x[c] = (x[c] * r) * scale[c];
            store<T>(x, to, row * columns);
          }
        });
  });
  return frame.define(op.getResult(), std::move(result));
}
