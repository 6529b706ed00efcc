// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One evaluation per op of the kernel dialect: what its launch leaves in the
// outs.

#ifndef EPIFOLD_BACKENDS_REFERENCE_KERNELOPS_H
#define EPIFOLD_BACKENDS_REFERENCE_KERNELOPS_H

#include "backends/reference/Frame.h"

#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace epifold::reference {

// Views.cpp: a tensor constant of a kernel function.
llvm::Error evaluate(mlir::arith::ConstantOp op, Frame &frame);

// KernelMap.cpp: buffers and elementwise launches.
llvm::Error evaluate(kernel::EmptyOp op, Frame &frame);
llvm::Error evaluate(kernel::ViewOp op, Frame &frame);
llvm::Error evaluate(kernel::MapOp op, Frame &frame);

// KernelGemm.cpp
llvm::Error evaluate(kernel::GemmOp op, Frame &frame);

// KernelRows.cpp
llvm::Error evaluate(kernel::SoftmaxOp op, Frame &frame);
llvm::Error evaluate(kernel::RowReduceOp op, Frame &frame);
llvm::Error evaluate(kernel::OrderedSumOp op, Frame &frame);
llvm::Error evaluate(kernel::RowNllOp op, Frame &frame);
llvm::Error evaluate(kernel::LeafStatsOp op, Frame &frame);
llvm::Error evaluate(kernel::MergeStatsOp op, Frame &frame);
llvm::Error evaluate(kernel::RowStatsOp op, Frame &frame);

// KernelRoute.cpp
llvm::Error evaluate(kernel::RouteOp op, Frame &frame);

// KernelRouting.cpp
llvm::Error evaluate(kernel::GatherRowsOp op, Frame &frame);
llvm::Error evaluate(kernel::TopKOp op, Frame &frame);
llvm::Error evaluate(kernel::RouteHistogramOp op, Frame &frame);
llvm::Error evaluate(kernel::RouteScanOp op, Frame &frame);
llvm::Error evaluate(kernel::RouteScatterOp op, Frame &frame);
llvm::Error evaluate(kernel::CombineOp op, Frame &frame);

} // namespace epifold::reference

#endif
