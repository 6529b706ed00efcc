// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets the epilogue of one product add what the groups of a
// product have made.

#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/TileCost.h"

namespace epifold {
#define GEN_PASS_DEF_FUSEGROUPSUMSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-group-sums";

static AffineMap mapAt(ArrayAttr maps, unsigned i) {
  return cast<AffineMapAttr>(maps[i]).getValue();
}

/// Whether one product takes no longer than one of groups and the launch that
/// adds them. Side by side groups are to hold whole leaves of a norm's
/// statistics.
static bool pays(kernel::GemmOp product) {
  int64_t groups = product.getGroups();
  int64_t bytes =
      estimateRows(product) * product.getResultColumns() * (2 * groups + 1) *
      cast<ShapedType>(product.getA().getType()).getElementTypeBitWidth() / 8;
  return estimateTileCycles(product, groups, /*wholeLeaves=*/true) <=
         estimateTileCycles(product, 1, /*wholeLeaves=*/false) + kLaunchCycles +
             bytes / kBytesOfCycle;
}

namespace {

/// A product of some groups over one A, whose results an elementwise launch
/// reads side by side, becomes one product with a B for each group.
struct FuseGroups : OpRewritePattern<kernel::MapOp> {
  FuseGroups(MLIRContext *context, int64_t mostGroups)
      : OpRewritePattern(context), mostGroups(mostGroups) {}

  LogicalResult matchAndRewrite(kernel::MapOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getIns().empty() || !llvm::all_equal(op.getIns()))
      return notACandidate();
    auto product = op.getIns().front().getDefiningOp<kernel::GemmOp>();
    if (!product || product.getGroups() == 1 || product.isRagged())
      return notACandidate();
    if (failed(canFuse(op, product, rewriter)))
      return failure();
    fuse(op, product, rewriter);
    return success();
  }

private:
  /// The group that operand `i` of the launch reads, at the launch's own row
  /// and column; none if it reads anything else.
  static std::optional<int64_t> findGroup(kernel::MapOp op, unsigned i) {
    AffineMap map = mapAt(op.getIndexingMaps(), i);
    auto group = dyn_cast<AffineConstantExpr>(map.getResult(0));
    if (!group || map.getNumDims() != 2 ||
        map.dropResult(0) !=
            AffineMap::getMultiDimIdentityMap(2, op.getContext()))
      return std::nullopt;
    return group.getValue();
  }

  LogicalResult canFuse(kernel::MapOp op, kernel::GemmOp product,
                        PatternRewriter &rewriter) const {
    auto refuse = [&](const Twine &reason) {
      return epifold::refuse(rewriter, op, product, reason);
    };
    if (product->getNumResults() != 1 || !llvm::all_equal(product->getUsers()))
      return refuse("the product is needed elsewhere");
    if (int64_t(product.getGroups() * product.getB().size()) > mostGroups)
      return refuse("a thread has no room for the accumulators of " +
                    Twine(product.getGroups() * product.getB().size()) +
                    " products");
    if (!product.isConvolution() &&
        cast<ShapedType>(product.getA().getType()).getRank() == 3)
      return refuse("the groups do not share their rows");
    if (product.getColumns())
      return refuse("the product has parts of its weights");
    AffineMap all = AffineMap::getMultiDimIdentityMap(3, op.getContext());
    if (mapAt(product.getIndexingMaps(), product.getExtras().size()) != all)
      return refuse("the groups are not stored one after the other");
    llvm::SmallDenseSet<int64_t> groups;
    for (unsigned i = 0; i < op.getIns().size(); ++i) {
      std::optional<int64_t> group = findGroup(op, i);
      if (!group || !groups.insert(*group).second)
        return refuse("the launch does not read each group once, at its own "
                      "row and column");
    }
    if (int64_t(groups.size()) != product.getGroups())
      return refuse("the launch does not read all groups");
    if (!pays(product))
      return refuse("tiles of all groups would take longer");
    if (op.getDomain() != int64_t(op.getIns().size()) ||
        findSizes(op.getOuts().front()) !=
            ArrayRef(findSizes(product.getResult(0))).drop_front())
      return refuse("the launch's domain is not a group of the product");
    // Each group's weights become an operand of their own.
    auto weights = cast<ShapedType>(product.getB().front().getType());
    constexpr int64_t kPieceBits = 128;
    if (weights.getNumElements() / product.getGroups() *
            weights.getElementTypeBitWidth() % kPieceBits !=
        0)
      return refuse("weights of a group do not start where pieces of 16 bytes "
                    "do");
    return success();
  }

  /// The weights of group `group` of `b`.
  static Value selectGroup(PatternRewriter &rewriter, Value b, int64_t group) {
    auto type = cast<RankedTensorType>(b.getType());
    ArrayRef<int64_t> shape = type.getShape().drop_front();
    int64_t size = type.getNumElements() / type.getDimSize(0);
    auto sizes = llvm::map_to_vector(shape, [&](int64_t dim) {
      return rewriter.getAffineConstantExpr(dim);
    });
    MLIRContext *context = rewriter.getContext();
    return kernel::ViewOp::create(
        rewriter, b.getLoc(),
        RankedTensorType::get(shape, type.getElementType()), b,
        AffineMap::get(0, 0, rewriter.getAffineConstantExpr(group * size)),
        AffineMap::get(0, 0, sizes, context));
  }

  /// `map` over (group, row, column) at one group of several; the product that
  /// is left has none.
  static AffineMap atGroup(AffineMap map, int64_t group) {
    return map.replace(getAffineDimExpr(0, map.getContext()),
                       getAffineConstantExpr(group, map.getContext()), 3,
                       map.getNumSymbols());
  }

  static void fuse(kernel::MapOp op, kernel::GemmOp product,
                   PatternRewriter &rewriter) {
    SmallVector<Value> weights;
    IndexedOperands extras;
    SmallVector<SmallVector<unsigned>> extrasOfGroup;
    int64_t groups = product.getGroups();
    for (int64_t group : llvm::seq(groups)) {
      for (Value b : product.getB())
        weights.push_back(selectGroup(rewriter, b, group));
      SmallVector<unsigned> &positions = extrasOfGroup.emplace_back();
      for (auto [j, extra] : llvm::enumerate(product.getExtras()))
        positions.push_back(extras.add(
            extra, atGroup(mapAt(product.getIndexingMaps(), j), group)));
    }
    SmallVector<AffineMap> maps(extras.getMaps());
    MLIRContext *context = op.getContext();
    AffineMap rows = AffineMap::get(
        3, 0, {getAffineDimExpr(1, context), getAffineDimExpr(2, context)},
        context);
    for (unsigned i = 0; i < op.getOuts().size(); ++i)
      maps.push_back(
          mapAt(op.getIndexingMaps(), op.getIns().size() + i).compose(rows));

    reportFused(fusionName, op, product);
    auto fused = kernel::GemmOp::create(
        rewriter, fuseLocations(product, op), op.getResultTypes(),
        product.getA(), weights, product.getGather(), product.getOffsets(),
        extras.getValues(), op.getOuts(), rewriter.getAffineMapArrayAttr(maps),
        product.getDilationAttr(), product.getGroupAttr(),
        product.getGatherDivisorAttr(), IntegerAttr(), DenseI64ArrayAttr());
    SmallVector<Type> types(weights.size(), fused.getAccumulatorType());
    for (Value extra : extras.getValues())
      types.push_back(getElementTypeOrSelf(extra.getType()));
    SmallVector<Location> locations(types.size(), op.getLoc());
    Block *block =
        rewriter.createBlock(&fused.getEpilogue(), {}, types, locations);
    // The epilogue of each group, then the launch on what they yield.
    SmallVector<Value> ofGroup;
    for (int64_t group : llvm::seq(groups)) {
      SmallVector<Value> arguments;
      size_t products = product.getB().size();
      for (size_t j = 0; j < products; ++j)
        arguments.push_back(block->getArgument(group * products + j));
      for (unsigned position : extrasOfGroup[group])
        arguments.push_back(block->getArgument(weights.size() + position));
      ofGroup.push_back(
          inlineScalarCode(rewriter, product.getEpilogue().front(), arguments)
              .front());
    }
    SmallVector<Value> arguments;
    for (unsigned i = 0; i < op.getIns().size(); ++i)
      arguments.push_back(ofGroup[*findGroup(op, i)]);
    kernel::YieldOp::create(
        rewriter, op.getLoc(),
        inlineScalarCode(rewriter, op.getBody().front(), arguments));
    rewriter.replaceOp(op, fused);
    rewriter.eraseOp(product);
  }

  int64_t mostGroups;
};

struct FuseGroupSums : epifold::impl::FuseGroupSumsPassBase<FuseGroupSums> {
  using FuseGroupSumsPassBase::FuseGroupSumsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseGroupSumsPatterns(patterns, mostGroups);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseGroupSumsPatterns(RewritePatternSet &patterns,
                                            int64_t mostGroups) {
  patterns.add<FuseGroups>(patterns.getContext(), mostGroups);
}
