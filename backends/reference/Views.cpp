// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Constants and the ops that rearrange a tensor without computing.

#include "backends/reference/GraphOps.h"
#include "backends/reference/KernelOps.h"

#include "backends/reference/Elements.h"
#include "mlir/IR/TypeUtilities.h"

#include <cstring>
#include <numeric>

using namespace epifold;
using namespace epifold::reference;

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// Copies the range begin … begin + count of dimension `dim`.
static Tensor copyRange(const Tensor &input, int64_t dim, int64_t begin,
                        int64_t count) {
  Tensor::Shape shape(input.getShape());
  int64_t size = shape[dim];
  shape[dim] = count;
  if (dim == 0 || product(input.getShape().take_front(dim)) == 1)
    return input.view(begin * product(input.getShape().drop_front(dim + 1)),
                      shape);
  Tensor result = Tensor::zeros(input.getElementType(), shape);
  size_t inner = product(input.getShape().drop_front(dim + 1)) *
                 getByteSize(input.getElementType());
  std::byte *to = result.getMutableBytes();
  for (int64_t outer = 0, end = product(input.getShape().take_front(dim));
       outer < end; ++outer)
    std::memcpy(to + outer * count * inner,
                input.getBytes() + (outer * size + begin) * inner,
                count * inner);
  return result;
}

/// Copies `part` into dimension `dim` of `whole`, from index `begin` on.
static void pasteRange(Tensor &whole, const Tensor &part, int64_t dim,
                       int64_t begin) {
  int64_t size = whole.getDim(dim), count = part.getDim(dim);
  size_t inner = product(part.getShape().drop_front(dim + 1)) *
                 getByteSize(part.getElementType());
  std::byte *to = whole.getMutableBytes();
  for (int64_t outer = 0, end = product(part.getShape().take_front(dim));
       outer < end; ++outer)
    std::memcpy(to + (outer * size + begin) * inner,
                part.getBytes() + outer * count * inner, count * inner);
}

static Tensor makeConstant(mlir::ElementsAttr value) {
  mlir::ShapedType type = value.getShapedType();
  ElementType elementType = *getElementType(type.getElementType());
  Tensor result = Tensor::zeros(elementType, type.getShape());
  std::byte *bytes = result.getMutableBytes();
  int64_t size = getByteSize(elementType), index = 0;
  auto put = [&](const llvm::APInt &bits) {
    uint64_t word = bits.getZExtValue();
    std::memcpy(bytes + size * index++, &word,
                size); // little endian, as all hosts of this project
  };
  if (isFloat(elementType))
    for (const llvm::APFloat &element : value.getValues<llvm::APFloat>())
      put(element.bitcastToAPInt());
  else
    for (const llvm::APInt &element : value.getValues<llvm::APInt>())
      put(element);
  return result;
}

llvm::Error epifold::reference::evaluate(graph::ConstantOp op, Frame &frame) {
  return frame.define(op.getResult(), makeConstant(op.getValue()));
}

llvm::Error epifold::reference::evaluate(mlir::arith::ConstantOp op,
                                         Frame &frame) {
  auto value = llvm::dyn_cast<mlir::ElementsAttr>(op.getValue());
  if (!value)
    return makeError(op, "is a scalar outside a region");
  return frame.define(op.getResult(), makeConstant(value));
}

llvm::Error epifold::reference::evaluate(graph::SelectOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t dim = op.getDim(), index = op.getIndex();
  if (index >= input.getDim(dim))
    return makeError(op, "selects index " + llvm::Twine(index) +
                             " of dimension " + llvm::Twine(dim) + " of " +
                             input.describe());
  Tensor::Shape shape(input.getShape());
  shape.erase(shape.begin() + dim);
  return frame.define(op.getResult(),
                      copyRange(input, dim, index, 1).reshaped(shape));
}

llvm::Error epifold::reference::evaluate(graph::SliceOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  int64_t dim = op.getDim(), size = input.getDim(dim);
  auto [begin, end] = graph::resolveSlice(op.getBegin(), op.getEnd(), size);
  if (begin < 0 || begin > end || end > size)
    return makeError(op, "takes the range " + llvm::Twine(begin) + " … " +
                             llvm::Twine(end) + " of dimension " +
                             llvm::Twine(dim) + " of " + input.describe());
  return frame.define(op.getResult(),
                      copyRange(input, dim, begin, end - begin));
}

llvm::Error epifold::reference::evaluate(graph::ReshapeOp op, Frame &frame) {
  const Tensor &input = frame.getTensor(op.getInput());
  Tensor::Shape shape(
      llvm::cast<mlir::ShapedType>(op.getResult().getType()).getShape());
  int64_t known = 1;
  for (int64_t size : shape)
    known *= mlir::ShapedType::isDynamic(size) ? 1 : size;
  for (int64_t &size : shape)
    if (mlir::ShapedType::isDynamic(size))
      size = known == 0 ? 0 : input.getNumElements() / known;
  if (product(shape) != input.getNumElements())
    return makeError(op, "cannot give " + input.describe() +
                             " the shape of its result");
  return frame.define(op.getResult(), input.reshaped(shape));
}

llvm::Error epifold::reference::evaluate(graph::TransposeOp op, Frame &frame) {
  return frame.define(op.getResult(), permute(frame.getTensor(op.getInput()),
                                              op.getPermutation()));
}

/// Checks that parts agree with the first one in every dimension but `except`.
static llvm::Error checkParts(mlir::Operation *op, Frame &frame,
                              int64_t except) {
  const Tensor &first = frame.getTensor(op->getOperand(0));
  for (mlir::Value operand : op->getOperands()) {
    const Tensor &part = frame.getTensor(operand);
    for (int64_t dim = 0; dim < first.getRank(); ++dim)
      if (dim != except && part.getDim(dim) != first.getDim(dim))
        return makeError(op, "joins " + first.describe() + " and " +
                                 part.describe());
  }
  return llvm::Error::success();
}

llvm::Error epifold::reference::evaluate(graph::StackOp op, Frame &frame) {
  if (llvm::Error error = checkParts(op, frame, -1))
    return error;
  const Tensor &first = frame.getTensor(op.getInputs().front());
  Tensor::Shape shape(first.getShape());
  shape.insert(shape.begin(), static_cast<int64_t>(op.getInputs().size()));
  Tensor result = Tensor::zeros(first.getElementType(), shape);
  shape.front() = 1;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    pasteRange(result, frame.getTensor(input).reshaped(shape), 0, i);
  return frame.define(op.getResult(), std::move(result));
}

llvm::Error epifold::reference::evaluate(graph::ConcatOp op, Frame &frame) {
  int64_t dim = op.getDim();
  if (llvm::Error error = checkParts(op, frame, dim))
    return error;
  const Tensor &first = frame.getTensor(op.getInputs().front());
  Tensor::Shape shape(first.getShape());
  shape[dim] = 0;
  for (mlir::Value input : op.getInputs())
    shape[dim] += frame.getTensor(input).getDim(dim);
  Tensor result = Tensor::zeros(first.getElementType(), shape);
  int64_t begin = 0;
  for (mlir::Value input : op.getInputs()) {
    pasteRange(result, frame.getTensor(input), dim, begin);
    begin += frame.getTensor(input).getDim(dim);
  }
  return frame.define(op.getResult(), std::move(result));
}
