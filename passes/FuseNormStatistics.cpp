// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets launches which write a norm's input give its leaves'
// statistics, and launches that normalise merge them.

#include "passes/Cascade.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/ReshapeMap.h"
#include "passes/TileCost.h"

namespace epifold {
#define GEN_PASS_DEF_FUSENORMSTATISTICSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-norm-statistics";

/// Leaves that every block may merge for itself: they come from the L2, and a
/// block's threads need some steps for each thousand of them.
static constexpr int64_t kMostLeaves = 4096;
/// What a dimension that is known at run time alone is taken for.
static constexpr int64_t kNominalSize = 4096;

static std::optional<int64_t> asConstant(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

/// Why the results of `product` do not come in whole leaves, or nothing.
static const char *findObstacle(kernel::GemmOp product) {
  if (product.isRagged() || product.getGroups() != 1)
    return "the product has rows of several groups";
  // Of more products a thread has no room for 64 columns.
  constexpr size_t kMostProducts = 2;
  if (product.getB().size() > kMostProducts)
    return "so many products leave no room for tiles of whole leaves";
  MLIRContext *context = product.getContext();
  AffineMap rows = AffineMap::get(
      3, 0, {getAffineDimExpr(1, context), getAffineDimExpr(2, context)},
      context);
  if (cast<AffineMapAttr>(product.getIndexingMaps().getValue().back())
              .getValue() != rows ||
      cast<ShapedType>(product.getType(0)).getShape().back() !=
          product.getResultColumns())
    return "the product's rows are not stored one after the other";
  int64_t bytes = estimateRows(product) * product.getResultColumns() * 2;
  if (cast<ShapedType>(product.getA().getType()).getElementTypeBitWidth() ==
          16 &&
      estimateTileCycles(product, 1, /*wholeLeaves=*/true) >
          estimateTileCycles(product, 1, /*wholeLeaves=*/false) +
              kLaunchCycles + bytes / kBytesOfCycle)
    return "tiles of whole leaves would take longer";
  return nullptr;
}

/// The same for an elementwise launch.
static const char *findObstacle(kernel::MapOp map) {
  if (map.getOffsets())
    return "the launch covers the rows of experts";
  if (map.getDomain() != int64_t(map.getIns().size()))
    return "the launch writes a part of its buffer";
  return nullptr;
}

namespace {

/// gemm | map → leaf_stats become one launch.
struct FuseLeaves : OpRewritePattern<kernel::LeafStatsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::LeafStatsOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getParentOfType<kernel::CascadeOp>())
      return notACandidate();
    Value read = op.getIns().front(), written = read;
    auto view = read.getDefiningOp<kernel::ViewOp>();
    if (view && isReshape(view))
      written = view.getInput();
    Operation *producer = written.getDefiningOp();
    if (!isa_and_present<kernel::GemmOp, kernel::MapOp, kernel::CascadeOp>(
            producer))
      return notACandidate();
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, producer, reason);
    };
    if (isa<kernel::CascadeOp>(producer))
      return refuse("it holds two launches already");
    if (producer->getNumResults() != 1)
      return refuse("it has several results");
    auto launch = cast<DestinationStyleOpInterface>(producer);
    if (!launch.getDpsInits().front().getDefiningOp<kernel::EmptyOp>() ||
        !op.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("it writes a part of a buffer that others write");
    auto product = dyn_cast<kernel::GemmOp>(producer);
    if (const char *obstacle =
            product ? findObstacle(product)
                    : findObstacle(cast<kernel::MapOp>(producer)))
      return refuse(obstacle);

    SmallVector<AffineExpr> sizes = findSizes(read);
    ArrayRef<int64_t> shape = cast<ShapedType>(read.getType()).getShape();
    if (sizes.empty() ||
        cast<ShapedType>(written.getType()).getShape().back() != shape.back() ||
        ShapedType::isDynamic(shape.back()))
      return refuse("the norm's channels are not its columns");
    if (asConstant(sizes[0]) != 1 && asConstant(sizes[1] % kernel::kLeaf) != 0)
      return refuse("samples do not begin where tiles of 64 rows do");
    if (op.getGroups() != 1 &&
        shape.back() / op.getGroups() % kernel::kLeaf != 0)
      return refuse("groups do not begin where tiles of 64 columns do");

    reportFused(fusionName, op, producer);
    // The launch stands where the producer stood, for all that read it.
    rewriter.moveOpBefore(op.getOuts().front().getDefiningOp(), producer);
    rewriter.setInsertionPoint(producer);
    replaceByCascade(rewriter, producer, op, /*keepsFirst=*/true);
    return success();
  }
};

/// merge_stats → map become one launch.
struct FuseMerge : OpRewritePattern<kernel::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::MapOp op,
                                PatternRewriter &rewriter) const override {
    kernel::MergeStatsOp merge;
    for (Value in : op.getIns())
      if (auto producer = in.getDefiningOp<kernel::MergeStatsOp>()) {
        if (merge && merge != producer)
          return refuse(rewriter, op, producer,
                        "the launch reads statistics of two norms");
        merge = producer;
      }
    if (!merge || op->getParentOfType<kernel::CascadeOp>())
      return notACandidate();
    auto refuse = [&](const Twine &reason) {
      return epifold::refuse(rewriter, op, merge, reason);
    };
    if (!llvm::all_equal(merge->getUsers()))
      return refuse("the statistics are needed elsewhere");
    if (op.getOffsets())
      return refuse("the launch covers the rows of experts");
    if (llvm::is_contained(op.getOuts(), merge.getResult(0)))
      return refuse("the launch writes into the statistics");
    if (op.getDomain() != int64_t(op.getIns().size()))
      return refuse("the launch's domain is not what it writes");
    Value leaves = merge.getIns().front();
    SmallVector<AffineExpr> sizes = findSizes(leaves);
    if (sizes.empty() || asConstant(sizes[1]) != 1)
      return refuse("rows have statistics of several groups");
    if (!readsStatisticsOfSample(op, merge, asConstant(sizes[0]) == 1))
      return refuse("the outermost dimension is not the sample");
    int64_t count = 1;
    for (AffineExpr size : {sizes[2], sizes[3]})
      count *= asConstant(size).value_or(
          llvm::divideCeil(kNominalSize, kernel::kLeaf));
    if (count > kMostLeaves)
      return refuse("every block would merge " + Twine(count) + " leaves");

    reportFused(fusionName, merge, op);
    rewriter.setInsertionPoint(op);
    replaceByCascade(rewriter, merge, op, /*keepsFirst=*/false);
    return success();
  }

private:
  /// Whether each access to the statistics is to those of the point's sample,
  /// which is the outermost dimension, or of the only one.
  static bool readsStatisticsOfSample(kernel::MapOp op,
                                      kernel::MergeStatsOp merge,
                                      bool isOnlySample) {
    for (auto [in, attr] :
         llvm::zip(op.getIns(),
                   op.getIndexingMaps().getAsValueRange<AffineMapAttr>())) {
      if (in.getDefiningOp() != merge)
        continue;
      AffineMap map = attr;
      AffineExpr sample = map.getResult(0), which = map.getResult(2);
      if (!isa<AffineConstantExpr>(which) ||
          !(isOnlySample || (map.getNumDims() > 1 &&
                             sample == getAffineDimExpr(0, op.getContext()))))
        return false;
    }
    return true;
  }
};

struct FuseNormStatistics
    : epifold::impl::FuseNormStatisticsPassBase<FuseNormStatistics> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseNormStatisticsPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseNormStatisticsPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseLeaves, FuseMerge>(patterns.getContext());
}
