// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where each tensor of a kernel function lives.

#ifndef EPIFOLD_PASSES_MEMORYPLAN_H
#define EPIFOLD_PASSES_MEMORYPLAN_H

#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace epifold {

/// Assigns buffers to the tensors of a kernel function by liveness in launch
/// order.
///
/// A chain of launches that write one destination is one allocation; views are
/// offsets into their source's. Scratch allocations that are never live
/// together share a buffer, whose size is the largest of theirs.
class MemoryPlan {
public:
  enum class Kind { Scratch, Argument, Result, Constant };
  struct Buffer {
    Kind kind;
    /// Sizes in bytes of what lives here, over the function's symbols; the
    /// buffer is as large as the largest.
    llvm::SmallVector<mlir::AffineExpr> bytes;
    /// Argument or result number, or the constant's elements.
    unsigned number = 0;
    mlir::ElementsAttr constant;
  };
  struct Place {
    unsigned buffer;
    mlir::AffineExpr offset; ///< In bytes.
  };

  explicit MemoryPlan(mlir::func::FuncOp function);

  llvm::ArrayRef<Buffer> getBuffers() const { return buffers; }
  Place getPlace(mlir::Value value) const { return places.find(value)->second; }
  /// Sizes of a tensor over the function's symbols.
  llvm::ArrayRef<mlir::AffineExpr> getSizes(mlir::Value value) const {
    return sizes.find(value)->second;
  }
  mlir::AffineExpr getBytes(mlir::Value value) const;

private:
  struct Allocation {
    mlir::AffineExpr bytes;
    unsigned first, last; ///< Launches between which it is live.
    unsigned buffer;      ///< Set by `assign`.
    std::optional<unsigned> result;
  };

  void recordSizes(mlir::Value value);
  void assign(unsigned symbols);

  mlir::MLIRContext *context;
  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::AffineExpr>> sizes;
  llvm::SmallVector<Allocation> allocations;
};

/// Bytes of one element in memory.
int64_t getElementBytes(mlir::Type type);

} // namespace epifold

#endif // EPIFOLD_PASSES_MEMORYPLAN_H
