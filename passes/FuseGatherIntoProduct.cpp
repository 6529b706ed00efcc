// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets products gather the rows they read.

#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"

namespace epifold {
#define GEN_PASS_DEF_FUSEGATHERINTOPRODUCTPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-gather-into-product";

namespace {

/// gather_rows → gemm becomes gemm with `gather`, where no one else reads the
/// gathered rows.
struct FuseGather : OpRewritePattern<kernel::GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::GemmOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = op.getA().getDefiningOp<kernel::GatherRowsOp>();
    if (!gather)
      return notACandidate();
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, gather, reason);
    };
    if (op.getGather())
      return refuse("the product gathers other rows already");
    if (!gather->hasOneUse())
      return refuse("the gathered rows are needed elsewhere");
    if (gather.getReport())
      return refuse("the gather reports indices outside the table");
    if (!op.getOffsets() || gather.getOffsets() != op.getOffsets() ||
        gather.getGroup() != op.getGroup())
      return refuse("the gather covers other rows than the product");
    if (!gather.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("the gathered rows are part of a buffer that others write");
    reportFused(fusionName, gather, op);
    rewriter.modifyOpInPlace(op, [&] {
      op->setLoc(fuseLocations(op, gather));
      op.getAMutable().assign(gather.getSrc());
      op.getGatherMutable().assign(gather.getIndex());
      op.setGatherDivisor(gather.getDivisor());
    });
    rewriter.eraseOp(gather);
    return success();
  }
};

struct FuseGatherIntoProduct
    : epifold::impl::FuseGatherIntoProductPassBase<FuseGatherIntoProduct> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseGatherIntoProductPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseGatherIntoProductPatterns(
    RewritePatternSet &patterns) {
  patterns.add<FuseGather>(patterns.getContext());
}
