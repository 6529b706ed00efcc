// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Buffers, views and elementwise launches of the kernel dialect.

#include "backends/reference/KernelOps.h"

#include "backends/reference/KernelSupport.h"
#include "backends/reference/RegionLaunch.h"

#include <numeric>

using namespace epifold;
using namespace epifold::reference;

llvm::Error epifold::reference::evaluate(kernel::EmptyOp op, Frame &frame) {
  Tensor::Shape sizes = evaluateMap(op.getSizes(), {}, frame.symbols);
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return makeError(op, "has a negative size");
  return frame.define(op.getResult(),
                      Tensor::unwritten(getElementType(op.getResult()), sizes));
}

llvm::Error epifold::reference::evaluate(kernel::ViewOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t offset = evaluateMap(op.getOffset(), {}, frame.symbols).front();
  Tensor::Shape sizes = evaluateMap(op.getSizes(), {}, frame.symbols);
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                                  std::multiplies<>());
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }) ||
      offset < 0 || offset + count > input.getNumElements())
    return makeError(op, "takes " + llvm::Twine(count) + " elements from " +
                             llvm::Twine(offset) + " on of " +
                             input.describe());
  return frame.define(op.getResult(), input.view(offset, sizes));
}

llvm::Error epifold::reference::evaluate(kernel::MapOp op, Frame &frame) {
  std::vector<Tensor> ins = getTensors(op.getIns(), frame),
                      outs = takeOuts(op, frame);
  int64_t domain = op.getDomain();
  Tensor::Shape sizes(domain < static_cast<int64_t>(ins.size())
                          ? ins[domain].getShape()
                          : outs[domain - ins.size()].getShape());
  llvm::SmallVector<Bounds> bounds;
  for (int64_t size : sizes)
    bounds.push_back({0, size - 1});
  int64_t rows = sizes.empty() ? 1 : sizes.front();
  llvm::Expected<std::vector<RowGroup>> groups =
      getRowGroups(op, op.getOffsets(), op.getGroup(), rows, frame);
  if (!groups)
    return groups.takeError();
  int64_t experts = op.getOffsets()
                        ? frame.getTensor(op.getOffsets()).getNumElements() - 1
                        : 1;
  llvm::Expected<RegionLaunch> launch =
      RegionLaunch::create(op, op.getBody().front(), op.getIndexingMaps(), ins,
                           outs, bounds, {0, experts - 1});
  if (!launch)
    return launch.takeError();
  Tensor::Shape begin(sizes.size(), 0);
  for (const RowGroup &group : *groups) {
    if (!sizes.empty()) {
      begin.front() = group.begin;
      sizes.front() = group.end - group.begin;
    }
    launch->run(begin, sizes, group.expert, {}, frame.getWorkers());
  }
  return defineOuts(op, std::move(outs), frame);
}
