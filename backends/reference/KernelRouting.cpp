// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Launches of the kernel dialect that choose experts and move rows.

#include "backends/reference/KernelOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/KernelSupport.h"
#include "backends/reference/RowMath.h"

#include <cstring>
#include <limits>
#include <numeric>

using namespace epifold;
using namespace epifold::reference;

llvm::Error epifold::reference::evaluate(kernel::GatherRowsOp op,
                                         Frame &frame) {
  const Tensor source = frame.getTensor(op.getSrc());
  std::vector<int64_t> indices = loadIntegers(frame.getTensor(op.getIndex()));
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t rows = outs[0].getDim(0), width = outs[0].getDim(1),
          divisor = op.getDivisor();
  if (llvm::Error error =
          require(op,
                  width == source.getDim(1) &&
                      static_cast<int64_t>(indices.size()) >= rows,
                  "gathers rows of " + source.describe() + " into " +
                      outs[0].describe() + " by " +
                      llvm::Twine(indices.size()) + " indices"))
    return error;
  llvm::Expected<std::vector<RowGroup>> groups =
      getRowGroups(op, op.getOffsets(), op.getGroup(), rows, frame);
  if (!groups)
    return groups.takeError();
  int64_t rowBytes = width * getByteSize(source.getElementType());
  std::byte *to = outs[0].getMutableBytes();
  for (const RowGroup &group : *groups)
    for (int64_t row = group.begin; row < group.end; ++row) {
      int64_t index = indices[row], from = index / divisor;
      if (index >= 0 && from < source.getDim(0)) {
        std::memcpy(to + row * rowBytes, source.getBytes() + from * rowBytes,
                    rowBytes);
        continue;
      }
      if (!op.getReport())
        return makeError(op, "gathers row " + llvm::Twine(index) + " of " +
                                 source.describe());
      frame.reportIndexError(row);
      std::memset(to + row * rowBytes, 0xff, rowBytes); // NaN
    }
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::TopKOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t rows = in.getDim(0), columns = in.getDim(1), k = outs[0].getDim(1);
  if (llvm::Error error = require(
          op,
          outs[0].getDim(0) == rows &&
              outs[1].getShape() == outs[0].getShape() && k <= columns &&
              outs[0].getElementType() == in.getElementType(),
          "writes the top " + llvm::Twine(k) + " of " + in.describe() +
              " into " + outs[0].describe()))
    return error;
  int64_t size = getByteSize(in.getElementType());
  std::byte *values = outs[0].getMutableBytes();
  std::vector<int64_t> indices;
  std::vector<double> x(columns);
  for (int64_t row = 0; row < rows; ++row) {
    load<double>(ConstElements(in), row * columns, 1, x);
    std::byte *to = values + row * k * size;
    if (llvm::any_of(x, [](double value) { return value != value; })) {
      frame.reportNanLogits(row);
      std::memset(to, 0xff, k * size);
      indices.insert(indices.end(), k, -1);
      continue;
    }
    // Takes the first of the largest, k times.
    std::vector<bool> taken(columns);
    for (int64_t slot = 0; slot < k; ++slot) {
      int64_t best = -1;
      for (int64_t c = 0; c < columns; ++c)
        if (!taken[c] && (best < 0 || x[c] > x[best]))
          best = c;
      taken[best] = true;
      indices.push_back(best);
      std::memcpy(to + slot * size,
                  in.getBytes() + (row * columns + best) * size, size);
    }
  }
  outs[1] = makeIntegers(outs[1].getElementType(), outs[1].getShape(), indices);
  return defineOuts(op, std::move(outs), frame);
}

/// The expert of a slot, nothing when its index names none.
static std::optional<int64_t> getExpert(int64_t index, int64_t experts) {
  return index >= 0 && index < experts ? std::optional(index) : std::nullopt;
}

llvm::Error epifold::reference::evaluate(kernel::RouteHistogramOp op,
                                         Frame &frame) {
  std::vector<int64_t> indices =
      loadIntegers(frame.getTensor(op.getIns().front()));
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t chunks = outs[0].getDim(0), experts = outs[0].getDim(1);
  int64_t slots = static_cast<int64_t>(indices.size());
  if (llvm::Error error = require(
          op, chunks == (slots + kernel::kRouteChunk - 1) / kernel::kRouteChunk,
          "counts " + llvm::Twine(slots) + " slots into " + outs[0].describe()))
    return error;
  std::vector<int64_t> counts(chunks * experts);
  for (int64_t slot = 0; slot < slots; ++slot)
    if (std::optional<int64_t> expert = getExpert(indices[slot], experts))
      ++counts[slot / kernel::kRouteChunk * experts + *expert];
  outs[0] = makeIntegers(outs[0].getElementType(), outs[0].getShape(), counts);
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::RouteScanOp op, Frame &frame) {
  const Tensor in = frame.getTensor(op.getIns().front());
  std::vector<int64_t> histogram = loadIntegers(in);
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t chunks = in.getDim(0), experts = in.getDim(1);
  if (llvm::Error error = require(
          op,
          outs[0].getShape() == in.getShape() && outs[1].getDim(0) == experts,
          "scans " + in.describe() + " into outs of other sizes"))
    return error;
  std::vector<int64_t> before, counts(experts);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (int64_t expert = 0; expert < experts; ++expert) {
      before.push_back(counts[expert]);
      counts[expert] += histogram[chunk * experts + expert];
    }
  outs[0] = makeIntegers(outs[0].getElementType(), outs[0].getShape(), before);
  outs[1] = makeIntegers(outs[1].getElementType(), outs[1].getShape(), counts);
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::RouteScatterOp op,
                                         Frame &frame) {
  std::vector<int64_t> indices = loadIntegers(frame.getTensor(op.getIns()[0]));
  std::vector<int64_t> before = loadIntegers(frame.getTensor(op.getIns()[1]));
  std::vector<int64_t> counts = loadIntegers(frame.getTensor(op.getIns()[2]));
  int64_t experts = frame.getTensor(op.getIns()[1]).getDim(1),
          slots = static_cast<int64_t>(indices.size());
  std::vector<Tensor> outs = takeOuts(op, frame);
  if (llvm::Error error =
          require(op,
                  outs[0].getDim(0) == slots && outs[1].getDim(0) == slots &&
                      static_cast<int64_t>(counts.size()) == experts &&
                      outs[2].getDim(0) == experts + 1,
                  "needs outs of one element a slot, and an offset an expert"))
    return error;
  std::vector<int64_t> offsets = {0};
  for (int64_t count : counts)
    offsets.push_back(offsets.back() + count);
  std::vector<int64_t> slotOfRow(slots, -1), rowOfSlot(slots, -1), found;
  for (int64_t slot = 0; slot < slots; ++slot) {
    if (slot % kernel::kRouteChunk == 0)
      found.assign(experts, 0);
    std::optional<int64_t> expert = getExpert(indices[slot], experts);
    if (!expert) {
      if (indices[slot] != -1)
        frame.reportIndexError(slot);
      continue;
    }
    int64_t chunk = slot / kernel::kRouteChunk;
    int64_t row =
        offsets[*expert] + before[chunk * experts + *expert] + found[*expert]++;
    if (row < 0 || row >= slots)
      return makeError(op, "is given row " + llvm::Twine(row) + " for slot " +
                               llvm::Twine(slot));
    rowOfSlot[slot] = row;
    slotOfRow[row] = slot;
  }
  outs[0] = makeIntegers(outs[0].getElementType(), slots, slotOfRow);
  outs[1] = makeIntegers(outs[1].getElementType(), slots, rowOfSlot);
  outs[2] = makeIntegers(outs[2].getElementType(), experts + 1, offsets);
  return defineOuts(op, std::move(outs), frame);
}

llvm::Error epifold::reference::evaluate(kernel::CombineOp op, Frame &frame) {
  const Tensor rows = frame.getTensor(op.getIns()[0]);
  std::vector<int64_t> rowOfSlot =
      loadIntegers(frame.getTensor(op.getIns()[1]));
  std::vector<Tensor> outs = takeOuts(op, frame);
  int64_t slots = op.getSlots(), tokens = outs[0].getDim(0),
          width = outs[0].getDim(1);
  auto isRow = [&](int64_t row) { return row >= -1 && row < rows.getDim(0); };
  if (llvm::Error error = require(
          op,
          static_cast<int64_t>(rowOfSlot.size()) == tokens * slots &&
              rows.getDim(1) == width && llvm::all_of(rowOfSlot, isRow),
          "combines " + rows.describe() + " into " + outs[0].describe()))
    return error;
  Elements to(outs[0]);
  withComputeType(computesInDouble(rows.getElementType()), [&](auto zero) {
    using T = decltype(zero);
    frame.getWorkers().forEach(
        tokens, rowsPerPart(width * slots), [&](int64_t begin, int64_t end) {
          std::vector<T> sum(width), x(width);
          for (int64_t token = begin; token < end; ++token) {
            for (int64_t slot = 0; slot < slots; ++slot) {
              int64_t row = rowOfSlot[token * slots + slot];
              if (row < 0) {
                std::fill(sum.begin(), sum.end(),
                          std::numeric_limits<T>::quiet_NaN());
                break;
              }
              load<T>(ConstElements(rows), row * width, 1, slot == 0 ? sum : x);
              for (int64_t c = 0; slot != 0 && c < width; ++c)
                sum[c] += x[c];
            }
            store<T>(sum, to, token * width);
          }
        });
  });
  return defineOuts(op, std::move(outs), frame);
}
