// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A launch taken apart, to be part of another: the code of one block.

#ifndef EPIFOLD_BACKENDS_PTX_PERSISTENT_LAUNCHPHASE_H
#define EPIFOLD_BACKENDS_PTX_PERSISTENT_LAUNCHPHASE_H

#include "backends/ptx/KernelEmitters.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace epifold::ptx {

/// The kernel of a launch whose block, grid and shared memory are given to it.
class LaunchPhase {
public:
  /// Of shared memory: eight 16-byte banks, as products have it.
  static constexpr int64_t kSharedAlignment = 128;

  /// Takes the kernel `source` of `op` apart.
  LaunchPhase(mlir::DestinationStyleOpInterface op, KernelSource source);

  mlir::DestinationStyleOpInterface getOp() const { return op; }
  /// Parameters, grid and block.
  const EmittedKernel &getDescription() const { return source.description; }
  int64_t getThreads() const;
  /// Static and dynamic together.
  int64_t getSharedBytes() const { return sharedBytes; }

  /// What a block is given: its parameters, its i32 number and the i32 size of
  /// the grid in x, y and z, and a pointer to shared memory.
  struct Block {
    KernelBuilder::Values parameters;
    std::array<mlir::Value, 3> id, gridSize;
    mlir::Value shared;
  };
  /// Says how many threads the kernel has that it becomes part of, at least
  /// `getThreads`; the first of them do the work.
  void setKernelThreads(int64_t threads);
  /// Emits the work of one block.
  void emit(KernelBuilder &b, const Block &block);

private:
  template <typename Op>
  void replace(unsigned dim,
               llvm::SmallVector<std::pair<mlir::Value, unsigned>> &arguments);
  void replaceShared();

  mlir::DestinationStyleOpInterface op;
  KernelSource source;
  /// Its entry block has, after the parameters, an argument for each read of a
  /// special register and of a shared array's address.
  mlir::LLVM::LLVMFuncOp function;
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> ids, gridSizes;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> sharedOffsets;
  int64_t sharedBytes = 0;
  bool isNarrow = false;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_PERSISTENT_LAUNCHPHASE_H
