// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Row-wise launches of the kernel dialect: softmax, sums, losses and
// statistics.

#include "backends/reference/KernelOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/KernelSupport.h"
#include "backends/reference/RowMath.h"

#include <limits>

using namespace epifold;
using namespace epifold::reference;

/// Calls `body(row, x, y)` for rows x of `in` [rows, columns], `body` filling
/// y, which becomes a row of `out`.
template <typename T, typename Body>
static void forEachRow(const Tensor &in, int64_t rows, int64_t columns,
                       Tensor &out, int64_t outColumns, Workers &workers,
                       Body body) {
  Elements to(out);
  workers.forEach(rows, rowsPerPart(columns), [&](int64_t begin, int64_t end) {
    std::vector<T> x(columns), y(outColumns);
    for (int64_t row = begin; row < end; ++row) {
      load<T>(ConstElements(in), row * columns, 1, x);
      body(row, llvm::MutableArrayRef<T>(x), llvm::MutableArrayRef<T>(y));
      store<T>(y, to, row * outColumns);
    }
  });
}

template <typename Op>
static bool isDouble(Op op) {
  return computesInDouble(getElementType(op.getIns().front()));
}

static numerics::Accuracy toAccuracy(kernel::Accuracy accuracy) {
  return static_cast<numerics::Accuracy>(accuracy);
}

llvm::Error epifold::reference::evaluate(kernel::SoftmaxOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t columns = in.getDim(1);
  if (llvm::Error error = require(op, outs[0].getShape() == in.getShape(),
                                  "writes another shape than it reads"))
    return error;
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    forEachRow<T>(in, in.getDim(0), columns, outs[0], columns,
                  frame.getWorkers(), [&](int64_t, auto x, auto y) {
                    exponentiateRow<T>(x, toAccuracy(op.getAccuracy()));
                    T sum = rowSum<T>(x);
                    for (int64_t c = 0; c < columns; ++c)
                      y[c] = x[c] / sum;
                  });
  });
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::RowReduceOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  if (llvm::Error error = require(op, outs[0].getDim(0) == in.getDim(0),
                                  "needs an out of one element a row"))
    return error;
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    forEachRow<T>(in, in.getDim(0), in.getDim(1), outs[0], 1,
                  frame.getWorkers(), [&](int64_t, auto x, auto y) {
                    if (op.getSquare())
                      for (T &value : x)
                        value *= value;
                    y[0] = rowSum<T>(x);
                    if (op.getMean())
                      y[0] /= static_cast<T>(x.size());
                  });
  });
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::OrderedSumOp op,
                                         Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t terms = in.getDim(1), columns = in.getDim(2);
  if (llvm::Error error =
          require(op,
                  terms > 0 && outs[0].getDim(0) == in.getDim(0) &&
                      outs[0].getDim(1) == columns,
                  "sums " + in.describe() + " into " + outs[0].describe()))
    return error;
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    forEachRow<T>(
        in, in.getDim(0), terms * columns, outs[0], columns, frame.getWorkers(),
        [&](int64_t, llvm::MutableArrayRef<T> x, llvm::MutableArrayRef<T> y) {
          std::copy_n(x.begin(), columns, y.begin());
          for (int64_t i = columns; i < terms * columns; ++i)
            y[i % columns] += x[i];
        });
  });
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::RowNllOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<int64_t> targets = loadIntegers(frame.getTensor(op.getIns()[1]));
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t rows = in.getDim(0), columns = in.getDim(1);
  if (llvm::Error error =
          require(op,
                  static_cast<int64_t>(targets.size()) == rows &&
                      outs[0].getDim(0) == rows,
                  "needs one target and one out element a row"))
    return error;
  auto isOutside = [&](int64_t row) {
    return targets[row] < 0 || targets[row] >= columns;
  };
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    forEachRow<T>(in, rows, columns, outs[0], 1, frame.getWorkers(),
                  [&](int64_t row, auto x, auto y) {
                    y[0] = std::numeric_limits<T>::quiet_NaN();
                    if (isOutside(row))
                      return;
                    T chosen = x[targets[row]];
                    numerics::Accuracy accuracy = toAccuracy(op.getAccuracy());
                    T maximum = exponentiateRow<T>(x, accuracy);
                    y[0] = (numerics::applyUnary(numerics::UnaryFunction::Log,
                                                 accuracy, rowSum<T>(x)) +
                            maximum) -
                           chosen;
                  });
  });
  for (int64_t row = 0; row < rows; ++row)
    if (isOutside(row))
      frame.reportIndexError(row);
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::LeafStatsOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  constexpr int64_t leaf = kernel::kLeaf;
  int64_t rows = in.getDim(1), columns = in.getDim(2), groups = op.getGroups(),
          width = columns / groups;
  int64_t leafRows = (rows + leaf - 1) / leaf,
          leafColumns = (width + leaf - 1) / leaf;
  Tensor::Shape wanted = {in.getDim(0), groups, leafRows, leafColumns, 3};
  if (llvm::Error error = require(
          op,
          columns % groups == 0 && outs[0].getShape() == llvm::ArrayRef(wanted),
          "writes the leaves of " + in.describe() + " into " +
              outs[0].describe()))
    return error;
  Elements to(outs[0]);
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    frame.getWorkers().forEach(
        outs[0].getNumElements() / 3, 4, [&](int64_t begin, int64_t end) {
          std::vector<T> x;
          for (int64_t i = begin; i < end; ++i) {
            int64_t column = i % leafColumns * leaf,
                    row = i / leafColumns % leafRows * leaf;
            int64_t group = i / leafColumns / leafRows % groups,
                    sample = i / leafColumns / leafRows / groups;
            int64_t height = std::min(leaf, rows - row),
                    length = std::min(leaf, width - column);
            x.resize(height * length);
            for (int64_t r = 0; r < height; ++r)
              load<T>(ConstElements(in),
                      (sample * rows + row + r) * columns + group * width +
                          column,
                      1, llvm::MutableArrayRef<T>(x).slice(r * length, length));
            auto moments =
                numerics::leafMoments(x.data(), height, length, length);
            store<T>({moments.count, moments.mean, moments.m2}, to, i * 3);
          }
        });
  });
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::MergeStatsOp op,
                                         Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t leafRows = in.getDim(2), leafColumns = in.getDim(3),
          samples = in.getDim(0) * in.getDim(1);
  if (llvm::Error error = require(
          op, in.getDim(4) == 3 && outs[0].getNumElements() == samples * 2,
          "merges " + in.describe() + " into " + outs[0].describe()))
    return error;
  if (leafRows * leafColumns == 0)
    return defineOuts(op, std::move(outs), frame); // no row, no statistics
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    auto epsilon = static_cast<T>(op.getEpsilon().convertToDouble());
    forEachRow<T>(in, samples, leafRows * leafColumns * 3, outs[0], 2,
                  frame.getWorkers(), [&](int64_t, auto x, auto y) {
                    auto moments = numerics::mergeLeafGrid<T>(
                        leafRows, leafColumns, [&](size_t i, size_t j) {
                          const T *leaf = &x[(i * leafColumns + j) * 3];
                          return numerics::Moments<T>{leaf[0], leaf[1],
                                                      leaf[2]};
                        });
                    y[0] = moments.mean;
                    y[1] = numerics::reciprocalDeviation(moments, epsilon);
                  });
  });
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::RowStatsOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t rows = in.getDim(0), columns = in.getDim(1);
  if (llvm::Error error =
          require(op, outs[0].getNumElements() == rows * 2 && columns > 0,
                  "writes the statistics of " + in.describe() + " into " +
                      outs[0].describe()))
    return error;
  withComputeType(isDouble(op), [&](auto zero) {
    using T = decltype(zero);
    auto epsilon = static_cast<T>(op.getEpsilon().convertToDouble());
    forEachRow<T>(in, rows, columns, outs[0], 2, frame.getWorkers(),
                  [&](int64_t, auto x, auto y) {
                    auto moments =
                        numerics::sampleMoments(x.data(), 1, columns, columns);
                    y[0] = moments.mean;
                    y[1] = numerics::reciprocalDeviation(moments, epsilon);
                  });
  });
  return defineOuts(op, std::move(outs), frame);
}
