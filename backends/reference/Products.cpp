// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrix products and causal convolutions of the graph dialect.

#include "backends/reference/GraphOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/RunProduct.h"

using namespace epifold;
using namespace epifold::reference;

namespace {

constexpr int64_t roundingGrain = 1 << 14;

/// A product's finished accumulators, rounded once into a result.
class Accumulators {
public:
  Accumulators(ElementType operandType, int64_t rows, int64_t columns)
      : values(Tensor::zeros(computesInDouble(operandType) ? ElementType::F64
                                                           : ElementType::F32,
                             {rows, columns})),
        data(values.getMutableBytes()) {}

  /// Accumulators of row `row`.
  std::byte *getRow(int64_t row) {
    return data + row * values.getDim(1) * getByteSize(values.getElementType());
  }

  Tensor round(ElementType type, llvm::ArrayRef<int64_t> shape,
               Workers &workers) {
    if (values.getElementType() == type)
      return values.reshaped(shape);
    Tensor result = Tensor::unwritten(type, shape);
    Elements to(result);
    workers.forEach(result.getNumElements(), roundingGrain,
                    [&](int64_t begin, int64_t end) {
                      auto roundRange = [&](auto elements) {
                        store(elements.slice(begin, end - begin), to, begin);
                      };
                      if (values.getElementType() == ElementType::F64)
                        roundRange(values.getElements<double>());
                      else
                        roundRange(values.getElements<float>());
                    });
    return result;
  }

private:
  Tensor values;
  std::byte *data;
};

const std::byte *at(const Tensor &tensor, int64_t element) {
  return tensor.getBytes() + element * getByteSize(tensor.getElementType());
}

llvm::Error refuse(mlir::Operation *op, const Tensor &lhs, const Tensor &rhs) {
  return makeError(op, "cannot multiply " + lhs.describe() + " and " +
                           rhs.describe());
}

/// One product for each group of rows: rows `offsets[g] … offsets[g+1]` of
/// `lhs` with `rhs[g]`, or with all of `rhs` where it is a single matrix.
llvm::Expected<Ragged> multiplyRagged(mlir::Operation *op, const Ragged &lhs,
                                      const Tensor &rhs, Frame &frame) {
  int64_t depth = lhs.getWidth(), columns = rhs.getShape().drop_back().back();
  bool isShared = rhs.getRank() == 2;
  if (rhs.getShape().back() != depth ||
      (!isShared && rhs.getDim(0) != lhs.getGroups()))
    return refuse(op, lhs.rows, rhs);
  int64_t total = lhs.rows.getDim(0);
  Accumulators accumulators(rhs.getElementType(), total, columns);
  for (int64_t group = 0; group < lhs.getGroups(); ++group) {
    int64_t begin = lhs.offsets[group];
    ProductRun run{at(lhs.rows, begin * depth), depth,
                   at(rhs, isShared ? 0 : group * columns * depth), depth};
    accumulateRuns({rhs.getElementType(), lhs.getRows(group), columns, depth},
                   run, accumulators.getRow(begin), columns,
                   frame.getWorkers());
  }
  return Ragged{accumulators.round(getElementType(op->getResult(0)),
                                   {total, columns}, frame.getWorkers()),
                lhs.offsets};
}

/// Convolves one input with each of `experts` weights [o, ci, taps].
llvm::Error convolve(mlir::Operation *op, const Tensor &input,
                     const Tensor &weight, int64_t dilation, bool perExpert,
                     Frame &frame) {
  llvm::ArrayRef<int64_t> dims = weight.getShape();
  int64_t experts = perExpert ? dims[0] : 1;
  int64_t columns = dims[dims.size() - 3], depth = dims[dims.size() - 2],
          taps = dims.back();
  int64_t time = input.getShape().drop_back().back();
  int64_t batch = input.getRank() == 3 ? input.getDim(0) : 1;
  if (input.getShape().back() != depth)
    return refuse(op, input, weight);

  ElementType type = weight.getElementType();
  int64_t reach = dilation * (taps - 1);
  PaddedSamples samples(input.getBytes(), type, batch, time, depth, reach);
  // Taps first, so that each is a matrix of its own: [experts, taps, o, ci].
  Tensor byTap =
      permute(weight.reshaped({experts, columns, depth, taps}), {0, 3, 1, 2});
  Accumulators accumulators(type, experts * batch * time, columns);
  for (int64_t expert = 0; expert < experts; ++expert)
    for (int64_t sample = 0; sample < batch; ++sample) {
      llvm::SmallVector<ProductRun, 4> runs;
      for (int64_t tap = 0; tap < taps; ++tap)
        runs.push_back({samples.getRow(sample, tap * dilation), depth,
                        at(byTap, (expert * taps + tap) * columns * depth),
                        depth});
      accumulateRuns({type, time, columns, depth}, runs,
                     accumulators.getRow((expert * batch + sample) * time),
                     columns, frame.getWorkers());
    }

  Tensor::Shape shape(input.getShape());
  shape.back() = columns;
  if (perExpert)
    shape.insert(shape.begin(), experts);
  return frame.define(op->getResult(0),
                      accumulators.round(getElementType(op->getResult(0)),
                                         shape, frame.getWorkers()));
}

} // namespace

llvm::Error epifold::reference::evaluate(graph::MatmulOp op, Frame &frame) {
  const Tensor &rhs = frame.getTensor(op.getRhs());
  if (frame.isRagged(op.getLhs())) {
    llvm::Expected<Ragged> result =
        multiplyRagged(op, frame.getRagged(op.getLhs()), rhs, frame);
    return result ? frame.define(op.getResult(), std::move(*result))
                  : result.takeError();
  }
  const Tensor &lhs = frame.getTensor(op.getLhs());
  int64_t columns = rhs.getDim(0), depth = rhs.getDim(1);
  if (lhs.getShape().back() != depth)
    return refuse(op, lhs, rhs);
  Tensor::Shape shape(lhs.getShape());
  shape.back() = columns;
  int64_t rows = 1;
  for (int64_t size : lhs.getShape().drop_back())
    rows *= size;
  Accumulators accumulators(rhs.getElementType(), rows, columns);
  ProductRun run{lhs.getBytes(), depth, rhs.getBytes(), depth};
  accumulateRuns({rhs.getElementType(), rows, columns, depth}, run,
                 accumulators.getRow(0), columns, frame.getWorkers());
  return frame.define(op.getResult(),
                      accumulators.round(getElementType(op.getResult()), shape,
                                         frame.getWorkers()));
}

llvm::Error epifold::reference::evaluate(graph::ExpertMatmulOp op,
                                         Frame &frame) {
  const Tensor &rhs = frame.getTensor(op.getRhs());
  if (frame.isRagged(op.getLhs())) {
    llvm::Expected<Ragged> result =
        multiplyRagged(op, frame.getRagged(op.getLhs()), rhs, frame);
    return result ? frame.define(op.getResult(), std::move(*result))
                  : result.takeError();
  }
  const Tensor &lhs = frame.getTensor(op.getLhs());
  int64_t experts = rhs.getDim(0), columns = rhs.getDim(1),
          depth = rhs.getDim(2);
  bool isShared = lhs.getRank() == 2;
  int64_t rows = lhs.getDim(lhs.getRank() - 2);
  if (lhs.getShape().back() != depth || (!isShared && lhs.getDim(0) != experts))
    return refuse(op, lhs, rhs);
  Accumulators accumulators(rhs.getElementType(), experts * rows, columns);
  for (int64_t expert = 0; expert < experts; ++expert) {
    ProductRun run{at(lhs, isShared ? 0 : expert * rows * depth), depth,
                   at(rhs, expert * columns * depth), depth};
    accumulateRuns({rhs.getElementType(), rows, columns, depth}, run,
                   accumulators.getRow(expert * rows), columns,
                   frame.getWorkers());
  }
  return frame.define(op.getResult(),
                      accumulators.round(getElementType(op.getResult()),
                                         {experts, rows, columns},
                                         frame.getWorkers()));
}

llvm::Error epifold::reference::evaluate(graph::CausalConv1dOp op,
                                         Frame &frame) {
  return convolve(op, frame.getTensor(op.getInput()),
                  frame.getTensor(op.getWeight()), op.getDilation(), false,
                  frame);
}

llvm::Error epifold::reference::evaluate(graph::ExpertCausalConv1dOp op,
                                         Frame &frame) {
  return convolve(op, frame.getTensor(op.getInput()),
                  frame.getTensor(op.getWeight()), op.getDilation(), true,
                  frame);
}
