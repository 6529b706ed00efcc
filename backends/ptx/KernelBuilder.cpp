// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel's frame: function, parameters, launch shape, integers and control
// flow.

#include "backends/ptx/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// NVPTX's address space of device memory.
static constexpr unsigned kGlobalSpace = 1;
/// Size and alignment of the driver's tensor maps.
static constexpr int64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

KernelBuilder::KernelBuilder(Operation *op, llvm::StringRef entry,
                             std::array<int64_t, 3> block, bool usesStatus)
    : ImplicitLocOpBuilder(op->getLoc(), op->getContext()), op(op),
      mathMode(kernel::getMathMode(op)),
      module(ModuleOp::create(op->getLoc())) {
  description.entry = entry.str();
  description.block = block;
  setGrid(gridConstant(1));

  Type pointerType = LLVM::LLVMPointerType::get(getContext(), kGlobalSpace);
  SmallVector<Type> types;
  auto addParameter = [&](Type type, KernelParameter parameter) {
    types.push_back(type);
    description.parameters.push_back(parameter);
  };
  for (unsigned operand : llvm::seq(op->getNumOperands()))
    addParameter(pointerType, {KernelParameter::Kind::Operand, operand, 0});
  for (unsigned operand : llvm::seq(op->getNumOperands()))
    for (auto [dim, size] : llvm::enumerate(tensorType(operand).getShape()))
      if (ShapedType::isDynamic(size))
        addParameter(getI64Type(),
                     {KernelParameter::Kind::Dim, operand, unsigned(dim)});
  bool hasGroup = op->hasAttr("group");
  if (hasGroup)
    addParameter(getI64Type(), {KernelParameter::Kind::Group, 0, 0});
  if (usesStatus)
    addParameter(pointerType, {KernelParameter::Kind::Status, 0, 0});

  setInsertionPointToStart(module->getBody());
  function = LLVM::LLVMFuncOp::create(
      *this, entry,
      LLVM::LLVMFunctionType::get(getType<LLVM::LLVMVoidType>(), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    getDenseI32ArrayAttr({int32_t(block[0]), int32_t(block[1]),
                                          int32_t(block[2])}));
  setInsertionPointToStart(function.addEntryBlock(*this));

  for (auto [parameter, value] :
       llvm::zip(description.parameters, function.getArguments())) {
    switch (parameter.kind) {
    case KernelParameter::Kind::Operand:
      pointers.push_back(value);
      break;
    case KernelParameter::Kind::Dim:
      dims.push_back({{parameter.operand, parameter.dim}, value});
      break;
    case KernelParameter::Kind::Group:
      groupParameter = value;
      break;
    case KernelParameter::Kind::Status:
      statusParameter = value;
      break;
    case KernelParameter::Kind::TensorMap:
    case KernelParameter::Kind::Symbol:
      llvm_unreachable("these are added later");
    }
  }
}

KernelSource KernelBuilder::finish() {
  LLVM::ReturnOp::create(*this, ValueRange());
  // Sizes may have been asked for since the grid was set.
  description.grid =
      AffineMap::get(0, description.gridDims.size(),
                     description.grid.getResults(), getContext());
  return {std::move(module), std::move(description)};
}

void KernelBuilder::setMinBlocksPerProcessor(int64_t count) {
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    getI32IntegerAttr(int32_t(count)));
}

//===--- Launch shape
//----------------------------------------------------------------------------------------------===//

AffineExpr KernelBuilder::gridSymbolFor(std::pair<unsigned, unsigned> size) {
  auto *known = llvm::find(description.gridDims, size);
  unsigned symbol = known - description.gridDims.begin();
  if (known == description.gridDims.end())
    description.gridDims.push_back(size);
  return getAffineSymbolExpr(symbol);
}

AffineExpr KernelBuilder::gridSize(unsigned operand, unsigned dim) {
  int64_t size = tensorType(operand).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return getAffineConstantExpr(size);
  return gridSymbolFor({operand, dim});
}

AffineExpr KernelBuilder::gridSymbol(unsigned number) {
  return gridSymbolFor({EmittedKernel::kFunction, number});
}

void KernelBuilder::setGrid(AffineExpr x, AffineExpr y, AffineExpr z) {
  AffineExpr one = getAffineConstantExpr(1);
  description.grid =
      AffineMap::get(0, description.gridDims.size(),
                     {x, y ? y : one, z ? z : one}, getContext());
}

template <typename X, typename Y, typename Z>
static Value readRegister(KernelBuilder &b, unsigned dim) {
  if (dim == 0)
    return X::create(b, b.getI32Type());
  if (dim == 1)
    return Y::create(b, b.getI32Type());
  return Z::create(b, b.getI32Type());
}

Value KernelBuilder::threadId(unsigned dim) {
  return readRegister<NVVM::ThreadIdXOp, NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>(
      *this, dim);
}
Value KernelBuilder::blockId(unsigned dim) {
  return readRegister<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>(
      *this, dim);
}
Value KernelBuilder::gridDim(unsigned dim) {
  return readRegister<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>(
      *this, dim);
}

void KernelBuilder::setSizeLimit(AffineExpr size, int64_t most) {
  description.limitedSize = size;
  description.sizeLimit = most;
}

//===--- Parameters
//------------------------------------------------------------------------------------------------===//

/// Adds an argument to the function.
Value KernelBuilder::addArgument(Type type, DictionaryAttr attributes) {
  SmallVector<Type> types(function.getArgumentTypes());
  types.push_back(type);
  SmallVector<Attribute> allAttributes(types.size(), getDictionaryAttr({}));
  if (ArrayAttr known = function.getAllArgAttrs())
    llvm::copy(known, allAttributes.begin());
  allAttributes.back() = attributes;
  function.setFunctionType(
      LLVM::LLVMFunctionType::get(getType<LLVM::LLVMVoidType>(), types));
  Value argument = function.front().addArgument(type, getLoc());
  function.setAllArgAttrs(allAttributes);
  return argument;
}

Value KernelBuilder::tensorMap(TensorMap map) {
  assert(map.sizes.size() == map.box.size() &&
         map.strides.size() + 1 == map.box.size() &&
         "every dimension has a size and a box, all but one a stride");
  auto bytes = LLVM::LLVMArrayType::get(getI8Type(), kTensorMapBytes);
  Value pointer = addArgument(
      LLVM::LLVMPointerType::get(getContext()),
      getDictionaryAttr(
          {getNamedAttr(LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(bytes)),
           getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(),
                        getI64IntegerAttr(kTensorMapAlignment)),
           getNamedAttr(NVVM::NVVMDialect::getGridConstantAttrName(),
                        getUnitAttr())}));
  KernelParameter parameter{KernelParameter::Kind::TensorMap};
  parameter.map = description.tensorMaps.size();
  description.parameters.push_back(parameter);
  description.tensorMaps.push_back(std::move(map));
  return pointer;
}

RankedTensorType KernelBuilder::tensorType(unsigned operand) const {
  return cast<RankedTensorType>(op->getOperand(operand).getType());
}

Value KernelBuilder::size(unsigned operand, unsigned dim) {
  int64_t size = tensorType(operand).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return i64(size);
  return llvm::find_if(dims,
                       [&](auto &entry) {
                         return entry.first == std::pair(operand, dim);
                       })
      ->second;
}

Value KernelBuilder::symbol(unsigned number) {
  Value &value = symbols[number];
  if (value)
    return value;
  value = addArgument(getI64Type(), getDictionaryAttr({}));
  description.parameters.push_back({KernelParameter::Kind::Symbol, 0, number});
  return value;
}

Value KernelBuilder::stride(unsigned operand, unsigned dim) {
  return sizeProduct(operand, dim + 1, tensorType(operand).getRank());
}

Value KernelBuilder::sizeProduct(unsigned operand, unsigned first,
                                 unsigned last) {
  Value product = i64(1);
  for (unsigned dim : llvm::seq(first, last))
    product = mul(product, size(operand, dim));
  return product;
}

//===--- Integers
//--------------------------------------------------------------------------------------------------===//

Value KernelBuilder::i1(bool value) {
  return arith::ConstantOp::create(*this, getBoolAttr(value));
}
Value KernelBuilder::i32(int64_t value) { return integer(getI32Type(), value); }
Value KernelBuilder::i64(int64_t value) { return integer(getI64Type(), value); }
Value KernelBuilder::integer(Type type, int64_t value) {
  return arith::ConstantOp::create(*this, getIntegerAttr(type, value));
}
Value KernelBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value KernelBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value KernelBuilder::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b);
}
Value KernelBuilder::div(Value a, Value b) {
  return createOrFold<arith::DivUIOp>(a, b);
}
Value KernelBuilder::rem(Value a, Value b) {
  return createOrFold<arith::RemUIOp>(a, b);
}
Value KernelBuilder::ceilDiv(Value a, int64_t b) {
  return div(add(a, integer(a.getType(), b - 1)), integer(a.getType(), b));
}
Value KernelBuilder::bitAnd(Value a, Value b) {
  return createOrFold<arith::AndIOp>(a, b);
}
Value KernelBuilder::bitOr(Value a, Value b) {
  return createOrFold<arith::OrIOp>(a, b);
}
Value KernelBuilder::bitXor(Value a, Value b) {
  return createOrFold<arith::XOrIOp>(a, b);
}
Value KernelBuilder::shiftLeft(Value a, int64_t bits) {
  return createOrFold<arith::ShLIOp>(a, integer(a.getType(), bits));
}
Value KernelBuilder::shiftRight(Value a, int64_t bits) {
  return createOrFold<arith::ShRUIOp>(a, integer(a.getType(), bits));
}
Value KernelBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}
Value KernelBuilder::max(Value a, Value b) {
  return createOrFold<arith::MaxSIOp>(a, b);
}
Value KernelBuilder::lt(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}
Value KernelBuilder::le(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, a, b);
}
Value KernelBuilder::eq(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}
Value KernelBuilder::ne(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, a, b);
}
Value KernelBuilder::logicalAnd(Value a, Value b) { return bitAnd(a, b); }
Value KernelBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}
Value KernelBuilder::toI64(Value value) {
  return value.getType().isInteger(64)
             ? value
             : createOrFold<arith::ExtSIOp>(getI64Type(), value);
}
Value KernelBuilder::toI32(Value value) {
  return value.getType().isInteger(32)
             ? value
             : createOrFold<arith::TruncIOp>(getI32Type(), value);
}

//===--- Control
//---------------------------------------------------------------------------------------------------===//

KernelBuilder::Values
KernelBuilder::forLoop(Value lower, Value upper, Value step, ValueRange inits,
                       llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, lower, upper, step, inits);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(*this, next);
  return Values(loop.getResults());
}

void KernelBuilder::forLoop(Value lower, Value upper, Value step,
                            llvm::function_ref<void(Value)> body) {
  forLoop(lower, upper, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

KernelBuilder::Values
KernelBuilder::whileLoop(ValueRange inits,
                         llvm::function_ref<Value(ValueRange)> condition,
                         llvm::function_ref<Values(ValueRange)> body) {
  auto loop = scf::WhileOp::create(
      *this, inits.getTypes(), inits, [&](OpBuilder &, Location, ValueRange) {},
      [&](OpBuilder &, Location, ValueRange) {});
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBeforeBody());
  ValueRange carried = loop.getBeforeArguments();
  Value goesOn = condition(carried);
  scf::ConditionOp::create(*this, goesOn, carried);
  setInsertionPointToStart(loop.getAfterBody());
  Values next = body(loop.getAfterArguments());
  scf::YieldOp::create(*this, next);
  return Values(loop.getResults());
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

KernelBuilder::Values
KernelBuilder::ifElse(Value condition, llvm::function_ref<Values()> then,
                      llvm::function_ref<Values()> otherwise) {
  // The result types are those of the first branch, which is built before the
  // op that will hold it.
  Block thenBlock, elseBlock;
  Values thenValues, elseValues;
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&thenBlock);
    thenValues = then();
    scf::YieldOp::create(*this, thenValues);
    setInsertionPointToStart(&elseBlock);
    elseValues = otherwise();
    scf::YieldOp::create(*this, elseValues);
  }
  auto branch = scf::IfOp::create(*this, TypeRange(ValueRange(thenValues)),
                                  condition, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  auto fill = [](Block *target, Block &built) {
    target->getOperations().splice(target->end(), built.getOperations());
  };
  branch.thenBlock()->clear();
  branch.elseBlock()->clear();
  fill(branch.thenBlock(), thenBlock);
  fill(branch.elseBlock(), elseBlock);
  return Values(branch.getResults());
}
