// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets the launch of rows' losses sum them, too.

#include "passes/Cascade.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/ReshapeMap.h"

namespace epifold {
#define GEN_PASS_DEF_FUSELOSSMEANPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-loss-mean";

namespace {

/// row_nll → row_reduce over all of it become one launch.
struct FuseMean : OpRewritePattern<kernel::RowReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::RowReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getParentOfType<kernel::CascadeOp>())
      return notACandidate();
    auto view = op.getIns().front().getDefiningOp<kernel::ViewOp>();
    auto losses =
        view ? view.getInput().getDefiningOp<kernel::RowNllOp>() : nullptr;
    if (!losses)
      return notACandidate();
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, losses, reason);
    };
    if (!isReshape(view) || cast<ShapedType>(view.getType()).getDimSize(0) != 1)
      return refuse("the sums are of parts of the losses");
    if (!losses->hasOneUse() || !view->hasOneUse())
      return refuse("the losses are needed elsewhere");
    if (!losses.getOuts().front().getDefiningOp<kernel::EmptyOp>() ||
        !op.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("it writes a part of a buffer that others write");
    reportFused(fusionName, op, losses);
    rewriter.setInsertionPoint(op);
    replaceByCascade(rewriter, losses, op, /*keepsFirst=*/true);
    return success();
  }
};

struct FuseLossMean : epifold::impl::FuseLossMeanPassBase<FuseLossMean> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseLossMeanPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseLossMeanPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseMean>(patterns.getContext());
}
