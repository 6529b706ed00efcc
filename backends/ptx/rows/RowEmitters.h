// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emitters of the launches that work row by row: softmax, reductions, norms,
// gathers and top-k.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_ROWEMITTERS_H
#define EPIFOLD_BACKENDS_PTX_ROWS_ROWEMITTERS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Each builds the kernel of one op; a refusal is a diagnostic on the op that
/// says why.
llvm::FailureOr<KernelSource> emitSoftmax(kernel::SoftmaxOp op);
llvm::FailureOr<KernelSource> emitRowReduce(kernel::RowReduceOp op);
llvm::FailureOr<KernelSource> emitRowStats(kernel::RowStatsOp op);
llvm::FailureOr<KernelSource> emitRowNll(kernel::RowNllOp op);
llvm::FailureOr<KernelSource> emitLeafStats(kernel::LeafStatsOp op);
llvm::FailureOr<KernelSource> emitMergeStats(kernel::MergeStatsOp op);
llvm::FailureOr<KernelSource> emitOrderedSum(kernel::OrderedSumOp op);
llvm::FailureOr<KernelSource> emitGatherRows(kernel::GatherRowsOp op);
llvm::FailureOr<KernelSource> emitCombine(kernel::CombineOp op);
llvm::FailureOr<KernelSource> emitTopK(kernel::TopKOp op);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_ROWEMITTERS_H
