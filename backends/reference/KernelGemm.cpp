// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernel dialect's products: accumulators group by group, then the epilogue
// on them.

#include "backends/reference/KernelOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/KernelSupport.h"
#include "backends/reference/RegionLaunch.h"
#include "backends/reference/RunProduct.h"

#include <cstring>

using namespace epifold;
using namespace epifold::reference;

namespace {

/// Sizes of a product, read from its op and operands.
struct Sizes {
  ElementType type;
  int64_t elementSize, columns, rowsOfB, depth, taps, groups;
  int64_t rows; // of A (per group), extras and outs
};

const std::byte *at(const Tensor &tensor, int64_t element) {
  return tensor.getBytes() + element * getByteSize(tensor.getElementType());
}

/// Copies the rows of A that rows `group` of a gathered product read.
llvm::Expected<std::vector<std::byte>>
gatherRows(kernel::GemmOp op, const Tensor &a, const RowGroup &group,
           llvm::ArrayRef<int64_t> indices) {
  int64_t rowBytes = a.getDim(1) * getByteSize(a.getElementType());
  std::vector<std::byte> rows((group.end - group.begin) * rowBytes);
  std::byte *to = rows.data();
  for (int64_t index : indices.slice(group.begin, group.end - group.begin)) {
    int64_t source = index / static_cast<int64_t>(op.getGatherDivisor());
    if (index < 0 || source >= a.getDim(0))
      return makeError(op, "gathers row " + llvm::Twine(index) + " of " +
                               a.describe());
    std::memcpy(to, a.getBytes() + source * rowBytes, rowBytes);
    to += rowBytes;
  }
  return rows;
}

/// Accumulators of one B for the rows of one group, row-major.
Tensor multiply(const Sizes &sizes, const std::byte *a, const Tensor &b,
                int64_t begin, int64_t weight, int64_t rows, Frame &frame) {
  Tensor acc = Tensor::zeros(sizes.type == ElementType::F64 ? ElementType::F64
                                                            : ElementType::F32,
                             {rows, sizes.columns});
  ProductRun run{a, sizes.depth,
                 at(b, (weight * sizes.rowsOfB + begin) * sizes.depth),
                 sizes.depth};
  accumulateRuns({sizes.type, rows, sizes.columns, sizes.depth}, run,
                 acc.getMutableBytes(), sizes.columns, frame.getWorkers());
  return acc;
}

/// The same for a convolution, whose weights are a matrix for each tap.
Tensor convolve(const Sizes &sizes, const PaddedSamples &samples, int64_t batch,
                int64_t time, int64_t dilation, const Tensor &b, int64_t begin,
                int64_t group, Frame &frame) {
  Tensor acc = Tensor::zeros(sizes.type == ElementType::F64 ? ElementType::F64
                                                            : ElementType::F32,
                             {batch * time, sizes.columns});
  std::byte *to = acc.getMutableBytes();
  int64_t accSize = getByteSize(acc.getElementType());
  for (int64_t sample = 0; sample < batch; ++sample) {
    llvm::SmallVector<ProductRun, 4> runs;
    for (int64_t tap = 0; tap < sizes.taps; ++tap)
      runs.push_back(
          {samples.getRow(sample, tap * dilation), sizes.depth,
           at(b, ((group * sizes.taps + tap) * sizes.rowsOfB + begin) *
                     sizes.depth),
           sizes.depth});
    accumulateRuns({sizes.type, time, sizes.columns, sizes.depth}, runs,
                   to + sample * time * sizes.columns * accSize, sizes.columns,
                   frame.getWorkers());
  }
  return acc;
}

} // namespace

llvm::Error epifold::reference::evaluate(kernel::GemmOp op, Frame &frame) {
  const Tensor a = frame.getTensor(op.getA());
  std::vector<Tensor> bs = getTensors(op.getB(), frame),
                      extras = getTensors(op.getExtras(), frame);
  Sizes sizes{a.getElementType(),    getByteSize(a.getElementType()),
              op.getResultColumns(), op.getRowsOfB(),
              op.getDepth(),         op.getTaps(),
              op.getGroups(),        0};
  bool isConvolution = op.isConvolution(), isRagged = op.isRagged();
  int64_t batch = isConvolution ? a.getDim(0) : 1,
          time = isConvolution ? a.getDim(1) : 0;
  bool isGroupedA = !isConvolution && a.getRank() == 3;
  sizes.rows = isConvolution ? batch * time : a.getDim(isGroupedA ? 1 : 0);
  if (isGroupedA && (a.getDim(0) != sizes.groups || isRagged))
    return makeError(
        op, "takes A [g, m, k] for the " + llvm::Twine(sizes.groups) +
                " groups of B and without offsets, got " + a.describe());
  std::vector<int64_t> indices;
  if (op.getGather()) {
    indices = loadIntegers(frame.getTensor(op.getGather()));
    sizes.rows = static_cast<int64_t>(indices.size());
  }

  llvm::Expected<std::vector<RowGroup>> ranges =
      getRowGroups(op, op.getOffsets(), op.getGroup(), sizes.rows, frame);
  if (!ranges)
    return ranges.takeError();
  std::vector<RowGroup> groups = std::move(*ranges);
  if (!isRagged) {
    groups.clear();
    for (int64_t group = 0; group < sizes.groups; ++group)
      groups.push_back({group, 0, sizes.rows});
  }
  Bounds expertBounds{
      0, isRagged ? frame.getTensor(op.getOffsets()).getNumElements() - 2
                  : sizes.groups - 1};
  if (std::optional<int64_t> group = op.getGroup())
    expertBounds = {*group, *group};
  std::vector<Tensor> outs = takeOuts(op, frame);
  llvm::Expected<RegionLaunch> epilogue = RegionLaunch::create(
      op, op.getEpilogue().front(), op.getIndexingMaps(), extras, outs,
      {expertBounds, {0, sizes.rows - 1}, {0, sizes.columns - 1}},
      expertBounds);
  if (!epilogue)
    return epilogue.takeError();

  int64_t dilation = op.getDilation().value_or(0);
  std::optional<PaddedSamples> samples;
  if (isConvolution)
    samples.emplace(a.getBytes(), sizes.type, batch, time, sizes.depth,
                    dilation * (sizes.taps - 1));
  std::vector<std::byte> gathered;
  for (const RowGroup &group : groups) {
    int64_t rows = group.end - group.begin,
            weight = op.getGroup() ? 0 : group.expert;
    const std::byte *aRows =
        at(a, (isGroupedA ? group.expert * sizes.rows : group.begin) *
                  sizes.depth);
    if (op.getGather()) {
      llvm::Expected<std::vector<std::byte>> found =
          gatherRows(op, a, group, indices);
      if (!found)
        return found.takeError();
      gathered = std::move(*found);
      aRows = gathered.data();
    }
    std::vector<Tensor> accumulators;
    for (auto [j, b] : llvm::enumerate(bs)) {
      int64_t begin = op.getBegin(j);
      accumulators.push_back(
          isConvolution
              ? convolve(sizes, *samples, batch, time, dilation, b, begin,
                         weight, frame)
              : multiply(sizes, aRows, b, begin, weight, rows, frame));
    }
    llvm::SmallVector<const std::byte *> own;
    for (const Tensor &accumulator : accumulators)
      own.push_back(accumulator.getBytes());
    epilogue->run({group.expert, group.begin, 0}, {1, rows, sizes.columns},
                  group.expert, own, frame.getWorkers());
  }
  return defineOuts(op, std::move(outs), frame);
}
