// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elementwise graph ops: broadcasting, scalar meaning and folding over experts.

#include "ir/graph/GraphDialect.h"

#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace epifold::graph;
namespace kernel = epifold::kernel;

//===--- Verification
//--------------------------------------------------------------------------------------------===//

/// A dense operand beside ragged rows must not have a size of its own in the
/// row dimension.
static LogicalResult verifyRowBroadcast(Operation *op, ShapedType operand,
                                        RaggedType result) {
  int64_t fromLast = operand.getRank() - 2;
  if (isa<RaggedType>(operand) || fromLast < 0 ||
      operand.getDimSize(fromLast) == 1)
    return success();
  return op->emitOpError("operand ")
         << operand
         << " has its own rows and cannot be combined with ragged rows "
         << result;
}

static LogicalResult verifyElementwise(Operation *op,
                                       bool sameElementType = true) {
  auto result = cast<ShapedType>(op->getResult(0).getType());
  SmallVector<ArrayRef<int64_t>> shapes;
  bool anyRagged = false;
  for (Value operand : op->getOperands()) {
    auto type = cast<ShapedType>(operand.getType());
    shapes.push_back(type.getShape());
    anyRagged |= isa<RaggedType>(type);
    if (sameElementType && type.getElementType() != result.getElementType())
      return op->emitOpError("operand is ")
             << type << " but the result holds " << result.getElementType()
             << "; insert graph.cast";
    if (auto ragged = dyn_cast<RaggedType>(result);
        ragged && failed(verifyRowBroadcast(op, type, ragged)))
      return failure();
  }
  if (anyRagged != isa<RaggedType>(result))
    return op->emitOpError("result ")
           << result
           << (anyRagged ? " must be ragged as its operand is"
                         : " is ragged but no operand is");
  std::optional<SmallVector<int64_t>> shape = broadcastShapes(shapes);
  if (!shape) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("operands do not broadcast:");
    for (Value operand : op->getOperands())
      diagnostic << " " << operand.getType();
    return diagnostic;
  }
  if (failed(verifyCompatibleShape(*shape, result.getShape())) ||
      shape->size() != size_t(result.getRank()))
    return op->emitOpError("operands broadcast to [")
           << *shape << "] but the result is " << result;
  return success();
}

//===--- Folding over experts
//------------------------------------------------------------------------------------===//

/// Gives stacked operands of lower rank size-1 dimensions after the expert's,
/// so that they still align from the last.
static Value alignStacked(OpBuilder &builder, Location loc, Value operand,
                          int64_t rank) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type || type.getRank() >= rank)
    return operand;
  // A cast stays next to the op that reads it: its input is reshaped instead.
  if (auto cast = operand.getDefiningOp<CastOp>())
    if (isa<RankedTensorType>(cast.getInput().getType())) {
      Value input = alignStacked(builder, loc, cast.getInput(), rank);
      auto aligned = llvm::cast<RankedTensorType>(input.getType());
      return CastOp::create(builder, cast.getLoc(),
                            aligned.clone(type.getElementType()), input);
    }
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 1, rank - type.getRank(), 1);
  return ReshapeOp::create(builder, loc, type.clone(shape), operand);
}

static Value foldElementwise(Operation *op, OpBuilder &builder,
                             ValueRange operands, ArrayRef<bool> stacked,
                             int64_t experts, std::string &reason) {
  ShapedType type = stackType(op->getResult(0).getType(), experts);
  if (!type) {
    reason = "its rows are grouped already";
    return {};
  }
  SmallVector<Value> aligned;
  for (auto [operand, isStacked] : llvm::zip(operands, stacked))
    aligned.push_back(
        isStacked ? alignStacked(builder, op->getLoc(), operand, type.getRank())
                  : operand);
  OperationState state(op->getLoc(), op->getName(), aligned, Type(type),
                       op->getAttrs());
  return builder.create(state)->getResult(0);
}

//===--- Scalar meaning
//------------------------------------------------------------------------------------------===//

static kernel::Accuracy resolve(std::optional<Accuracy> accuracy, Type type) {
  if (type.isF64())
    return kernel::Accuracy::F64;
  return accuracy ? static_cast<kernel::Accuracy>(*accuracy)
                  : kernel::Accuracy::F32;
}

static Value portable(OpBuilder &b, Location loc, kernel::MathFunction function,
                      std::optional<Accuracy> accuracy, Value x) {
  return kernel::MathOp::create(b, loc, x.getType(), function,
                                resolve(accuracy, x.getType()), x);
}

static Value constant(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

/// a where `predicate(a, b)` holds (unordered ones hold for NaN), else b.
static Value pick(OpBuilder &b, Location loc, arith::CmpFPredicate predicate,
                  Value lhs, Value rhs) {
  Value condition = arith::CmpFOp::create(b, loc, predicate, lhs, rhs);
  return arith::SelectOp::create(b, loc, condition, lhs, rhs);
}

#define ELEMENTWISE(OP)                                                        \
  Value OP::buildFolded(OpBuilder &builder, ValueRange operands,               \
                        ArrayRef<bool> stacked, int64_t experts,               \
                        std::string &reason) {                                 \
    return foldElementwise(*this, builder, operands, stacked, experts,         \
                           reason);                                            \
  }                                                                            \
  Value OP::buildScalar(OpBuilder &b, ValueRange args)

#define ELEMENTWISE_SAME_TYPE(OP)                                              \
  LogicalResult OP::verify() { return verifyElementwise(*this); }              \
  ELEMENTWISE(OP)

ELEMENTWISE_SAME_TYPE(NegOp) {
  return arith::NegFOp::create(b, getLoc(), args[0]);
}
ELEMENTWISE_SAME_TYPE(AbsOp) {
  return mlir::math::AbsFOp::create(b, getLoc(), args[0]);
}
ELEMENTWISE_SAME_TYPE(ReluOp) {
  return pick(b, getLoc(), arith::CmpFPredicate::UGT, args[0],
              constant(b, getLoc(), args[0].getType(), 0));
}
ELEMENTWISE_SAME_TYPE(AddOp) {
  return arith::AddFOp::create(b, getLoc(), args[0], args[1]);
}
ELEMENTWISE_SAME_TYPE(SubOp) {
  return arith::SubFOp::create(b, getLoc(), args[0], args[1]);
}
ELEMENTWISE_SAME_TYPE(MulOp) {
  return arith::MulFOp::create(b, getLoc(), args[0], args[1]);
}
ELEMENTWISE_SAME_TYPE(DivOp) {
  return arith::DivFOp::create(b, getLoc(), args[0], args[1]);
}
ELEMENTWISE_SAME_TYPE(FmaOp) {
  return mlir::math::FmaOp::create(b, getLoc(), args[0], args[1], args[2]);
}

/// max and min keep a NaN of either operand: a when it is NaN (the comparison
/// is unordered), b when b is.
ELEMENTWISE_SAME_TYPE(MaxOp) {
  Value isNaN = arith::CmpFOp::create(b, getLoc(), arith::CmpFPredicate::UNO,
                                      args[1], args[1]);
  Value larger = arith::CmpFOp::create(b, getLoc(), arith::CmpFPredicate::UGT,
                                       args[0], args[1]);
  Value value = arith::SelectOp::create(b, getLoc(), larger, args[0], args[1]);
  return arith::SelectOp::create(b, getLoc(), isNaN, args[1], value);
}
ELEMENTWISE_SAME_TYPE(MinOp) {
  Value isNaN = arith::CmpFOp::create(b, getLoc(), arith::CmpFPredicate::UNO,
                                      args[1], args[1]);
  Value smaller = arith::CmpFOp::create(b, getLoc(), arith::CmpFPredicate::ULT,
                                        args[0], args[1]);
  Value value = arith::SelectOp::create(b, getLoc(), smaller, args[0], args[1]);
  return arith::SelectOp::create(b, getLoc(), isNaN, args[1], value);
}

ELEMENTWISE_SAME_TYPE(SqrtOp) {
  return portable(b, getLoc(), kernel::MathFunction::Sqrt, std::nullopt,
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(ExpOp) {
  return portable(b, getLoc(), kernel::MathFunction::Exp, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(LogOp) {
  return portable(b, getLoc(), kernel::MathFunction::Log, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(ErfOp) {
  return portable(b, getLoc(), kernel::MathFunction::Erf, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(TanhOp) {
  return portable(b, getLoc(), kernel::MathFunction::Tanh, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(RsqrtOp) {
  return portable(b, getLoc(), kernel::MathFunction::Rsqrt, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(SigmoidOp) {
  return portable(b, getLoc(), kernel::MathFunction::Sigmoid, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(SiluOp) {
  return portable(b, getLoc(), kernel::MathFunction::Silu, getAccuracy(),
                  args[0]);
}
ELEMENTWISE_SAME_TYPE(GeluOp) {
  auto function = getApproximate() == GeluKind::Erf
                      ? kernel::MathFunction::GeluErf
                      : kernel::MathFunction::GeluTanh;
  return portable(b, getLoc(), function, getAccuracy(), args[0]);
}

LogicalResult CastOp::verify() {
  return verifyElementwise(*this, /*sameElementType=*/false);
}
ELEMENTWISE(CastOp) {
  // The argument is of the input's compute type; the caller narrows from the
  // result's compute type to its elements.
  FloatType to = getComputeType(getResult().getType());
  if (args[0].getType() == to)
    return args[0];
  if (to.isF64())
    return arith::ExtFOp::create(b, getLoc(), to, args[0]);
  return arith::TruncFOp::create(b, getLoc(), to, args[0]);
}
OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType()
             ? OpFoldResult(getInput())
             : OpFoldResult();
}
