// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Operands, outs and ragged rows of launches.

#include "backends/reference/KernelSupport.h"

#include "backends/reference/Elements.h"

using namespace epifold::reference;

std::vector<Tensor> epifold::reference::getTensors(mlir::ValueRange values,
                                                   Frame &frame) {
  std::vector<Tensor> tensors;
  for (mlir::Value value : values)
    tensors.push_back(frame.getTensor(value));
  return tensors;
}

std::vector<Tensor>
epifold::reference::takeOuts(mlir::DestinationStyleOpInterface op,
                             Frame &frame) {
  std::vector<Tensor> outs;
  for (mlir::Value value : op.getDpsInits())
    outs.push_back(frame.takeTensor(value, op));
  return outs;
}

llvm::Error epifold::reference::defineOuts(mlir::DestinationStyleOpInterface op,
                                           std::vector<Tensor> outs,
                                           Frame &frame) {
  for (auto [result, out] : llvm::zip(op->getResults(), outs))
    if (llvm::Error error = frame.define(result, std::move(out)))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<RowGroup>>
epifold::reference::getRowGroups(mlir::Operation *op, mlir::Value offsets,
                                 std::optional<int64_t> group, int64_t rows,
                                 Frame &frame) {
  if (!offsets)
    return std::vector<RowGroup>{{0, 0, rows}};
  std::vector<int64_t> bounds = loadIntegers(frame.getTensor(offsets));
  for (size_t i = 0; i + 1 < bounds.size(); ++i)
    if (bounds[i] < 0 || bounds[i] > bounds[i + 1] || bounds[i + 1] > rows)
      return makeError(op, "has offsets " + llvm::Twine(bounds[i]) + " … " +
                               llvm::Twine(bounds[i + 1]) + " for expert " +
                               llvm::Twine(i) + " in buffers of " +
                               llvm::Twine(rows) + " rows");
  std::vector<RowGroup> groups;
  for (int64_t expert = 0; expert + 1 < static_cast<int64_t>(bounds.size());
       ++expert)
    if ((!group || *group == expert) && bounds[expert] < bounds[expert + 1])
      groups.push_back({expert, bounds[expert], bounds[expert + 1]});
  return groups;
}

llvm::Error epifold::reference::require(mlir::Operation *op, bool holds,
                                        const llvm::Twine &message) {
  return holds ? llvm::Error::success() : makeError(op, message);
}
