// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The scalar builder that emits arith and LLVM ops.

#ifndef EPIFOLD_BACKENDS_PTX_ARITHSCALARBUILDER_H
#define EPIFOLD_BACKENDS_PTX_ARITHSCALARBUILDER_H

#include "ir/numerics/ScalarBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace epifold::ptx {

/// The scalar builder of one compute type; see ir/numerics/ScalarBuilder.h.
class ArithScalarBuilder {
public:
  using Value = mlir::Value;
  using IntValue = mlir::Value;
  using Bool = mlir::Value;

  ArithScalarBuilder(mlir::ImplicitLocOpBuilder &b, mlir::Type type)
      : b(b), type(type),
        intType(b.getIntegerType(type.getIntOrFloatBitWidth())) {}

  bool isDouble() const { return type.isF64(); }
  Value constant(double value) {
    return mlir::arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value intConstant(int64_t value) {
    return mlir::arith::ConstantOp::create(
        b, mlir::IntegerAttr::get(
               intType, mlir::APInt(intType.getWidth(), value, false, true)));
  }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value sqrt(Value x) { return mlir::LLVM::SqrtOp::create(b, x); }
  Value fma(Value x, Value y, Value z) {
    return mlir::LLVM::FMAOp::create(b, x, y, z);
  }
  Value fmaSaturated(Value x, Value y, Value z) {
    return mlir::LLVM::CallIntrinsicOp::create(
               b, type, b.getStringAttr("llvm.nvvm.fma.rn.sat.f"),
               mlir::ValueRange{x, y, z})
        .getResult(0);
  }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, x); }
  Value abs(Value x) { return mlir::LLVM::FAbsOp::create(b, x); }
  // sm_80 has a NaN-keeping minimum for f32 only.
  Value minimum(Value x, Value c) {
    if (isDouble())
      return select(lt(c, x), c, x);
    return mlir::arith::MinimumFOp::create(b, x, c);
  }
  Value maximum(Value x, Value c) {
    if (isDouble())
      return select(lt(x, c), c, x);
    return mlir::arith::MaximumFOp::create(b, x, c);
  }
  Bool lt(Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OLT, x,
                                       y);
  }
  Bool isNaN(Value x) {
    return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::UNO, x,
                                       x);
  }
  Value select(Bool condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, condition, x, y);
  }
  IntValue bitcastToInt(Value x) {
    return mlir::arith::BitcastOp::create(b, intType, x);
  }
  Value bitcastToFloat(IntValue x) {
    return mlir::arith::BitcastOp::create(b, type, x);
  }
  IntValue intAdd(IntValue x, IntValue y) {
    return mlir::arith::AddIOp::create(b, x, y);
  }
  IntValue intSub(IntValue x, IntValue y) {
    return mlir::arith::SubIOp::create(b, x, y);
  }
  IntValue intAnd(IntValue x, IntValue y) {
    return mlir::arith::AndIOp::create(b, x, y);
  }
  IntValue intShl(IntValue x, unsigned bits) {
    return mlir::arith::ShLIOp::create(b, x, intConstant(bits));
  }
  IntValue intShr(IntValue x, unsigned bits) {
    return mlir::arith::ShRSIOp::create(b, x, intConstant(bits));
  }
  // ptxas makes one multiply-add of it.
  IntValue intSubShifted(IntValue x, IntValue y, unsigned bits) {
    return intSub(x, intShl(y, bits));
  }

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
  mlir::IntegerType intType;
};
static_assert(numerics::ScalarBuilder<ArithScalarBuilder>);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ARITHSCALARBUILDER_H
