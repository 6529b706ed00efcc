// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs a region in chunks of points, gathering and scattering its operands.

#include "backends/reference/RegionLaunch.h"

#include "backends/reference/Elements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <numeric>

using namespace epifold::reference;

static constexpr int64_t chunkSize = 4096;

/// Checks that a map stays inside a shape.
static llvm::Error checkBounds(mlir::Operation *op, mlir::AffineMap map,
                               const Tensor &tensor,
                               llvm::ArrayRef<Bounds> dims, Bounds symbol) {
  bool isEmpty = llvm::any_of(
      dims, [](Bounds bounds) { return bounds.first > bounds.second; });
  for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
    auto [low, high] = evaluateBounds(expression, dims, symbol);
    if (!isEmpty && (low < 0 || high >= tensor.getDim(dim)))
      return makeError(op, "indexes " + llvm::Twine(low) + " … " +
                               llvm::Twine(high) + " of dimension " +
                               llvm::Twine(dim) + " of " + tensor.describe());
  }
  return llvm::Error::success();
}

llvm::Expected<RegionLaunch>
RegionLaunch::create(mlir::Operation *op, mlir::Block &body,
                     mlir::ArrayAttr maps, llvm::ArrayRef<Tensor> ins,
                     llvm::MutableArrayRef<Tensor> outs,
                     llvm::ArrayRef<Bounds> dims, Bounds symbol) {
  RegionLaunch launch;
  llvm::Expected<ScalarProgram> program = ScalarProgram::compile(body);
  if (!program)
    return program.takeError();
  launch.program = std::move(*program);
  launch.inputs.assign(ins.begin(), ins.end());
  for (auto [index, attribute] : llvm::enumerate(maps)) {
    mlir::AffineMap map = llvm::cast<mlir::AffineMapAttr>(attribute).getValue();
    bool isInput = index < ins.size();
    const Tensor &tensor = isInput ? ins[index] : outs[index - ins.size()];
    if (llvm::Error error = checkBounds(op, map, tensor, dims, symbol))
      return error;
    std::byte *data =
        isInput ? const_cast<std::byte *>(tensor.getBytes()) // only read
                : outs[index - ins.size()].getMutableBytes();
    (isInput ? launch.ins : launch.outs)
        .push_back({IndexMap(map, tensor.getShape()),
                    getByteSize(tensor.getElementType()), data});
  }
  return std::move(launch);
}

/// Calls `body(done, count, point)` for the parts of a box's flat range that
/// lie in one row of its last dimension.
template <typename Body>
static void forEachRow(llvm::ArrayRef<int64_t> boxBegin,
                       llvm::ArrayRef<int64_t> sizes, int64_t begin,
                       int64_t end, Body body) {
  Tensor::Shape point(boxBegin);
  int64_t inner = sizes.empty() ? 1 : sizes.back();
  for (int64_t flat = begin; flat < end;) {
    int64_t rest = flat;
    for (size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim])
      point[dim] = boxBegin[dim] + rest % sizes[dim];
    int64_t count = std::min(inner - flat % inner, end - flat);
    body(flat - begin, count, point);
    flat += count;
  }
}

void RegionLaunch::runChunk(const Box &box,
                            llvm::ArrayRef<const std::byte *> own,
                            int64_t begin, int64_t end) {
  int64_t count = end - begin;
  Tensor::Shape first(box.begin);
  forEachRow(box.begin, box.sizes, begin, begin + 1,
             [&](int64_t, int64_t, llvm::ArrayRef<int64_t> point) {
               first = Tensor::Shape(point);
             });
  std::vector<std::vector<std::byte>> buffers;
  // Contiguous operands are used where they lie, others through a buffer.
  auto locate = [&](const Operand &operand) -> std::byte * {
    if (operand.map.isContiguous(box.sizes))
      return operand.data +
             operand.map.getOffset(first, box.symbol) * operand.size;
    return buffers.emplace_back(count * operand.size).data();
  };
  auto transfer = [&](const Operand &operand, std::byte *buffer, bool isInput) {
    std::optional<int64_t> stride = operand.map.getInnerStride();
    forEachRow(
        box.begin, box.sizes, begin, end,
        [&](int64_t done, int64_t length, Tensor::Shape &point) {
          for (int64_t i = 0; i < length;) {
            int64_t step = stride && (isInput || *stride == 1) ? length : 1;
            std::byte *there =
                operand.data +
                operand.map.getOffset(point, box.symbol) * operand.size;
            std::byte *here = buffer + (done + i) * operand.size;
            if (isInput)
              copyStrided(there, stride.value_or(1), operand.size, step, here);
            else
              std::memcpy(there, here, step * operand.size);
            i += step;
            if (!point.empty())
              point.back() += step;
          }
        });
  };

  llvm::SmallVector<const void *> inputs;
  for (auto [values, type] : llvm::zip(own, program.getInputTypes()))
    inputs.push_back(values + begin * getByteSize(type));
  for (const Operand &operand : ins) {
    std::byte *data = locate(operand);
    if (!operand.map.isContiguous(box.sizes))
      transfer(operand, data, true);
    inputs.push_back(data);
  }
  llvm::SmallVector<void *> results;
  for (const Operand &operand : outs)
    results.push_back(locate(operand));
  ScalarProgram::Scratch scratch(program, count);
  program.run(count, inputs, results, scratch);
  for (auto [operand, data] : llvm::zip(outs, results))
    if (!operand.map.isContiguous(box.sizes))
      transfer(operand, static_cast<std::byte *>(data), false);
}

void RegionLaunch::run(llvm::ArrayRef<int64_t> begin,
                       llvm::ArrayRef<int64_t> sizes, int64_t symbol,
                       llvm::ArrayRef<const std::byte *> own,
                       Workers &workers) {
  Box box{begin, sizes, symbol};
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                                  std::multiplies<>());
  workers.forEach(count, chunkSize, [&](int64_t from, int64_t to) {
    runChunk(box, own, from, to);
  });
}
