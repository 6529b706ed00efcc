// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Instantiates the portable functions with a scalar builder that emits arith
// ops.

#include "backends/ptx/MathExpansion.h"

#include "ir/numerics/PortableMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace epifold;

namespace {
/// The scalar builder of one compute type; see ir/numerics/ScalarBuilder.h.
class ArithScalarBuilder {
public:
  using Value = mlir::Value;
  using IntValue = mlir::Value;
  using Bool = mlir::Value;

  ArithScalarBuilder(ImplicitLocOpBuilder &b, Type type)
      : b(b), type(type),
        intType(b.getIntegerType(type.getIntOrFloatBitWidth())) {}

  bool isDouble() const { return type.isF64(); }
  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value intConstant(int64_t value) {
    return arith::ConstantOp::create(
        b, IntegerAttr::get(intType,
                            APInt(intType.getWidth(), value, false, true)));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value sqrt(Value x) { return LLVM::SqrtOp::create(b, x); }
  Value fma(Value x, Value y, Value z) {
    return LLVM::FMAOp::create(b, x, y, z);
  }
  Value fmaSaturated(Value x, Value y, Value z) {
    return LLVM::CallIntrinsicOp::create(
               b, type, b.getStringAttr("llvm.nvvm.fma.rn.sat.f"),
               ValueRange{x, y, z})
        .getResult(0);
  }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value abs(Value x) { return LLVM::FAbsOp::create(b, x); }
  // sm_80 has a NaN-keeping minimum for f32 only.
  Value minimum(Value x, Value c) {
    if (isDouble())
      return select(lt(c, x), c, x);
    return arith::MinimumFOp::create(b, x, c);
  }
  Value maximum(Value x, Value c) {
    if (isDouble())
      return select(lt(x, c), c, x);
    return arith::MaximumFOp::create(b, x, c);
  }
  Bool lt(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  }
  Bool isNaN(Value x) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  }
  Value select(Bool condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  IntValue bitcastToInt(Value x) {
    return arith::BitcastOp::create(b, intType, x);
  }
  Value bitcastToFloat(IntValue x) {
    return arith::BitcastOp::create(b, type, x);
  }
  IntValue intAdd(IntValue x, IntValue y) {
    return arith::AddIOp::create(b, x, y);
  }
  IntValue intSub(IntValue x, IntValue y) {
    return arith::SubIOp::create(b, x, y);
  }
  IntValue intAnd(IntValue x, IntValue y) {
    return arith::AndIOp::create(b, x, y);
  }
  IntValue intShl(IntValue x, unsigned bits) {
    return arith::ShLIOp::create(b, x, intConstant(bits));
  }
  IntValue intShr(IntValue x, unsigned bits) {
    return arith::ShRSIOp::create(b, x, intConstant(bits));
  }
  // ptxas makes one multiply-add of it.
  IntValue intSubShifted(IntValue x, IntValue y, unsigned bits) {
    return intSub(x, intShl(y, bits));
  }

private:
  ImplicitLocOpBuilder &b;
  Type type;
  IntegerType intType;
};
} // namespace

static_assert(numerics::ScalarBuilder<ArithScalarBuilder>);

static numerics::UnaryFunction toNumerics(kernel::MathFunction function) {
  switch (function) {
  case kernel::MathFunction::Exp:
    return numerics::UnaryFunction::Exp;
  case kernel::MathFunction::Log:
    return numerics::UnaryFunction::Log;
  case kernel::MathFunction::Erf:
    return numerics::UnaryFunction::Erf;
  case kernel::MathFunction::Tanh:
    return numerics::UnaryFunction::Tanh;
  case kernel::MathFunction::Sigmoid:
    return numerics::UnaryFunction::Sigmoid;
  case kernel::MathFunction::Silu:
    return numerics::UnaryFunction::Silu;
  case kernel::MathFunction::GeluErf:
    return numerics::UnaryFunction::GeluErf;
  case kernel::MathFunction::GeluTanh:
    return numerics::UnaryFunction::GeluTanh;
  case kernel::MathFunction::Rsqrt:
    return numerics::UnaryFunction::Rsqrt;
  case kernel::MathFunction::Sqrt:
    return numerics::UnaryFunction::Sqrt;
  }
  llvm_unreachable("every function is listed");
}

static numerics::Accuracy toNumerics(kernel::Accuracy accuracy) {
  switch (accuracy) {
  case kernel::Accuracy::BF16:
    return numerics::Accuracy::BF16;
  case kernel::Accuracy::F32:
    return numerics::Accuracy::F32;
  case kernel::Accuracy::F64:
    return numerics::Accuracy::F64;
  }
  llvm_unreachable("every accuracy is listed");
}

Value ptx::expandMath(OpBuilder &builder, Location loc,
                      kernel::MathFunction function, kernel::Accuracy accuracy,
                      Value input) {
  ImplicitLocOpBuilder b(loc, builder);
  ArithScalarBuilder scalar(b, input.getType());
  return numerics::applyUnary(scalar, toNumerics(function), input,
                              toNumerics(accuracy));
}
