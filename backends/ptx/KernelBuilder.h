// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds the device code of one kernel: parameters, thread indices, memory,
// shuffles, loops and scalar code.

#ifndef EPIFOLD_BACKENDS_PTX_KERNELBUILDER_H
#define EPIFOLD_BACKENDS_PTX_KERNELBUILDER_H

#include "backends/ptx/PtxBackend.h"

#include "ir/kernel/KernelDialect.h"
#include "ir/kernel/MathMode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"

namespace epifold::ptx {

/// A kernel before it is lowered: `module` holds one LLVM dialect function
/// whose body may still use arith and scf.
struct KernelSource {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// All but `images` and `remarks`.
  EmittedKernel description;
};

/// The insertion point and vocabulary of an emitter.
///
/// Indices inside a tile are i32; offsets into tensors count elements and are
/// i64, because tokens × width passes 2^31. Integer helpers fold constants, so
/// static sizes leave no code behind. Floats are computed with the arith
/// dialect.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<mlir::Value>;

  /// Starts the kernel of `op` with the name `entry`. Its parameters are a
  /// pointer for each operand, then the dynamic dimensions of the operands,
  /// then the group (when `op` has the attribute) and the status words (with
  /// `usesStatus`).
  KernelBuilder(mlir::Operation *op, llvm::StringRef entry,
                std::array<int64_t, 3> block, bool usesStatus = false);

  /// Ends the kernel. The builder cannot be used afterwards.
  KernelSource finish();

  /// At least `count` blocks must fit a multiprocessor: bounds the registers of
  /// a thread.
  void setMinBlocksPerProcessor(int64_t count);

  //===--- Launch shape
  //------------------------------------------------------------------------------------------===//

  /// A size of operand `operand` as the host sees it, for `setGrid`: a constant
  /// or a symbol.
  mlir::AffineExpr gridSize(unsigned operand, unsigned dim);
  mlir::AffineExpr gridConstant(int64_t value) {
    return getAffineConstantExpr(value);
  }
  /// A symbol of the op's function as the host sees it.
  mlir::AffineExpr gridSymbol(unsigned number);
  void setGrid(mlir::AffineExpr x, mlir::AffineExpr y = {},
               mlir::AffineExpr z = {});
  /// The kernel is for runs in which `size`, made of `gridSize`s, is at most
  /// `most`.
  void setSizeLimit(mlir::AffineExpr size, int64_t most);
  /// The launch has as many blocks of the grid as fit the device at once.
  void setResident() { description.isResident = true; }

  /// Waits for the end of the launch before, then lets the next one start; for
  /// targets that have it. Without a call all threads do so at the kernel's
  /// start. With one, every thread calls it before it touches memory other than
  /// `isSettled`, and one of each block does in any case: who waits for a
  /// launch has so waited for all before it.
  void waitForPrevious();
  /// Whether the launch right before does not write the operand: then it may be
  /// read before `waitForPrevious`.
  bool isSettled(unsigned operand) const;

  /// i32; `dim` is 0, 1 or 2 for x, y, z.
  Value threadId(unsigned dim = 0);
  Value blockId(unsigned dim = 0);
  Value gridDim(unsigned dim = 0);
  /// i32 lane of a warp and warp of a block (of a one-dimensional block).
  Value laneId() { return rem(threadId(), i32(32)); }
  Value warpId() { return div(threadId(), i32(32)); }

  //===--- Parameters
  //--------------------------------------------------------------------------------------------===//

  /// The tensor type of an operand.
  mlir::RankedTensorType tensorType(unsigned operand) const;
  mlir::Type elementType(unsigned operand) const {
    return tensorType(operand).getElementType();
  }
  /// Pointer to an operand's first element.
  Value pointer(unsigned operand) const { return pointers[operand]; }
  /// i64 size: a constant or a parameter.
  Value size(unsigned operand, unsigned dim);
  /// i64 element stride of a dimension of the row-major operand.
  Value stride(unsigned operand, unsigned dim);
  /// i64 product of all sizes of dimensions `first` … `last - 1`.
  Value sizeProduct(unsigned operand, unsigned first, unsigned last);
  /// i64 symbol of the op's function: a parameter from the first call on.
  Value symbol(unsigned number);
  /// i64 `group`; the op must have the attribute.
  Value group() const { return groupParameter; }
  /// Pointer to the status words (i64); the kernel must have asked for them.
  Value status() const { return statusParameter; }
  /// Adds a tensor map, whose sizes and strides are made of `gridSize`s, to the
  /// parameters. The generic pointer is to the parameter itself, as the copies
  /// require.
  Value tensorMap(TensorMap map);

  //===--- Integers (i32 or i64, both operands alike; unsigned division)
  //-----------------------------------------===//

  Value i1(bool value);
  Value i32(int64_t value);
  Value i64(int64_t value);
  /// A constant of integer type `type`.
  Value integer(mlir::Type type, int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value ceilDiv(Value a, int64_t b);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  Value shiftLeft(Value a, int64_t bits);
  Value shiftRight(Value a, int64_t bits);
  /// Signed.
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  /// i1 of a signed comparison.
  Value lt(Value a, Value b);
  Value le(Value a, Value b);
  Value eq(Value a, Value b);
  Value ne(Value a, Value b);
  Value logicalAnd(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// i32 → i64, sign-extended; i64 is left as it is. And back.
  Value toI64(Value value);
  Value toI32(Value value);

  //===--- Floats
  //------------------------------------------------------------------------------------------------===//

  /// `value` rounded to the float type `type`.
  Value constant(mlir::Type type, double value);
  /// bf16 and f16 to f32; f32 and f64 are left as they are.
  Value extend(Value value);
  /// f32 or f64 rounded once (f64 to a 16-bit type: first to f32) to `type`.
  Value round(Value value, mlir::Type type);
  /// a·b + c, rounded once.
  Value fma(Value a, Value b, Value c);

  //===--- Memory
  //------------------------------------------------------------------------------------------------===//

  /// `base` + `offset` elements of `element`, in base's address space. i1 is
  /// stored as a byte.
  Value elementPointer(Value base, mlir::Type element, Value offset);
  /// Loads or stores one element of `element`; i1 through its byte.
  Value load(mlir::Type element, Value pointer);
  void store(Value value, Value pointer);
  /// Element `offset` of an operand.
  Value loadElement(unsigned operand, Value offset);
  void storeElement(Value value, unsigned operand, Value offset);
  /// `count` consecutive elements in accesses of at most 16 bytes; `pointer` is
  /// aligned to the access.
  Values loadVector(mlir::Type element, Value pointer, int64_t count);
  void storeVector(ValueRange values, Value pointer);

  /// A static array of `count` elements in shared memory, 16-byte aligned.
  Value sharedArray(mlir::Type element, int64_t count);
  /// The block's dynamic shared memory, `bytes` long; once per kernel.
  Value dynamicShared(int64_t bytes, int64_t alignment = 128);
  /// Waits for all threads of the block; shared and global writes before it are
  /// seen after it.
  void barrier();
  /// The same for a warp.
  void syncWarp();

  /// `value` (i32, i64, f32 or f64) of lane `lane ^ mask`, `lane - delta`,
  /// `lane + delta` or `lane`; all lanes take part. A lane outside the warp
  /// gives the own value.
  Value shuffleXor(Value value, int64_t mask);
  Value shuffleUp(Value value, int64_t delta);
  Value shuffleDown(Value value, int64_t delta);
  Value shuffleFrom(Value value, Value lane);
  /// i32 with one bit per lane whose `predicate` (i1) holds.
  Value ballot(Value predicate);

  //===--- Control
  //-----------------------------------------------------------------------------------------------===//

  /// `for (iv = lower; iv < upper; iv += step)` (signed) over i32 or i64;
  /// `body(iv, carried)` returns the next carried values. Returns the last
  /// ones.
  Values forLoop(Value lower, Value upper, Value step, ValueRange inits,
                 llvm::function_ref<Values(Value iv, ValueRange carried)> body);
  void forLoop(Value lower, Value upper, Value step,
               llvm::function_ref<void(Value iv)> body);
  /// `while (condition(carried)) carried = body(carried)`.
  Values whileLoop(ValueRange inits,
                   llvm::function_ref<Value(ValueRange carried)> condition,
                   llvm::function_ref<Values(ValueRange carried)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  Values ifElse(Value condition, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);

  //===--- Scalar code
  //-------------------------------------------------------------------------------------------===//

  /// A function of an f32 or f64 value, in the math mode of the op.
  Value math(kernel::MathFunction function, kernel::Accuracy accuracy,
             Value input);
  /// Clones a region's block with `arguments` for its arguments; returns what
  /// it yields.
  Values inlineRegion(mlir::Region &region, ValueRange arguments);

private:
  Value shuffle(Value value, Value lane, mlir::Attribute kind, int64_t clamp);
  Value addArgument(mlir::Type type, mlir::DictionaryAttr attributes);
  mlir::AffineExpr gridSymbolFor(std::pair<unsigned, unsigned> size);

  mlir::Operation *op;
  kernel::MathMode mathMode;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp function;
  EmittedKernel description;
  Values pointers;
  llvm::SmallVector<std::pair<std::pair<unsigned, unsigned>, Value>> dims;
  llvm::SmallDenseMap<unsigned, Value> symbols;
  Value groupParameter, statusParameter;
  unsigned sharedArrays = 0;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_KERNELBUILDER_H
