// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ring of stages between the warpgroup that brings slabs into shared memory
// and those that multiply them.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_WGMMAPIPELINE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_WGMMAPIPELINE_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// A stage has two barriers: full, when a slab's bytes are there, and empty,
/// when every consumer warp has done with it. Slabs take the stages in turn; a
/// slab's position is its number (i32) in the block's whole sequence.
class WgmmaPipeline {
public:
  WgmmaPipeline(KernelBuilder &b, int64_t stages, int64_t stageBytes)
      : b(b), stages(stages), stageBytes(stageBytes) {}

  int64_t bytesOfStages() const { return stages * stageBytes; }
  /// Bytes of shared memory for barriers, at a multiple of 16.
  int64_t bytesOfWords() const;

  /// Takes `words` (a pointer) and starts the barriers; the block's threads
  /// meet. A slab is there after `arrivals`, and done with after as many as
  /// there are `consumerWarps`.
  void start(mlir::Value words, int64_t arrivals, int64_t consumerWarps);

  /// i32 number of a position's stage, its first byte, and its full barrier.
  mlir::Value stageAt(mlir::Value position);
  mlir::Value byteOf(mlir::Value stage);
  mlir::Value full(mlir::Value stage);

  /// Waits until the position's stage may be written, or read; returns it.
  mlir::Value acquire(mlir::Value position);
  mlir::Value await(mlir::Value position);
  /// The calling warp has done with a stage.
  void release(mlir::Value stage);

private:
  using Value = mlir::Value;

  Value parityAt(Value position);
  Value empty(Value stage);

  KernelBuilder &b;
  int64_t stages, stageBytes;
  Value barriers; // i32 address
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_WGMMAPIPELINE_H
