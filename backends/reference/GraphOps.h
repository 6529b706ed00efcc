// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One evaluation per op of the graph dialect, each written from the op's
// documented meaning.

#ifndef EPIFOLD_BACKENDS_REFERENCE_GRAPHOPS_H
#define EPIFOLD_BACKENDS_REFERENCE_GRAPHOPS_H

#include "backends/reference/Frame.h"

#include "ir/graph/GraphDialect.h"

namespace epifold::reference {

// Views.cpp
llvm::Error evaluate(graph::ConstantOp op, Frame &frame);
llvm::Error evaluate(graph::SelectOp op, Frame &frame);
llvm::Error evaluate(graph::SliceOp op, Frame &frame);
llvm::Error evaluate(graph::ReshapeOp op, Frame &frame);
llvm::Error evaluate(graph::TransposeOp op, Frame &frame);
llvm::Error evaluate(graph::StackOp op, Frame &frame);
llvm::Error evaluate(graph::ConcatOp op, Frame &frame);

// Elementwise.cpp: the dialect's own ops, and any op of another dialect that
// has the interface.
llvm::Error evaluate(graph::ElementwiseOpInterface op, Frame &frame);

// Products.cpp
llvm::Error evaluate(graph::MatmulOp op, Frame &frame);
llvm::Error evaluate(graph::ExpertMatmulOp op, Frame &frame);
llvm::Error evaluate(graph::CausalConv1dOp op, Frame &frame);
llvm::Error evaluate(graph::ExpertCausalConv1dOp op, Frame &frame);

// Rows.cpp
llvm::Error evaluate(graph::EmbeddingOp op, Frame &frame);
llvm::Error evaluate(graph::SoftmaxOp op, Frame &frame);
llvm::Error evaluate(graph::ReduceSumOp op, Frame &frame);
llvm::Error evaluate(graph::CrossEntropyOp op, Frame &frame);

// Norms.cpp
llvm::Error evaluate(graph::GroupNormOp op, Frame &frame);
llvm::Error evaluate(graph::LayerNormOp op, Frame &frame);
llvm::Error evaluate(graph::RmsNormOp op, Frame &frame);

// Routing.cpp
llvm::Error evaluate(graph::TopKOp op, Frame &frame);
llvm::Error evaluate(graph::RouteOp op, Frame &frame);
llvm::Error evaluate(graph::DispatchOp op, Frame &frame);
llvm::Error evaluate(graph::DispatchSlotOp op, Frame &frame);
llvm::Error evaluate(graph::CombineOp op, Frame &frame);

} // namespace epifold::reference

#endif
