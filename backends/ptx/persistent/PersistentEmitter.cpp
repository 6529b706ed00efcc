// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits several launches as one: the blocks of the launch take turns as blocks
// of the launches inside, with barriers of the whole grid between them.

#include "backends/ptx/IndexExpressions.h"
#include "backends/ptx/persistent/GridBarrier.h"
#include "backends/ptx/persistent/LaunchPhase.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
/// Threads of a block, unless a launch inside needs more.
constexpr int64_t kThreads = 256;
/// Threads that a multiprocessor is to hold. They keep memory busy, and 64
/// registers each are enough for all that works row by row.
constexpr int64_t kThreadsPerProcessor = 1024;
/// The same where a product is inside, whose accumulators are in registers, or
/// numbers of two registers each.
constexpr int64_t kWideThreadsPerProcessor = 512;

class PersistentEmitter {
public:
  /// `phases` are the launches inside.
  PersistentEmitter(kernel::PersistentOp op,
                    MutableArrayRef<LaunchPhase> phases)
      : op(op), phases(phases), threads(countThreads(phases)),
        b(op, "persistent", {threads, 1, 1}, /*usesStatus=*/true) {}

  KernelSource emit();

private:
  static int64_t countThreads(ArrayRef<LaunchPhase> phases);
  bool needsBarrier(DestinationStyleOpInterface inner);
  void shareMemory();
  void emitPhase(LaunchPhase &phase);
  void emitBlock(LaunchPhase &phase, Value number, ArrayRef<Value> grid);

  Value overSymbols(AffineExpr expr);
  Value pointerTo(Value tensor);
  Value sizeOf(Value tensor, unsigned dim);
  AffineExpr gridSizeOf(Value tensor, unsigned dim);
  Value argumentOf(DestinationStyleOpInterface inner,
                   const KernelParameter &parameter);

  kernel::PersistentOp op;
  MutableArrayRef<LaunchPhase> phases;
  int64_t threads;
  KernelBuilder b;
  Value shared; ///< Of all launches: one at a time uses it.
  /// Buffers that launches since the last barrier wrote, and read.
  llvm::SmallDenseSet<Value> written, read;
  /// i32 blocks that launches since the last barrier have.
  Value blocksBefore;
  AffineExpr allBlocks;
  bool hasBarrier = false;
};
} // namespace

int64_t PersistentEmitter::countThreads(ArrayRef<LaunchPhase> phases) {
  int64_t most = kThreads;
  for (const LaunchPhase &phase : phases)
    most = std::max(most, phase.getThreads());
  return most;
}

//===--- Sizes and places
//------------------------------------------------------------------------------------------===//

/// i64 value of an expression over the function's symbols.
Value PersistentEmitter::overSymbols(AffineExpr expr) {
  SmallVector<AffineExpr> dims;
  SmallVector<Value> values;
  unsigned symbols = 0;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  for (unsigned i : llvm::seq(symbols)) {
    dims.push_back(b.getAffineDimExpr(i));
    values.push_back(expr.isFunctionOfSymbol(i) ? b.symbol(i) : Value());
  }
  return evaluate(b, expr.replaceSymbols(dims), values);
}

/// Pointer to the first element of a tensor of the region.
Value PersistentEmitter::pointerTo(Value tensor) {
  tensor = kernel::getDestination(tensor);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return b.pointer(argument.getArgNumber());
  auto view = tensor.getDefiningOp<kernel::ViewOp>();
  Value input = pointerTo(view.getInput());
  Value offset = overSymbols(view.getOffset().getResult(0));
  if (matchPattern(offset, m_Zero()))
    return input;
  return b.elementPointer(
      input, cast<ShapedType>(tensor.getType()).getElementType(), offset);
}

/// i64 size, and the same as the host sees it.
Value PersistentEmitter::sizeOf(Value tensor, unsigned dim) {
  int64_t size = cast<ShapedType>(tensor.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return b.i64(size);
  tensor = kernel::getDestination(tensor);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return b.size(argument.getArgNumber(), dim);
  return overSymbols(
      tensor.getDefiningOp<kernel::ViewOp>().getSizes().getResult(dim));
}

AffineExpr PersistentEmitter::gridSizeOf(Value tensor, unsigned dim) {
  tensor = kernel::getDestination(tensor);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return b.gridSize(argument.getArgNumber(), dim);
  AffineMap sizes = tensor.getDefiningOp<kernel::ViewOp>().getSizes();
  SmallVector<AffineExpr> symbols;
  for (unsigned i : llvm::seq(sizes.getNumSymbols()))
    symbols.push_back(b.gridSymbol(i));
  return sizes.getResult(dim).replaceSymbols(symbols);
}

Value PersistentEmitter::argumentOf(DestinationStyleOpInterface inner,
                                    const KernelParameter &parameter) {
  switch (parameter.kind) {
  case KernelParameter::Kind::Operand:
    return pointerTo(inner->getOperand(parameter.operand));
  case KernelParameter::Kind::Dim:
    return sizeOf(inner->getOperand(parameter.operand), parameter.dim);
  case KernelParameter::Kind::Group:
    return b.i64(inner->getAttrOfType<IntegerAttr>("group").getInt());
  case KernelParameter::Kind::Status:
    return b.status();
  case KernelParameter::Kind::Symbol:
    return b.symbol(parameter.dim);
  case KernelParameter::Kind::TensorMap:
    break;
  }
  llvm_unreachable("no launch inside takes a tensor map");
}

//===--- Launches inside
//-------------------------------------------------------------------------------------------===//

/// Whether `inner` reads or writes what a launch since the last barrier wrote,
/// or writes what one read; notes what it does itself.
bool PersistentEmitter::needsBarrier(DestinationStyleOpInterface inner) {
  auto bufferOf = [](Value tensor) {
    tensor = kernel::getDestination(tensor);
    while (auto view = tensor.getDefiningOp<kernel::ViewOp>())
      tensor = kernel::getDestination(view.getInput());
    return tensor;
  };
  // Arguments of the region may be the same buffer, or views of one.
  auto operandOf = [&](Value tensor) {
    auto argument = cast<BlockArgument>(bufferOf(tensor));
    return bufferOf(op->getOperand(argument.getArgNumber()));
  };
  bool needs = llvm::any_of(inner->getOperands(), [&](Value operand) {
    return written.contains(operandOf(operand));
  });
  for (Value out : inner.getDpsInits())
    needs |= read.contains(operandOf(out));
  if (needs) {
    written.clear();
    read.clear();
  }
  for (Value operand : inner->getOperands())
    read.insert(operandOf(operand));
  for (Value out : inner.getDpsInits())
    written.insert(operandOf(out));
  return needs;
}

/// The work of block `number` (i32) of a launch of `grid` (i64 x, y, z) blocks.
void PersistentEmitter::emitBlock(LaunchPhase &phase, Value number,
                                  ArrayRef<Value> grid) {
  LaunchPhase::Block block;
  for (const KernelParameter &parameter : phase.getDescription().parameters)
    block.parameters.push_back(argumentOf(phase.getOp(), parameter));
  block.gridSize = {b.toI32(grid[0]), b.toI32(grid[1]), b.toI32(grid[2])};
  auto [x, y, z] = block.gridSize;
  block.id = {b.rem(number, x), b.rem(b.div(number, x), y),
              b.div(number, b.mul(x, y))};
  block.shared = shared;
  phase.emit(b, block);
  // The next block, or launch, writes to the same shared memory.
  if (phase.getSharedBytes() > 0)
    b.barrier();
}

void PersistentEmitter::emitPhase(LaunchPhase &phase) {
  if (needsBarrier(phase.getOp())) {
    emitGridBarrier(b);
    hasBarrier = true;
    blocksBefore = b.i32(0);
  }
  // The grid of a launch of its own.
  const EmittedKernel &description = phase.getDescription();
  SmallVector<AffineExpr> dims, hostSizes;
  SmallVector<Value> sizes, grid;
  for (auto [operand, dim] : description.gridDims) {
    Value tensor = phase.getOp()->getOperand(operand);
    dims.push_back(b.getAffineDimExpr(dims.size()));
    sizes.push_back(sizeOf(tensor, dim));
    hostSizes.push_back(gridSizeOf(tensor, dim));
  }
  AffineExpr hostBlocks = b.gridConstant(1);
  for (AffineExpr size : description.grid.getResults()) {
    grid.push_back(evaluate(b, size.replaceSymbols(dims), sizes));
    hostBlocks = hostBlocks * size.replaceSymbols(hostSizes);
  }
  allBlocks = allBlocks ? allBlocks + hostBlocks : hostBlocks;

  // Launches that do not wait for one another begin with different blocks, so
  // that several small ones run side by side.
  Value blocks = b.toI32(b.mul(b.mul(grid[0], grid[1]), grid[2]));
  Value all = b.gridDim();
  Value first =
      b.rem(b.sub(b.add(b.blockId(), all), b.rem(blocksBefore, all)), all);
  b.forLoop(first, blocks, all,
            [&](Value number) { emitBlock(phase, number, grid); });
  blocksBefore = b.add(blocksBefore, blocks);
}

void PersistentEmitter::shareMemory() {
  int64_t bytes = 0;
  bool isDynamic = false;
  for (const LaunchPhase &phase : phases) {
    bytes = std::max(bytes, phase.getSharedBytes());
    isDynamic |= phase.getDescription().dynamicSharedBytes > 0;
  }
  if (isDynamic)
    shared = b.dynamicShared(bytes, LaunchPhase::kSharedAlignment);
  else if (bytes > 0)
    shared = b.sharedArray(b.getI8Type(), bytes);
}

KernelSource PersistentEmitter::emit() {
  bool isWide = llvm::any_of(phases, [](LaunchPhase &phase) {
    auto inner = phase.getOp();
    return isa<kernel::GemmOp>(inner.getOperation()) ||
           llvm::any_of(inner->getOperandTypes(), [](Type type) {
             return cast<ShapedType>(type).getElementType().isF64();
           });
  });
  b.setMinBlocksPerProcessor(std::max<int64_t>(
      1, (isWide ? kWideThreadsPerProcessor : kThreadsPerProcessor) / threads));
  shareMemory();
  blocksBefore = b.i32(0);
  for (LaunchPhase &phase : phases) {
    phase.setKernelThreads(threads);
    emitPhase(phase);
  }
  b.setGrid(allBlocks ? allBlocks : b.gridConstant(0));
  if (hasBarrier)
    b.setResident();
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitPersistent(kernel::PersistentOp op,
                                                     InnerEmitter emitInner) {
  SmallVector<LaunchPhase, 0> phases;
  for (auto inner : op.getBody().getOps<DestinationStyleOpInterface>()) {
    FailureOr<KernelSource> source = emitInner(inner);
    if (failed(source))
      return failure();
    phases.emplace_back(inner, std::move(*source));
  }
  return PersistentEmitter(op, phases).emit();
}
