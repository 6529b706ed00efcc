// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that makes what routes one launch.

#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"

namespace epifold {
#define GEN_PASS_DEF_FUSEROUTINGPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-routing";

/// A row's probabilities and picks stay in the registers of a warp.
static constexpr int64_t kMostExperts = 512, kMostChoices = 32;

namespace {
/// The launches of a routing, found from the last one that orders slots.
struct Routing {
  kernel::SoftmaxOp softmax; ///< Null where logits are chosen from directly.
  kernel::TopKOp topK;
  kernel::RowReduceOp sum; ///< Null, as the next one, without normalisation.
  kernel::MapOp quotient;
  kernel::RouteHistogramOp histogram;
  kernel::RouteScanOp scan;
  kernel::RouteScatterOp scatter;
  kernel::GatherRowsOp gather;

  Value weights() {
    return quotient ? quotient.getResult(0) : topK.getResult(0);
  }
  /// What its launches make for others, in the order of `RouteOut`.
  SmallVector<Value> tables() {
    return {weights(),
            topK.getResult(1),
            scatter.getResult(0),
            scatter.getResult(1),
            gather.getResult(0),
            scan.getResult(1),
            scatter.getResult(2)};
  }
  /// All that are part of it, in order.
  SmallVector<Operation *> launches() {
    SmallVector<Operation *> result;
    for (Operation *op : std::initializer_list<Operation *>{
             softmax, topK, sum, quotient, histogram, scan, scatter, gather})
      if (op)
        result.push_back(op);
    return result;
  }
};
} // namespace

/// What `value` is all elements of, in another shape.
static Value getWhole(Value value) {
  while (auto view = value.getDefiningOp<kernel::ViewOp>()) {
    auto product = [&](ArrayRef<AffineExpr> sizes) {
      AffineExpr result = getAffineConstantExpr(1, value.getContext());
      for (AffineExpr size : sizes)
        result = result * size;
      return result;
    };
    SmallVector<AffineExpr> sizes = findSizes(view.getInput());
    if (view.getOffset().getResult(0) != 0 || sizes.empty() ||
        product(view.getSizes().getResults()) != product(sizes))
      return value;
    value = view.getInput();
  }
  return value;
}

/// Whether the region divides its first argument by its second.
static bool isQuotient(kernel::MapOp map) {
  if (map.getIns().size() != 2 || map.getOuts().size() != 1 || map.getOffsets())
    return false;
  Block &block = map.getBody().front();
  auto division =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::DivFOp>();
  return division && division.getLhs() == block.getArgument(0) &&
         division.getRhs() == block.getArgument(1);
}

/// The division of each row of `values` by its sum, if that is what `weights`
/// is.
static kernel::MapOp findNormalization(Value weights, Value values) {
  auto map = weights.getDefiningOp<kernel::MapOp>();
  if (!map || !isQuotient(map) || map.getIns()[0] != values)
    return {};
  auto sum = getWhole(map.getIns()[1]).getDefiningOp<kernel::RowReduceOp>();
  if (!sum || sum.getIns().front() != values || sum.getSquare() ||
      sum.getMean())
    return {};
  auto indexing = [&](unsigned i) {
    return cast<AffineMapAttr>(map.getIndexingMaps()[i]).getValue();
  };
  // [row, k] by [row, 0], where the map's own shape is that of the values.
  AffineMap identity = indexing(2), ofSum = indexing(1);
  bool isOfRow = identity.getNumDims() == 2 && identity.isIdentity() &&
                 indexing(0) == identity && ofSum.getNumResults() == 2 &&
                 ofSum.getResult(0) == identity.getResult(0) &&
                 ofSum.getResult(1) == 0;
  return isOfRow ? map : kernel::MapOp();
}

namespace {
struct FuseRoutingTables : OpRewritePattern<kernel::RouteScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::RouteScatterOp op,
                                PatternRewriter &rewriter) const override;

private:
  static FailureOr<Routing> find(kernel::RouteScatterOp op,
                                 PatternRewriter &rewriter);
  static void fuse(Routing &routing, PatternRewriter &rewriter);
};
} // namespace

/// Whether a launch that is no part of the routing reads `value` or a view of
/// it.
static bool isReadElsewhere(Value value, ArrayRef<Operation *> launches) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto view = dyn_cast<kernel::ViewOp>(user))
      return isReadElsewhere(view.getResult(), launches);
    return !llvm::is_contained(launches, user);
  });
}

/// The gather of a column of weights, one for each row of all experts.
static kernel::GatherRowsOp findWeightGather(kernel::RouteScatterOp scatter) {
  for (Operation *user : scatter.getResult(0).getUsers()) {
    auto gather = dyn_cast<kernel::GatherRowsOp>(user);
    if (gather && gather.getOffsets() == scatter.getResult(2) &&
        !gather.getGroup() && !gather.getReport() && gather.getDivisor() == 1 &&
        cast<ShapedType>(gather.getSrc().getType()).getDimSize(1) == 1)
      return gather;
  }
  return {};
}

FailureOr<Routing> FuseRoutingTables::find(kernel::RouteScatterOp op,
                                           PatternRewriter &rewriter) {
  Routing routing;
  routing.scatter = op;
  routing.scan = op.getIns()[1].getDefiningOp<kernel::RouteScanOp>();
  auto refuse = [&](Operation *other, const Twine &reason) {
    return epifold::refuse(rewriter, op, other, reason);
  };
  if (!routing.scan || op.getIns()[2] != routing.scan.getResult(1))
    return notACandidate();
  routing.histogram =
      routing.scan.getIns().front().getDefiningOp<kernel::RouteHistogramOp>();
  if (!routing.histogram ||
      routing.histogram.getIns().front() != op.getIns()[0])
    return notACandidate();
  Value indices = getWhole(op.getIns()[0]);
  routing.topK = indices.getDefiningOp<kernel::TopKOp>();
  if (!routing.topK || indices != routing.topK.getResult(1))
    return refuse(routing.scan, "the experts are not chosen by top_k");
  Value logits = routing.topK.getIns().front();
  routing.softmax = logits.getDefiningOp<kernel::SoftmaxOp>();
  if (routing.softmax)
    logits = routing.softmax.getIns().front();

  auto isF32 = [](Value tensor) {
    return getElementTypeOrSelf(tensor.getType()).isF32();
  };
  Value values = routing.topK.getResult(0);
  if (!isF32(logits) || !isF32(routing.topK.getIns().front()) || !isF32(values))
    return refuse(routing.topK, "the logits, or what is chosen from, are not "
                                "f32");
  if (!getElementTypeOrSelf(indices.getType()).isInteger(32))
    return refuse(routing.topK, "the indices are not i32");
  int64_t experts = cast<ShapedType>(logits.getType()).getDimSize(1),
          choices = cast<ShapedType>(values.getType()).getDimSize(1);
  if (ShapedType::isDynamic(experts) || experts > kMostExperts ||
      experts !=
          cast<ShapedType>(routing.scan.getResult(1).getType()).getDimSize(0))
    return refuse(routing.topK,
                  "a row's experts are not a fixed number of at most " +
                      Twine(kMostExperts));
  if (ShapedType::isDynamic(choices) || choices > kMostChoices)
    return refuse(routing.topK, "a row's choices are not a fixed number of at "
                                "most " +
                                    Twine(kMostChoices));
  routing.gather = findWeightGather(op);
  Value weights = routing.gather ? getWhole(routing.gather.getSrc()) : Value();
  if (weights && weights != values)
    routing.quotient = findNormalization(weights, values);
  if (!weights || weights != routing.weights())
    return refuse(routing.scan, "the chosen weights are not gathered for the "
                                "rows of all experts");
  if (routing.quotient) {
    auto sum = getWhole(routing.quotient.getIns()[1])
                   .getDefiningOp<kernel::RowReduceOp>();
    // What others read of the sums they get from a launch of its own.
    if (!isReadElsewhere(sum.getResult(0), {routing.quotient}))
      routing.sum = sum;
  }
  for (Operation *launch : routing.launches())
    for (Value out : cast<DestinationStyleOpInterface>(launch).getDpsInits())
      if (!out.getDefiningOp<kernel::EmptyOp>())
        return refuse(launch, "it writes a part of a buffer");
  return routing;
}

/// Erases `op`, of which no more than views is left to be read.
static void eraseWithViews(Operation *op, PatternRewriter &rewriter) {
  for (Operation *view : llvm::make_early_inc_range(op->getUsers()))
    eraseWithViews(view, rewriter);
  rewriter.eraseOp(op);
}

/// The launch that does it all, where the first of them is.
void FuseRoutingTables::fuse(Routing &routing, PatternRewriter &rewriter) {
  SmallVector<Operation *> launches = routing.launches();
  rewriter.setInsertionPoint(launches.front());
  // The name that users see is that of the routing itself.
  SmallVector<Location> locations = {routing.scatter.getLoc()};
  for (Operation *launch : launches)
    locations.push_back(launch->getLoc());
  Location location = rewriter.getFusedLoc(locations);

  SmallVector<Value> outs, replaced;
  auto replace = [&](Value table) {
    replaced.push_back(table);
    AffineMap sizes = kernel::getDestination(table)
                          .getDefiningOp<kernel::EmptyOp>()
                          .getSizes();
    outs.push_back(
        kernel::EmptyOp::create(rewriter, location, table.getType(), sizes));
  };
  llvm::for_each(routing.tables(), replace);
  int64_t histogram[] = {
      kernel::kRouteParts,
      cast<ShapedType>(routing.scan.getResult(1).getType()).getDimSize(0)};
  auto sizes = AffineMap::get(
      0, 0, getAffineConstantExprs(histogram, rewriter.getContext()),
      rewriter.getContext());
  replaced.push_back({});
  outs.push_back(kernel::EmptyOp::create(
      rewriter, location,
      RankedTensorType::get(histogram, rewriter.getI32Type()), sizes));
  bool keepsProbabilities =
      routing.softmax &&
      isReadElsewhere(routing.softmax.getResult(0), launches);
  bool keepsValues =
      routing.quotient && isReadElsewhere(routing.topK.getResult(0), launches);
  if (keepsProbabilities)
    replace(routing.softmax.getResult(0));
  if (keepsValues)
    replace(routing.topK.getResult(0));

  Operation *chooser = routing.softmax;
  if (!chooser)
    chooser = routing.topK;
  auto unit = [&](bool holds) {
    return holds ? rewriter.getUnitAttr() : UnitAttr();
  };
  auto fused = kernel::RouteOp::create(
      rewriter, location, TypeRange(ValueRange(outs)), chooser->getOperand(0),
      outs, routing.softmax ? routing.softmax.getAccuracyAttr() : nullptr,
      unit(bool(routing.quotient)), unit(keepsProbabilities),
      unit(keepsValues));
  for (Operation *launch : launches)
    reportFused(fusionName, launch, fused);
  for (auto [table, result] : llvm::zip_equal(replaced, fused.getResults()))
    if (table)
      rewriter.replaceAllUsesWith(table, result);
  for (Operation *launch : llvm::reverse(launches))
    eraseWithViews(launch, rewriter);
}

LogicalResult
FuseRoutingTables::matchAndRewrite(kernel::RouteScatterOp op,
                                   PatternRewriter &rewriter) const {
  FailureOr<Routing> routing = find(op, rewriter);
  if (failed(routing))
    return failure();
  fuse(*routing, rewriter);
  return success();
}

namespace {
struct FuseRouting : epifold::impl::FuseRoutingPassBase<FuseRouting> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseRoutingPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseRoutingPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseRoutingTables>(patterns.getContext());
}
