// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel's scalar float code and the inlining of a launch op's region.

#include "backends/ptx/KernelBuilder.h"
#include "backends/ptx/MathExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

static bool isSmallFloat(Type type) { return type.isBF16() || type.isF16(); }

Value KernelBuilder::constant(Type type, double value) {
  return arith::ConstantOp::create(*this, getFloatAttr(type, value));
}

/// `value` rounded to bf16, as f32, in one instruction: the packed conversion
/// leaves the rounded value in a register's upper half, which with zeros below
/// is that value. The conversion of a single value takes a slow unit, and
/// widening it another instruction.
static Value roundInPlace(KernelBuilder &b, Value value) {
  Value bits =
      LLVM::InlineAsmOp::create(
          b, b.getI32Type(), value, "cvt.rn.bf16x2.f32 $0, $1, 0f00000000;",
          "=r,f",
          /*has_side_effects=*/false, /*is_align_stack=*/false,
          LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
          .getRes();
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

Value KernelBuilder::extend(Value value) {
  if (value.getType().isF16())
    return arith::ExtFOp::create(*this, getF32Type(), value);
  if (!value.getType().isBF16())
    return value;
  if (auto rounding = value.getDefiningOp<arith::TruncFOp>())
    if (rounding.getIn().getType().isF32())
      return roundInPlace(*this, rounding.getIn());
  // As integers, so that LLVM never sees that an f32 operation on two extended
  // values could be done in bf16: for subnormal results that would round once
  // where the contract rounds twice.
  Value bits = arith::BitcastOp::create(*this, getI16Type(), value);
  bits = shiftLeft(arith::ExtUIOp::create(*this, getI32Type(), bits), 16);
  return arith::BitcastOp::create(*this, getF32Type(), bits);
}

Value KernelBuilder::round(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (value.getType().isF64() && isSmallFloat(type))
    value = arith::TruncFOp::create(*this, getF32Type(), value);
  return arith::TruncFOp::create(*this, type, value);
}

Value KernelBuilder::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(*this, a, b, c);
}

Value KernelBuilder::math(kernel::MathFunction function,
                          kernel::Accuracy accuracy, Value input) {
  return expandMath(*this, getLoc(), mathMode, function, accuracy, input);
}

/// Clones an arith op whose floats are bf16 or f16 as one that computes in f32
/// and rounds once.
static void cloneInF32(KernelBuilder &b, Operation &op, IRMapping &mapping) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    Value value = mapping.lookup(operand);
    operands.push_back(isSmallFloat(value.getType()) ? b.extend(value) : value);
  }
  Type resultType = op.getResult(0).getType();
  OperationState state(op.getLoc(), op.getName(), operands,
                       {isSmallFloat(resultType) ? b.getF32Type() : resultType},
                       op.getAttrs());
  Value result = b.create(state)->getResult(0);
  mapping.map(op.getResult(0),
              isSmallFloat(resultType) ? b.round(result, resultType) : result);
}

/// An exact conversion to a wider float type.
static Value widen(KernelBuilder &b, Value value, Type type) {
  value = b.extend(value);
  return value.getType() == type ? value
                                 : arith::ExtFOp::create(b, type, value);
}

static bool computesInSmallFloats(Operation &op) {
  if (isa<arith::SelectOp, arith::BitcastOp, arith::ConstantOp>(op))
    return false;
  return llvm::any_of(op.getOperandTypes(), isSmallFloat) &&
         !isa<arith::ExtFOp>(op);
}

KernelBuilder::Values KernelBuilder::inlineRegion(Region &region,
                                                  ValueRange arguments) {
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator()) {
    auto mapped = [&](unsigned i) { return mapping.lookup(op.getOperand(i)); };
    if (auto math = dyn_cast<kernel::MathOp>(op))
      mapping.map(math.getResult(), this->math(math.getFunction(),
                                               math.getAccuracy(), mapped(0)));
    else if (isa<arith::ExtFOp>(op))
      mapping.map(op.getResult(0),
                  widen(*this, mapped(0), op.getResult(0).getType()));
    else if (isa<arith::TruncFOp>(op))
      mapping.map(op.getResult(0), round(mapped(0), op.getResult(0).getType()));
    else if (computesInSmallFloats(op))
      cloneInF32(*this, op, mapping);
    else
      clone(op, mapping);
  }
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookup(value); });
}
