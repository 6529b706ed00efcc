// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Takes the kernel of a launch apart and emits its blocks in another.

#include "backends/ptx/persistent/LaunchPhase.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

LaunchPhase::LaunchPhase(DestinationStyleOpInterface op, KernelSource source)
    : op(op), source(std::move(source)) {
  function = *this->source.module->getOps<LLVM::LLVMFuncOp>().begin();
  replace<NVVM::BlockIdXOp>(0, ids);
  replace<NVVM::BlockIdYOp>(1, ids);
  replace<NVVM::BlockIdZOp>(2, ids);
  replace<NVVM::GridDimXOp>(0, gridSizes);
  replace<NVVM::GridDimYOp>(1, gridSizes);
  replace<NVVM::GridDimZOp>(2, gridSizes);
  replaceShared();
}

int64_t LaunchPhase::getThreads() const {
  auto [x, y, z] = source.description.block;
  return x * y * z;
}

template <typename Op>
void LaunchPhase::replace(unsigned dim,
                          SmallVector<std::pair<Value, unsigned>> &arguments) {
  function.walk([&](Op read) {
    Value argument =
        function.front().addArgument(read.getType(), function.getLoc());
    read.getResult().replaceAllUsesWith(argument);
    arguments.push_back({argument, dim});
    read.erase();
  });
}

/// Lays the shared arrays out one after the other.
void LaunchPhase::replaceShared() {
  llvm::StringMap<int64_t> offsets;
  for (auto array : source.module->getOps<LLVM::GlobalOp>()) {
    auto type = cast<LLVM::LLVMArrayType>(array.getType());
    bool isDynamic = type.getNumElements() == 0;
    sharedBytes = llvm::alignTo(
        sharedBytes, array.getAlignment().value_or(kSharedAlignment));
    offsets[array.getSymName()] = sharedBytes;
    sharedBytes +=
        isDynamic ? source.description.dynamicSharedBytes
                  : type.getNumElements() *
                        (type.getElementType().getIntOrFloatBitWidth() / 8);
  }
  function.walk([&](LLVM::AddressOfOp address) {
    Value argument =
        function.front().addArgument(address.getType(), function.getLoc());
    address.getResult().replaceAllUsesWith(argument);
    sharedOffsets.push_back({argument, offsets[address.getGlobalName()]});
    address.erase();
  });
}

void LaunchPhase::setKernelThreads(int64_t threads) {
  isNarrow = getThreads() < threads;
  if (!isNarrow)
    return;
  // Barrier 0 is the one of all threads.
  constexpr int64_t kBarrier = 1;
  auto builder =
      ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &function.front());
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  };
  Value id = constant(kBarrier), count = constant(getThreads());
  function.walk([&](NVVM::BarrierOp barrier) {
    barrier.getBarrierIdMutable().assign(id);
    barrier.getNumberOfThreadsMutable().assign(count);
  });
}

void LaunchPhase::emit(KernelBuilder &b, const Block &block) {
  IRMapping mapping;
  for (auto [argument, value] :
       llvm::zip(function.getArguments(), block.parameters))
    mapping.map(argument, value);
  for (auto [argument, dim] : ids)
    mapping.map(argument, block.id[dim]);
  for (auto [argument, dim] : gridSizes)
    mapping.map(argument, block.gridSize[dim]);
  for (auto [argument, offset] : sharedOffsets)
    mapping.map(argument,
                b.elementPointer(block.shared, b.getI8Type(), b.i64(offset)));
  auto clone = [&] {
    for (Operation &op : function.front().without_terminator())
      b.clone(op, mapping);
  };
  if (isNarrow)
    b.ifThen(b.lt(b.threadId(), b.i32(getThreads())), clone);
  else
    clone();
}
