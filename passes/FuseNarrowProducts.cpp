// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets elementwise launches multiply their rows by the few rows
// of a weight: a router's.

#include "mlir/IR/TypeUtilities.h"
#include "passes/Cascade.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/ReshapeMap.h"

namespace epifold {
#define GEN_PASS_DEF_FUSENARROWPRODUCTSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-narrow-products";

/// Columns of a product that a block's warps have between them.
static constexpr int64_t kMostColumns = 32;
/// Bytes that a block may keep of its rows and of the weight.
static constexpr int64_t kMostBytes = 96 * 1024;

/// The elementwise launch that `producer` is, or ends with.
static kernel::MapOp findMap(Operation *producer) {
  if (auto cascade = dyn_cast_or_null<kernel::CascadeOp>(producer))
    return isa<kernel::MergeStatsOp>(cascade.getFirst())
               ? dyn_cast<kernel::MapOp>(cascade.getSecond())
               : kernel::MapOp();
  return dyn_cast_or_null<kernel::MapOp>(producer);
}

namespace {

/// [merge_stats →] map → gemm become one launch.
struct FuseProduct : OpRewritePattern<kernel::GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::GemmOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getParentOfType<kernel::CascadeOp>() ||
        op->getParentOfType<kernel::PersistentOp>())
      return notACandidate();
    Value rows = op.getA();
    auto view = rows.getDefiningOp<kernel::ViewOp>();
    if (view && isReshape(view))
      rows = view.getInput();
    Operation *producer = rows.getDefiningOp();
    kernel::MapOp map = findMap(producer);
    if (!map)
      return notACandidate();
    auto refuse = [&](const Twine &reason) {
      return epifold::refuse(rewriter, op, producer, reason);
    };
    if (op.getResultColumns() > kMostColumns)
      return refuse("the product has " + Twine(op.getResultColumns()) +
                    " columns");
    Type element = getElementTypeOrSelf(op.getA().getType());
    if (!element.isBF16() && !element.isF16())
      return refuse("its type is not the matrix unit's");
    if (op.isConvolution() || op.isRagged() || op.getGroups() != 1 ||
        op.getB().size() != 1 || op.getColumns() ||
        cast<ShapedType>(op.getA().getType()).getRank() != 2)
      return refuse("it is no plain product");
    constexpr int64_t kStep = 16, kRows = 8;
    int64_t depth = op.getDepth();
    if (depth % kStep != 0)
      return refuse("rows end inside a step of the product");
    if ((kRows + op.getResultColumns()) * (depth * 2 + kStep) > kMostBytes)
      return refuse("rows and weights do not fit shared memory");
    if (producer->getNumResults() != 1)
      return refuse("the launch has several results");
    if (map.getOffsets() || map.getDomain() != int64_t(map.getIns().size()) ||
        cast<ShapedType>(rows.getType()).getShape().back() != depth)
      return refuse("the launch's rows are not the product's");
    if (!cast<DestinationStyleOpInterface>(producer)
             .getDpsInits()
             .front()
             .getDefiningOp<kernel::EmptyOp>() ||
        !op.getOuts().front().getDefiningOp<kernel::EmptyOp>() ||
        op->getNumResults() != 1)
      return refuse("it writes a part of a buffer that others write");
    // The launch stands where the rows are written, for all that read them.
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (operand != op.getA() && !isa<kernel::EmptyOp>(source) &&
            !source->isBeforeInBlock(producer))
          return refuse("the product reads what is made later");

    reportFused(fusionName, op, producer);
    rewriter.moveOpBefore(op.getOuts().front().getDefiningOp(), producer);
    rewriter.setInsertionPoint(producer);
    replaceByCascade(rewriter, producer, op, /*keepsFirst=*/true);
    return success();
  }
};

struct FuseNarrowProducts
    : epifold::impl::FuseNarrowProductsPassBase<FuseNarrowProducts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseNarrowProductsPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseNarrowProductsPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseProduct>(patterns.getContext());
}
