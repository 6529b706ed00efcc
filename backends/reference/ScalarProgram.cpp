// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles a region's scalar ops to a register program.

#include "backends/reference/ScalarProgram.h"

#include "backends/reference/Frame.h"
#include "backends/reference/Relation.h"
#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace epifold;
using namespace epifold::reference;
namespace arith = mlir::arith;

static uint8_t getAccepted(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return 0;
  case P::OEQ:
    return Equal;
  case P::OGT:
    return Greater;
  case P::OGE:
    return Greater | Equal;
  case P::OLT:
    return Less;
  case P::OLE:
    return Less | Equal;
  case P::ONE:
    return Less | Greater;
  case P::ORD:
    return Less | Greater | Equal;
  case P::UEQ:
    return Unordered | Equal;
  case P::UGT:
    return Unordered | Greater;
  case P::UGE:
    return Unordered | Greater | Equal;
  case P::ULT:
    return Unordered | Less;
  case P::ULE:
    return Unordered | Less | Equal;
  case P::UNE:
    return Unordered | Less | Greater;
  case P::UNO:
    return Unordered;
  case P::AlwaysTrue:
    return Unordered | Less | Greater | Equal;
  }
  llvm_unreachable("unknown predicate");
}

/// Relations a signed or equality predicate accepts; nothing for an unsigned
/// one.
static std::optional<uint8_t> getAccepted(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return Equal;
  case P::ne:
    return Less | Greater;
  case P::slt:
    return Less;
  case P::sle:
    return Less | Equal;
  case P::sgt:
    return Greater;
  case P::sge:
    return Greater | Equal;
  default:
    return std::nullopt;
  }
}

/// `index` is as wide as an offset.
static std::optional<ElementType> getRegisterType(mlir::Type type) {
  return type.isIndex() ? ElementType::I64 : getElementType(type);
}

class ScalarProgram::Compiler {
public:
  llvm::Expected<ScalarProgram> compile(mlir::Block &block) {
    for (mlir::Value argument : block.getArguments()) {
      if (!getRegisterType(argument.getType()))
        return makeError(
            block.getParentOp(),
            "has a region argument that is no scalar of these dialects");
      makeRegister(argument);
    }
    program.numInputs = program.types.size();
    for (mlir::Operation &op : block.without_terminator())
      if (llvm::Error error = add(&op))
        return error;
    for (mlir::Value value : block.getTerminator()->getOperands())
      program.outputs.push_back(registers.at(value));
    return std::move(program);
  }

private:
  unsigned makeRegister(mlir::Value value) {
    program.types.push_back(*getRegisterType(value.getType()));
    return registers[value] = program.types.size() - 1;
  }

  llvm::Error add(mlir::Operation *op) {
    if (op->getNumResults() != 1 || op->getNumOperands() > 3 ||
        !getRegisterType(op->getResult(0).getType()))
      return makeError(op, "is not a scalar op that the reference knows");
    if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op)) {
      program.constants.push_back(
          {makeRegister(constant), getBits(constant.getValue())});
      return llvm::Error::success();
    }
    Instruction instruction;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto found = registers.find(operand);
      if (found == registers.end())
        return makeError(op, "uses a value from outside its region");
      instruction.operands[i] = found->second;
    }
    if (!select(op, instruction))
      return makeError(op, "is not a scalar op that the reference knows");
    if (llvm::Error error = checkTypes(op, instruction.code))
      return error;
    instruction.result = makeRegister(op->getResult(0));
    program.instructions.push_back(instruction);
    return llvm::Error::success();
  }

  static uint64_t getBits(mlir::Attribute value) {
    if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value))
      return number.getValue().bitcastToAPInt().getZExtValue();
    return llvm::cast<mlir::IntegerAttr>(value).getValue().getZExtValue();
  }

  /// Chooses the instruction; false for an op that has none.
  static bool select(mlir::Operation *op, Instruction &instruction) {
    auto is = [&](Code code) { return instruction.code = code, true; };
    return llvm::TypeSwitch<mlir::Operation *, bool>(op)
        .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
              arith::TruncIOp, arith::IndexCastOp, arith::SIToFPOp>(
            [&](auto) { return is(Code::Convert); })
        .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return is(Code::Add); })
        .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return is(Code::Sub); })
        .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return is(Code::Mul); })
        .Case([&](arith::DivFOp) { return is(Code::Div); })
        .Case([&](arith::NegFOp) { return is(Code::Neg); })
        .Case([&](mlir::math::AbsFOp) { return is(Code::Abs); })
        .Case([&](mlir::math::FmaOp) { return is(Code::Fma); })
        .Case([&](arith::MaximumFOp) { return is(Code::Maximum); })
        .Case([&](arith::MinimumFOp) { return is(Code::Minimum); })
        .Case([&](arith::AndIOp) { return is(Code::And); })
        .Case([&](arith::OrIOp) { return is(Code::Or); })
        .Case([&](arith::XOrIOp) { return is(Code::Xor); })
        .Case([&](arith::SelectOp) { return is(Code::Select); })
        .Case([&](arith::CmpFOp compare) {
          instruction.detail = getAccepted(compare.getPredicate());
          return is(Code::Compare);
        })
        .Case([&](arith::CmpIOp compare) {
          std::optional<uint8_t> accepted = getAccepted(compare.getPredicate());
          instruction.detail = accepted.value_or(0);
          return is(Code::Compare) && accepted.has_value();
        })
        .Case([&](kernel::MathOp math) {
          instruction.detail = static_cast<uint8_t>(math.getFunction());
          instruction.accuracy = static_cast<uint8_t>(math.getAccuracy());
          return is(Code::Math);
        })
        .Default(false);
  }

  static std::string describe(mlir::Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  /// Arithmetic happens in f32, f64 or integers; 16-bit floats are storage. A
  /// direct f64 → bf16 would round once where the contract rounds twice.
  static llvm::Error checkTypes(mlir::Operation *op, Code code) {
    auto isNarrow = [](mlir::Type type) {
      return type.isBF16() || type.isF16();
    };
    mlir::Type from = op->getOperand(0).getType(),
               to = op->getResult(0).getType();
    if (code == Code::Convert) {
      if (from.isF64() && isNarrow(to))
        return makeError(op, "rounds from f64 in one step; round to f32 first");
      if (llvm::isa<arith::SIToFPOp>(op) && isNarrow(to))
        return makeError(
            op, "makes a 16-bit float from an integer; make an f32 first");
      // Only a zero extension of an i1 is a copy of the byte that holds it.
      if (to.isInteger(1) || from.isInteger(1) != llvm::isa<arith::ExtUIOp>(op))
        return makeError(op, "converts " + describe(from) + " to " +
                                 describe(to) +
                                 ", which the reference does not know");
    } else if (code != Code::Select && isNarrow(from)) {
      return makeError(op,
                       "computes on 16-bit floats; extend them to f32 first");
    }
    return llvm::Error::success();
  }

  ScalarProgram program;
  llvm::DenseMap<mlir::Value, unsigned> registers;
};

llvm::Expected<ScalarProgram> ScalarProgram::compile(mlir::Block &block) {
  return Compiler().compile(block);
}

llvm::Expected<ScalarProgram>
ScalarProgram::build(graph::ElementwiseOpInterface op, bool isDouble) {
  mlir::OpBuilder builder(op->getContext());
  mlir::Type type = isDouble ? mlir::Type(builder.getF64Type())
                             : mlir::Type(builder.getF32Type());
  mlir::Block block;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    block.addArgument(type, op->getLoc());
  builder.setInsertionPointToStart(&block);
  mlir::Value result = op.buildScalar(builder, block.getArguments());
  kernel::YieldOp::create(builder, op->getLoc(), mlir::ValueRange(result));
  return compile(block);
}
