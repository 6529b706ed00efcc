// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel's memory accesses, barriers and warp shuffles.

#include "backends/ptx/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// NVPTX's address space of a block's shared memory.
static constexpr unsigned kSharedSpace = 3;
/// The widest access of one thread.
static constexpr int64_t kVectorBytes = 16;

/// i1 takes a byte in memory.
static Type storageType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}
static int64_t storageBytes(Type element) {
  return storageType(element).getIntOrFloatBitWidth() / 8;
}

Value KernelBuilder::elementPointer(Value base, Type element, Value offset) {
  return LLVM::GEPOp::create(*this, base.getType(), storageType(element), base,
                             ValueRange{offset});
}

Value KernelBuilder::load(Type element, Value pointer) {
  Value value = LLVM::LoadOp::create(*this, storageType(element), pointer);
  if (element.isInteger(1))
    return ne(value, integer(value.getType(), 0));
  return value;
}

void KernelBuilder::store(Value value, Value pointer) {
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(*this, storageType(value.getType()), value);
  LLVM::StoreOp::create(*this, value, pointer);
}

Value KernelBuilder::loadElement(unsigned operand, Value offset) {
  return load(elementType(operand),
              elementPointer(pointer(operand), elementType(operand), offset));
}

void KernelBuilder::storeElement(Value value, unsigned operand, Value offset) {
  store(value, elementPointer(pointer(operand), elementType(operand), offset));
}

KernelBuilder::Values KernelBuilder::loadVector(Type element, Value pointer,
                                                int64_t count) {
  if (count == 1)
    return {load(element, pointer)};
  Type storage = storageType(element);
  int64_t lanes = std::min(count, kVectorBytes / storageBytes(element));
  Values values;
  for (int64_t first = 0; first < count; first += lanes) {
    auto type = VectorType::get({lanes}, storage);
    Value vector = LLVM::LoadOp::create(
        *this, type, elementPointer(pointer, element, i64(first)),
        unsigned(lanes * storageBytes(element)));
    for (int64_t lane : llvm::seq(lanes)) {
      Value value = LLVM::ExtractElementOp::create(*this, vector, i32(lane));
      values.push_back(element.isInteger(1) ? ne(value, integer(storage, 0))
                                            : value);
    }
  }
  return values;
}

void KernelBuilder::storeVector(ValueRange values, Value pointer) {
  if (values.size() == 1)
    return store(values.front(), pointer);
  Type element = values.front().getType(), storage = storageType(element);
  int64_t count = values.size(),
          lanes = std::min(count, kVectorBytes / storageBytes(element));
  for (int64_t first = 0; first < count; first += lanes) {
    Value vector =
        LLVM::UndefOp::create(*this, VectorType::get({lanes}, storage));
    for (int64_t lane : llvm::seq(lanes)) {
      Value value = values[first + lane];
      if (element.isInteger(1))
        value = arith::ExtUIOp::create(*this, storage, value);
      vector = LLVM::InsertElementOp::create(*this, vector, value, i32(lane));
    }
    LLVM::StoreOp::create(*this, vector,
                          elementPointer(pointer, element, i64(first)),
                          unsigned(lanes * storageBytes(element)));
  }
}

//===--- Shared memory
//---------------------------------------------------------------------------------------------===//

static Value addressOfShared(KernelBuilder &b, ModuleOp module,
                             llvm::StringRef name, Type element, int64_t count,
                             LLVM::Linkage linkage, uint64_t alignment) {
  auto type = LLVM::LLVMArrayType::get(element, count);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Attribute init;
    if (linkage == LLVM::Linkage::Internal)
      init = LLVM::UndefAttr::get(b.getContext());
    LLVM::GlobalOp::create(b, type, /*isConstant=*/false, linkage, name, init,
                           alignment, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), name);
}

Value KernelBuilder::sharedArray(Type element, int64_t count) {
  std::string name = "shared" + std::to_string(sharedArrays++);
  return addressOfShared(*this, *module, name, storageType(element), count,
                         LLVM::Linkage::Internal, kVectorBytes);
}

Value KernelBuilder::dynamicShared(int64_t bytes, int64_t alignment) {
  description.dynamicSharedBytes = bytes;
  return addressOfShared(*this, *module, "dynamicShared", getI8Type(), 0,
                         LLVM::Linkage::External, alignment);
}

void KernelBuilder::barrier() { NVVM::BarrierOp::create(*this); }
void KernelBuilder::waitForPrevious() {
  NVVM::GriddepcontrolOp::create(*this, NVVM::GridDepActionKind::wait);
  // Once every block is past the wait the next launch may start: blocks of two
  // launches at most are resident.
  NVVM::GriddepcontrolOp::create(*this,
                                 NVVM::GridDepActionKind::launch_dependents);
  description.overlapsPrevious = true;
}

bool KernelBuilder::isSettled(unsigned operand) const {
  auto settled = op->getAttrOfType<DenseI64ArrayAttr>(kernel::kSettledAttrName);
  return settled && llvm::is_contained(settled.asArrayRef(), int64_t(operand));
}

void KernelBuilder::syncWarp() { NVVM::SyncWarpOp::create(*this, i32(-1)); }

//===--- Warp communication
//----------------------------------------------------------------------------------------===//

Value KernelBuilder::shuffle(Value value, Value lane, Attribute kind,
                             int64_t clamp) {
  Type type = value.getType();
  if (type.getIntOrFloatBitWidth() == 64) {
    auto pair = VectorType::get({2}, getI32Type());
    Value halves = LLVM::BitcastOp::create(*this, pair, value);
    Value result = LLVM::UndefOp::create(*this, pair);
    for (int64_t half : {0, 1}) {
      Value moved =
          shuffle(LLVM::ExtractElementOp::create(*this, halves, i32(half)),
                  lane, kind, clamp);
      result = LLVM::InsertElementOp::create(*this, result, moved, i32(half));
    }
    return LLVM::BitcastOp::create(*this, type, result);
  }
  return NVVM::ShflOp::create(*this, type, i32(-1), value, lane, i32(clamp),
                              cast<NVVM::ShflKindAttr>(kind), UnitAttr());
}

Value KernelBuilder::shuffleXor(Value value, int64_t mask) {
  return shuffle(value, i32(mask),
                 NVVM::ShflKindAttr::get(getContext(), NVVM::ShflKind::bfly),
                 31);
}
Value KernelBuilder::shuffleUp(Value value, int64_t delta) {
  return shuffle(value, i32(delta),
                 NVVM::ShflKindAttr::get(getContext(), NVVM::ShflKind::up), 0);
}
Value KernelBuilder::shuffleDown(Value value, int64_t delta) {
  return shuffle(value, i32(delta),
                 NVVM::ShflKindAttr::get(getContext(), NVVM::ShflKind::down),
                 31);
}
Value KernelBuilder::shuffleFrom(Value value, Value lane) {
  return shuffle(value, lane,
                 NVVM::ShflKindAttr::get(getContext(), NVVM::ShflKind::idx),
                 31);
}
Value KernelBuilder::ballot(Value predicate) {
  return NVVM::VoteSyncOp::create(*this, getI32Type(), i32(-1), predicate,
                                  NVVM::VoteSyncKind::ballot);
}
