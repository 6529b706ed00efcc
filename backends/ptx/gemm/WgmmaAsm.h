// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The instructions around wgmma that LLVM has no intrinsics for.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_WGMMAASM_H
#define EPIFOLD_BACKENDS_PTX_GEMM_WGMMAASM_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// i32 low word of the descriptor of a matrix whose rows are lines of 128 bytes
/// along k, with the 128-byte swizzle, `byte` (i32) after the shared address
/// `memory`. The address is a multiple of 1024.
mlir::Value matrixDescriptor(KernelBuilder &b, mlir::Value memory,
                             mlir::Value byte);

/// One of a warpgroup's matrices of accumulators: 64 lines that `rows`
/// describes by `columns` lines that `columnLines` does.
struct WgmmaPart {
  int64_t columns;
  mlir::Value rows, columnLines;
};

/// Starts, as one group, the m64nNk16 products of `depth` elements of bf16 or
/// f16, k ascending, into a warpgroup's `accumulators`: columns / 2 of f32 in a
/// thread for each part. The values returned may be used by `startWgmma` and
/// `waitForWgmma` alone.
KernelBuilder::Values startWgmma(KernelBuilder &b, mlir::Type element,
                                 llvm::ArrayRef<WgmmaPart> parts, int64_t depth,
                                 mlir::ValueRange accumulators);

/// Waits until no more than `running` groups of the warpgroup are running. The
/// accumulators pass through the wait, so that nothing reads them earlier.
KernelBuilder::Values
waitForWgmma(KernelBuilder &b, mlir::ValueRange accumulators, int64_t running);

/// Neighbouring f32 rounded to bf16 or f16, two in an i32: the first one in its
/// lower half.
KernelBuilder::Values roundPairs(KernelBuilder &b, mlir::Type element,
                                 mlir::ValueRange values);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_WGMMAASM_H
