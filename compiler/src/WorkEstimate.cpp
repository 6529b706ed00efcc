// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Counts operations and bytes of launches.

#include "compiler/src/WorkEstimate.h"

#include "passes/SizeAnalysis.h"

using namespace mlir;
using namespace epifold;

/// Experts that share the rows of a launch with `offsets` and a group; 1 for
/// every other launch.
static int64_t shareOf(Operation *op) {
  if (!op->hasAttr("group"))
    return 1;
  Value offsets;
  if (auto gemm = dyn_cast<kernel::GemmOp>(op))
    offsets = gemm.getOffsets();
  else if (auto map = dyn_cast<kernel::MapOp>(op))
    offsets = map.getOffsets();
  else if (auto gather = dyn_cast<kernel::GatherRowsOp>(op))
    offsets = gather.getOffsets();
  return offsets ? std::max<int64_t>(
                       1, cast<ShapedType>(offsets.getType()).getDimSize(0) - 1)
                 : 1;
}

/// Whether `value` has a row a routed slot, of which a launch for one expert
/// touches a share.
static bool isRowBuffer(Value value, Operation *op) {
  auto gemm = dyn_cast<kernel::GemmOp>(op);
  return !(gemm && llvm::is_contained(gemm.getB(), value)) &&
         cast<ShapedType>(value.getType()).getRank() == 2;
}

/// Operations of a product over A of `sizes`; of one for a single expert a
/// `share`.
static AffineExpr countFlops(kernel::GemmOp gemm, ArrayRef<AffineExpr> sizes,
                             int64_t share) {
  bool perGroup = !gemm.isConvolution() && sizes.size() == 3;
  AffineExpr rows = productOf(sizes.drop_front(perGroup ? 1 : 0).drop_back(),
                              gemm.getContext());
  int64_t groups = gemm.isRagged() ? 1 : gemm.getGroups();
  int64_t perRow = 2 * gemm.getTaps() * gemm.getDepth() *
                   gemm.getResultColumns() * int64_t(gemm.getB().size());
  return (rows * (perRow * groups)).floorDiv(share);
}

/// Sizes of a tensor of the region of `op`.
static SmallVector<AffineExpr> sizesInside(Operation *op, Value tensor,
                                           const MemoryPlan &plan) {
  tensor = kernel::getDestination(tensor);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return SmallVector<AffineExpr>(
        plan.getSizes(op->getOperand(argument.getArgNumber())));
  return SmallVector<AffineExpr>(
      tensor.getDefiningOp<kernel::ViewOp>().getSizes().getResults());
}

WorkEstimate epifold::estimateWork(Operation *op, const MemoryPlan &plan) {
  MLIRContext *context = op->getContext();
  int64_t share = shareOf(op);
  WorkEstimate work{getAffineConstantExpr(0, context),
                    getAffineConstantExpr(0, context)};
  auto launch = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = launch.isDpsInit(&operand)
                      ? Value(launch.getTiedOpResult(&operand))
                      : operand.get();
    AffineExpr bytes = plan.getBytes(value);
    work.bytes = work.bytes + (share > 1 && isRowBuffer(operand.get(), op)
                                   ? bytes.floorDiv(share)
                                   : bytes);
  }
  if (auto gemm = dyn_cast<kernel::GemmOp>(op))
    work.flops = countFlops(gemm, plan.getSizes(gemm.getA()), share);
  if (isa<kernel::PersistentOp, kernel::CascadeOp>(op))
    for (auto gemm : op->getRegion(0).getOps<kernel::GemmOp>())
      work.flops =
          work.flops + countFlops(gemm, sizesInside(op, gemm.getA(), plan),
                                  /*share=*/1);
  return work;
}
