// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graph ops that choose experts and move rows to and from them.

#include "backends/reference/GraphOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/RowMath.h"

#include <cstring>
#include <limits>
#include <numeric>

using namespace epifold;
using namespace epifold::reference;

llvm::Error epifold::reference::evaluate(graph::TopKOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t columns = input.getShape().back(),
          rows = input.getNumElements() / columns, k = op.getK();
  int64_t size = getByteSize(input.getElementType());
  Tensor::Shape shape(input.getShape());
  shape.back() = k;
  Tensor values = Tensor::unwritten(input.getElementType(),
                                    shape); // NaN in rows left out below
  std::vector<int64_t> indices(rows * k, -1);
  std::vector<uint8_t> hasNan(rows);
  std::byte *to = values.getMutableBytes();
  frame.getWorkers().forEach(
      rows, rowsPerPart(columns), [&](int64_t begin, int64_t end) {
        std::vector<double> x(columns); // exact for every float type
        std::vector<int64_t> order(columns);
        for (int64_t row = begin; row < end; ++row) {
          load<double>(ConstElements(input), row * columns, 1, x);
          hasNan[row] =
              llvm::any_of(x, [](double value) { return value != value; });
          if (hasNan[row])
            continue;
          std::iota(order.begin(), order.end(), 0);
          std::partial_sort(order.begin(), order.begin() + k, order.end(),
                            [&](int64_t a, int64_t b) {
                              return x[a] > x[b] || (x[a] == x[b] && a < b);
                            });
          for (int64_t slot = 0; slot < k; ++slot) {
            indices[row * k + slot] = order[slot];
            std::memcpy(to + (row * k + slot) * size,
                        input.getBytes() + (row * columns + order[slot]) * size,
                        size);
          }
        }
      });
  for (auto [row, isNan] : llvm::enumerate(hasNan))
    if (isNan)
      frame.reportNanLogits(row);
  if (llvm::Error error = frame.define(op.getValues(), std::move(values)))
    return error;
  return frame.define(
      op.getIndices(),
      makeIntegers(getElementType(op.getIndices()), shape, indices));
}

llvm::Error epifold::reference::evaluate(graph::RouteOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getIndices());
  auto type = llvm::cast<graph::RoutingType>(op.getRouting().getType());
  auto routing = std::make_shared<Routing>();
  routing->experts = type.getExperts();
  routing->topk = type.getTopk();
  routing->tokens = input.getDim(0);
  std::vector<int64_t> indices = loadIntegers(input);

  bool reports =
      llvm::any_of(op.getRouting().getUsers(),
                   [&](mlir::Operation *user) { return frame.isNeeded(user); });
  std::vector<std::vector<int64_t>> slotsOfExpert(routing->experts);
  for (auto [slot, expert] : llvm::enumerate(indices)) {
    if (expert >= 0 && expert < routing->experts)
      slotsOfExpert[expert].push_back(slot);
    else if (expert != -1 && reports) // −1 was reported by whoever made it
      frame.reportIndexError(slot);
  }
  std::vector<int64_t> counts;
  routing->rowOfSlot.assign(indices.size(), -1);
  routing->offsets.push_back(0);
  for (const std::vector<int64_t> &slots : slotsOfExpert) {
    for (int64_t slot : slots) {
      routing->rowOfSlot[slot] =
          static_cast<int64_t>(routing->slotOfRow.size());
      routing->slotOfRow.push_back(slot);
    }
    routing->offsets.push_back(static_cast<int64_t>(routing->slotOfRow.size()));
    counts.push_back(static_cast<int64_t>(slots.size()));
  }
  Tensor countTensor =
      makeIntegers(getElementType(op.getCounts()), routing->experts, counts);
  if (llvm::Error error = frame.define(
          op.getRouting(), std::shared_ptr<const Routing>(std::move(routing))))
    return error;
  return frame.define(op.getCounts(), std::move(countTensor));
}

/// Rows of one expert or of all, row r being row `slot / divisor` of a source
/// [sourceRows, width].
static llvm::Error gatherRows(mlir::Operation *op, const Tensor &source,
                              int64_t width, int64_t divisor,
                              std::optional<uint64_t> expert,
                              const Routing &routing, Frame &frame) {
  if (source.getNumElements() !=
      routing.tokens * routing.topk / divisor * width)
    return makeError(op, "takes rows of " + source.describe() +
                             " by a routing of " + llvm::Twine(routing.tokens) +
                             " tokens");
  int64_t begin = expert ? routing.offsets[*expert] : 0;
  int64_t end = expert ? routing.offsets[*expert + 1] : routing.offsets.back();
  int64_t rowBytes = width * getByteSize(source.getElementType());
  Ragged result{
      Tensor::unwritten(source.getElementType(), {end - begin, width}),
      routing.offsets};
  if (expert)
    result.offsets = {0, end - begin};
  std::byte *to = result.rows.getMutableBytes();
  for (int64_t row = begin; row < end; ++row)
    std::memcpy(to + (row - begin) * rowBytes,
                source.getBytes() + routing.slotOfRow[row] / divisor * rowBytes,
                rowBytes);
  return frame.define(op->getResult(0), std::move(result));
}

llvm::Error epifold::reference::evaluate(graph::DispatchOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  const Routing &routing = frame.getRouting(op.getRouting());
  return gatherRows(op, input, input.getDim(1), routing.topk, op.getExpert(),
                    routing, frame);
}

llvm::Error epifold::reference::evaluate(graph::DispatchSlotOp op,
                                         Frame &frame) {
  return gatherRows(op, frame.getTensor(op.getInput()), 1, 1, op.getExpert(),
                    frame.getRouting(op.getRouting()), frame);
}

llvm::Error epifold::reference::evaluate(graph::CombineOp op, Frame &frame) {
  const Routing &routing = frame.getRouting(op.getRouting());
  const Ragged &first = frame.getRagged(op.getInputs().front());
  ElementType type = first.rows.getElementType();
  int64_t width = first.getWidth(), size = getByteSize(type);

  std::vector<const std::byte *> rows; // by absolute row
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    const Ragged &part = frame.getRagged(input);
    bool isGrouped =
        part.getGroups() == routing.experts && op.getInputs().size() == 1;
    int64_t wanted = isGrouped ? routing.offsets.back()
                               : routing.offsets[i + 1] - routing.offsets[i];
    if (part.rows.getDim(0) != wanted ||
        (isGrouped && part.offsets != routing.offsets))
      return makeError(op, "input " + llvm::Twine(i) + " has " +
                               llvm::Twine(part.rows.getDim(0)) +
                               " rows where the routing has " +
                               llvm::Twine(wanted));
    for (int64_t row = 0; row < wanted; ++row)
      rows.push_back(part.rows.getBytes() + row * width * size);
  }

  Tensor result = Tensor::unwritten(getElementType(op.getResult()),
                                    {routing.tokens, width});
  Elements to(result);
  withComputeType(computesInDouble(type), [&](auto zero) {
    using T = decltype(zero);
    frame.getWorkers().forEach(
        routing.tokens, rowsPerPart(width * routing.topk),
        [&](int64_t begin, int64_t end) {
          std::vector<T> sum(width), x(width);
          for (int64_t token = begin; token < end; ++token) {
            auto slots = llvm::ArrayRef(routing.rowOfSlot)
                             .slice(token * routing.topk, routing.topk);
            if (llvm::is_contained(slots, -1)) {
              std::fill(sum.begin(), sum.end(),
                        std::numeric_limits<T>::quiet_NaN());
            } else {
              load<T>({type, rows[slots.front()]}, 0, 1, sum);
              for (int64_t row : slots.drop_front()) {
                load<T>({type, rows[row]}, 0, 1, x);
                for (int64_t i = 0; i < width; ++i)
                  sum[i] += x[i];
              }
            }
            store<T>(sum, to, token * width);
          }
        });
  });
  return frame.define(op.getResult(), std::move(result));
}
