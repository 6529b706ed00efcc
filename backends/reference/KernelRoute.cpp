// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The launch of the kernel dialect that does all of a routing.

#include "backends/reference/KernelOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/KernelSupport.h"
#include "backends/reference/RowMath.h"

#include <limits>
#include <numeric>

using namespace epifold;
using namespace epifold::reference;

namespace {
/// What the tokens choose.
struct Choices {
  std::vector<float> probabilities, values, weights;
  std::vector<int64_t> indices; ///< −1 where a token has NaN logits.
};
} // namespace

/// Positions of the `choices` largest of `p`, the lower one of equals first.
static std::vector<int64_t> findLargest(llvm::ArrayRef<float> p,
                                        int64_t choices) {
  std::vector<int64_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return p[a] > p[b]; });
  order.resize(choices);
  return order;
}

static Choices choose(kernel::RouteOp op, const Tensor &logits, int64_t choices,
                      Frame &frame) {
  Choices result;
  int64_t experts = logits.getDim(1);
  std::vector<float> p(experts);
  for (int64_t token = 0; token < logits.getDim(0); ++token) {
    load<float>(ConstElements(logits), token * experts, 1, p);
    if (op.getSoftmax()) {
      exponentiateRow<float>(p,
                             static_cast<numerics::Accuracy>(*op.getSoftmax()));
      float sum = rowSum<float>(p);
      for (float &x : p)
        x /= sum;
    }
    llvm::append_range(result.probabilities, p);
    std::vector<float> values(choices, std::numeric_limits<float>::quiet_NaN());
    std::vector<int64_t> chosen(choices, -1);
    if (llvm::any_of(p, [](float x) { return x != x; })) {
      frame.reportNanLogits(token);
    } else {
      chosen = findLargest(p, choices);
      for (auto [value, expert] : llvm::zip_equal(values, chosen))
        value = p[expert];
    }
    llvm::append_range(result.values, values);
    llvm::append_range(result.indices, chosen);
    float sum = op.getNormalize() ? rowSum<float>(values) : 0;
    for (float value : values)
      result.weights.push_back(op.getNormalize() ? value / sum : value);
  }
  return result;
}

llvm::Error epifold::reference::evaluate(kernel::RouteOp op, Frame &frame) {
  using namespace epifold::kernel;
  const Tensor logits = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t tokens = logits.getDim(0), experts = logits.getDim(1),
          choices = outs[kRouteWeights].getDim(1), slots = tokens * choices;
  auto hasSlots = [&](RouteOut out) { return outs[out].getDim(0) == slots; };
  if (llvm::Error error =
          require(op,
                  outs[kRouteWeights].getDim(0) == tokens &&
                      outs[kRouteIndices].getShape() ==
                          outs[kRouteWeights].getShape() &&
                      choices <= experts && hasSlots(kRouteSlotOfRow) &&
                      hasSlots(kRouteRowOfSlot) && hasSlots(kRouteRowWeights),
                  "routes " + logits.describe() + " to the experts in " +
                      outs[kRouteWeights].describe()))
    return error;
  Choices chosen = choose(op, logits, choices, frame);

  std::vector<int64_t> counts(experts), offsets(experts + 1);
  for (int64_t expert : chosen.indices)
    if (expert >= 0)
      ++counts[expert];
  std::partial_sum(counts.begin(), counts.end(), offsets.begin() + 1);
  std::vector<int64_t> slotOfRow(slots, -1), rowOfSlot(slots, -1),
      next = offsets;
  Elements rowWeights(outs[kRouteRowWeights]);
  for (int64_t slot = 0; slot < slots; ++slot) {
    int64_t expert = chosen.indices[slot];
    if (expert < 0)
      continue;
    int64_t row = next[expert]++;
    slotOfRow[row] = slot;
    rowOfSlot[slot] = row;
    store<float>(chosen.weights[slot], rowWeights, row);
  }

  auto storeFloats = [&](unsigned out, llvm::ArrayRef<float> values) {
    Elements to(outs[out]);
    store<float>(values, to, 0);
  };
  auto storeIntegers = [&](unsigned out, const std::vector<int64_t> &values) {
    outs[out] =
        makeIntegers(outs[out].getElementType(), outs[out].getShape(), values);
  };
  storeFloats(kRouteWeights, chosen.weights);
  storeIntegers(kRouteIndices, chosen.indices);
  storeIntegers(kRouteSlotOfRow, slotOfRow);
  storeIntegers(kRouteRowOfSlot, rowOfSlot);
  storeIntegers(kRouteCounts, counts);
  storeIntegers(kRouteOffsets, offsets);
  if (op.getKeepsProbabilities())
    storeFloats(kRouteOuts, chosen.probabilities);
  if (op.getKeepsValues())
    storeFloats(outs.size() - 1, chosen.values);
  return defineOuts(op, std::move(outs), frame);
}
