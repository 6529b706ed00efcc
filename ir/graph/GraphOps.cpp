// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers and folders of views, products, rows, norms and losses.

#include "ir/graph/GraphDialect.h"
#include "ir/graph/GraphVerify.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace epifold::graph;

#define GET_OP_CLASSES
#include "ir/graph/GraphOps.cpp.inc"

//===--- Constants and views
//-------------------------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  // Large data would be copied into every executable; weights are parameters.
  constexpr int64_t maxElements = 1 << 16;
  if (shaped(getResult()).getNumElements() > maxElements &&
      !getValue().isSplat())
    return emitOpError("holds ")
           << shaped(getResult()).getNumElements() << " elements, more than "
           << maxElements << "; make it a parameter";
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

static LogicalResult verifyDim(Operation *op, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError("dim ")
         << dim << " is outside a tensor of rank " << rank;
}

LogicalResult SelectOp::verify() {
  ShapedType input = shaped(getInput());
  if (failed(verifyDim(*this, getDim(), input.getRank())))
    return failure();
  int64_t size = input.getDimSize(getDim());
  if (ShapedType::isDynamic(size))
    return emitOpError("selects from dynamic dimension ")
           << getDim() << " of " << input;
  if (getIndex() < 0 || getIndex() >= size)
    return emitOpError("index ") << getIndex() << " is outside dimension "
                                 << getDim() << " of size " << size;
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + getDim());
  if (failed(
          expectElement(*this, "result", getResult(), input.getElementType())))
    return failure();
  return expectShape(*this, "result", getResult(), shape);
}

LogicalResult SliceOp::verify() {
  ShapedType input = shaped(getInput());
  if (failed(verifyDim(*this, getDim(), input.getRank())) ||
      failed(
          expectElement(*this, "result", getResult(), input.getElementType())))
    return failure();
  SmallVector<int64_t> shape(input.getShape());
  int64_t &size = shape[getDim()];
  if (!ShapedType::isDynamic(size)) {
    auto [begin, end] = resolveSlice(getBegin(), getEnd(), size);
    if (begin < 0 || end > size || begin > end)
      return emitOpError("range ")
             << begin << " to " << end << " is outside dimension " << getDim()
             << " of size " << size;
    size = end - begin;
  }
  return expectShape(*this, "result", getResult(), shape);
}

LogicalResult ReshapeOp::verify() {
  ShapedType input = shaped(getInput()), result = shaped(getResult());
  if (failed(
          expectElement(*this, "result", getResult(), input.getElementType())))
    return failure();
  if (llvm::count_if(result.getShape(), ShapedType::isDynamic) > 1)
    return emitOpError("result ")
           << result << " may have one dynamic dimension at most";
  if (input.hasStaticShape() && result.hasStaticShape() &&
      input.getNumElements() != result.getNumElements())
    return emitOpError("turns ") << input.getNumElements() << " elements into "
                                 << result.getNumElements();
  if (input.hasStaticShape() && !result.hasStaticShape())
    return emitOpError("result ")
           << result << " is dynamic but the input is not";
  return success();
}
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType() &&
      shaped(getInput()).getNumDynamicDims() <= 1)
    return getInput();
  return {};
}

LogicalResult TransposeOp::verify() {
  ShapedType input = shaped(getInput());
  SmallVector<bool> seen(input.getRank());
  if (int64_t(getPermutation().size()) != input.getRank())
    return emitOpError("permutation has ")
           << getPermutation().size() << " entries for rank "
           << input.getRank();
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation()) {
    if (failed(verifyDim(*this, dim, input.getRank())))
      return failure();
    if (std::exchange(seen[dim], true))
      return emitOpError("permutation names dimension ") << dim << " twice";
    shape.push_back(input.getDimSize(dim));
  }
  if (failed(
          expectElement(*this, "result", getResult(), input.getElementType())))
    return failure();
  return expectShape(*this, "result", getResult(), shape);
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return llvm::equal(getPermutation(),
                     llvm::seq<int64_t>(0, getPermutation().size()))
             ? OpFoldResult(getInput())
             : OpFoldResult();
}

LogicalResult StackOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one input");
  SmallVector<int64_t> shape(shaped(getInputs().front()).getShape());
  for (Value input : getInputs())
    if (input.getType() != getInputs().front().getType())
      return emitOpError("inputs differ: ")
             << getInputs().front().getType() << " and " << input.getType();
  shape.insert(shape.begin(), getInputs().size());
  if (failed(expectElement(*this, "result", getResult(),
                           shaped(getInputs().front()).getElementType())))
    return failure();
  return expectShape(*this, "result", getResult(), shape);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one input");
  ShapedType first = shaped(getInputs().front());
  if (failed(verifyDim(*this, getDim(), first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[getDim()] = 0;
  for (Value input : getInputs()) {
    ShapedType type = shaped(input);
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[getDim()] = type.getDimSize(getDim());
    if (type.getElementType() != first.getElementType() ||
        failed(expectShape(*this, "each input", input, expected)))
      return emitOpError("inputs differ outside dimension ")
             << getDim() << ": " << first << " and " << type;
    bool isDynamic =
        type.isDynamicDim(getDim()) || ShapedType::isDynamic(shape[getDim()]);
    shape[getDim()] = isDynamic ? ShapedType::kDynamic
                                : shape[getDim()] + type.getDimSize(getDim());
  }
  return expectShape(*this, "result", getResult(), shape);
}

//===--- Products
//------------------------------------------------------------------------------------------------===//

/// Operands hold the same type; the result holds it, or f32 for bf16 and f16.
static LogicalResult verifyProductTypes(Operation *op, Value lhs, Value rhs,
                                        Value result) {
  Type element = shaped(lhs).getElementType();
  if (failed(expectElement(op, "rhs", rhs, element)))
    return failure();
  Type resultElement = shaped(result).getElementType();
  if (resultElement != element && resultElement != getComputeType(element))
    return op->emitOpError("result must hold ")
           << element << " or " << getComputeType(element) << ", got "
           << resultElement;
  return success();
}

static LogicalResult verifySameRows(Operation *op, Value lhs, Value result,
                                    int64_t columns) {
  if (isa<RaggedType>(lhs.getType()) != isa<RaggedType>(result.getType()))
    return op->emitOpError("result ")
           << result.getType() << " must be ragged exactly when lhs is";
  SmallVector<int64_t> shape(shaped(lhs).getShape());
  shape.back() = columns;
  return expectShape(op, "result", result, shape);
}

LogicalResult MatmulOp::verify() {
  ShapedType lhs = shaped(getLhs()), rhs = shaped(getRhs());
  if (failed(verifyProductTypes(*this, getLhs(), getRhs(), getResult())))
    return failure();
  if (lhs.getRank() < 2 || rhs.getRank() != 2)
    return emitOpError("takes lhs [..., m, k] and rhs [n, k], got ")
           << lhs << " and " << rhs;
  if (!rhs.hasStaticShape())
    return emitOpError("rhs ") << rhs << " must have static sizes";
  if (!sizesAgree(lhs.getShape().back(), rhs.getDimSize(1)))
    return emitOpError("contracts ")
           << lhs.getShape().back() << " columns of lhs with "
           << rhs.getDimSize(1) << " of rhs";
  return verifySameRows(*this, getLhs(), getResult(), rhs.getDimSize(0));
}

LogicalResult ExpertMatmulOp::verify() {
  ShapedType lhs = shaped(getLhs()), rhs = shaped(getRhs());
  if (failed(verifyProductTypes(*this, getLhs(), getRhs(), getResult())))
    return failure();
  if (rhs.getRank() != 3 || !rhs.hasStaticShape())
    return emitOpError("takes rhs [experts, n, k] of static sizes, got ")
           << rhs;
  if (lhs.getRank() != 2 && lhs.getRank() != 3)
    return emitOpError(
               "takes lhs [m, k], [experts, m, k] or grouped rows, got ")
           << lhs;
  if (auto ragged = dyn_cast<RaggedType>(lhs); ragged && !ragged.isGrouped())
    return emitOpError("takes the rows of all experts, got one expert's: ")
           << lhs;
  if (lhs.getRank() == 3 && !sizesAgree(lhs.getDimSize(0), rhs.getDimSize(0)))
    return emitOpError("lhs is for ")
           << lhs.getDimSize(0) << " experts, rhs for " << rhs.getDimSize(0);
  if (!sizesAgree(lhs.getShape().back(), rhs.getDimSize(2)))
    return emitOpError("contracts ")
           << lhs.getShape().back() << " columns of lhs with "
           << rhs.getDimSize(2) << " of rhs";
  if (isa<RaggedType>(lhs))
    return verifySameRows(*this, getLhs(), getResult(), rhs.getDimSize(1));
  return expectShape(*this, "result", getResult(),
                     {rhs.getDimSize(0), lhs.getDimSize(lhs.getRank() - 2),
                      rhs.getDimSize(1)});
}

static LogicalResult verifyConvolution(Operation *op, Value input, Value weight,
                                       Value result, int64_t dilation,
                                       bool experts) {
  ShapedType x = shaped(input), w = shaped(weight);
  if (failed(verifyProductTypes(op, input, weight, result)))
    return failure();
  if (w.getRank() != (experts ? 4 : 3) || !w.hasStaticShape())
    return op->emitOpError("takes a weight ")
           << (experts ? "[experts, o, ci, K]" : "[o, ci, K]")
           << " of static sizes, got " << w;
  if (x.getRank() != 2 && x.getRank() != 3)
    return op->emitOpError("takes an input [t, ci] or [b, t, ci], got ") << x;
  if (dilation < 1)
    return op->emitOpError("dilation must be at least 1, got ") << dilation;
  ArrayRef<int64_t> sizes = w.getShape().take_back(3);
  if (!sizesAgree(x.getShape().back(), sizes[1]))
    return op->emitOpError("input has ")
           << x.getShape().back() << " channels, the weight " << sizes[1];
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = sizes[0];
  if (experts)
    shape.insert(shape.begin(), w.getDimSize(0));
  return expectShape(op, "result", result, shape);
}

LogicalResult CausalConv1dOp::verify() {
  return verifyConvolution(*this, getInput(), getWeight(), getResult(),
                           getDilation(), /*experts=*/false);
}
LogicalResult ExpertCausalConv1dOp::verify() {
  return verifyConvolution(*this, getInput(), getWeight(), getResult(),
                           getDilation(), /*experts=*/true);
}

//===--- Rows, norms, losses
//-------------------------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  ShapedType table = shaped(getTable());
  if (table.getRank() != 2 || !table.hasStaticShape())
    return emitOpError("takes a table [rows, width] of static sizes, got ")
           << table;
  SmallVector<int64_t> shape(shaped(getIndices()).getShape());
  shape.push_back(table.getDimSize(1));
  if (failed(
          expectElement(*this, "result", getResult(), table.getElementType())))
    return failure();
  return expectShape(*this, "result", getResult(), shape);
}

static LogicalResult verifySameType(Operation *op, Value input, Value result) {
  if (failed(
          expectElement(op, "result", result, shaped(input).getElementType())))
    return failure();
  return expectShape(op, "result", result, shaped(input).getShape());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyRows(*this, getInput())))
    return failure();
  return verifySameType(*this, getInput(), getResult());
}

LogicalResult ReduceSumOp::verify() {
  ShapedType input = shaped(getInput());
  if (failed(verifyDim(*this, getDim(), input.getRank())) ||
      failed(
          expectElement(*this, "result", getResult(), input.getElementType())))
    return failure();
  if (getOrder() == SumOrder::Tree && getDim() != input.getRank() - 1)
    return emitOpError("the tree sums the last dimension; use `order "
                       "ascending` for dimension ")
           << getDim();
  if (input.isDynamicDim(getDim()) || input.getDimSize(getDim()) < 1)
    return emitOpError("needs a static, positive size in dimension ")
           << getDim() << ", got " << input;
  SmallVector<int64_t> shape(input.getShape());
  if (getKeepdim())
    shape[getDim()] = 1;
  else
    shape.erase(shape.begin() + getDim());
  return expectShape(*this, "result", getResult(), shape);
}

static LogicalResult verifyScale(Operation *op, StringRef what, Value scale,
                                 Value input) {
  if (failed(expectElement(op, what, scale, shaped(input).getElementType())))
    return failure();
  return expectShape(op, what, scale, {shaped(input).getShape().back()});
}

LogicalResult GroupNormOp::verify() {
  ShapedType input = shaped(getInput());
  if (failed(verifyRows(*this, getInput())) ||
      failed(verifyScale(*this, "scale", getScale(), getInput())) ||
      failed(verifyScale(*this, "bias", getBias(), getInput())))
    return failure();
  if (input.getRank() != 2 && input.getRank() != 3)
    return emitOpError("takes an input [t, d] or [b, t, d], got ") << input;
  if (getGroups() < 1 || input.getShape().back() % getGroups())
    return emitOpError("cannot divide ")
           << input.getShape().back() << " channels into " << getGroups()
           << " groups";
  return verifySameType(*this, getInput(), getResult());
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyRows(*this, getInput())) ||
      failed(verifyScale(*this, "scale", getScale(), getInput())) ||
      failed(verifyScale(*this, "bias", getBias(), getInput())))
    return failure();
  return verifySameType(*this, getInput(), getResult());
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyRows(*this, getInput())) ||
      failed(verifyScale(*this, "scale", getScale(), getInput())))
    return failure();
  return verifySameType(*this, getInput(), getResult());
}

LogicalResult CrossEntropyOp::verify() {
  ShapedType logits = shaped(getLogits());
  if (failed(verifyRows(*this, getLogits())))
    return failure();
  if (failed(expectShape(*this, "targets", getTargets(),
                         logits.getShape().drop_back())))
    return failure();
  if (failed(
          expectElement(*this, "result", getResult(), getComputeType(logits))))
    return failure();
  return expectShape(*this, "result", getResult(), {});
}
