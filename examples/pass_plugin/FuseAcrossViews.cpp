// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A pass plugin with one fusion: elementwise launches reach the launch that
// they read through a view of its result.

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/FusionRegistry.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/SizeAnalysis.h"

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-across-views";

/// Whether `view` holds all of its input.
static bool isWhole(kernel::ViewOp view) {
  MLIRContext *context = view.getContext();
  AffineMap offset = view.getOffset();
  return offset.isSingleConstant() && offset.getSingleConstantResult() == 0 &&
         productOf(findSizes(view.getInput()), context) ==
             productOf(view.getSizes().getResults(), context);
}

/// What `value` is a view of, through views that hold all of it.
static Value findSource(Value value) {
  auto view = value.getDefiningOp<kernel::ViewOp>();
  while (view && isWhole(view)) {
    value = view.getInput();
    view = value.getDefiningOp<kernel::ViewOp>();
  }
  return value;
}

/// The elements of `tensor` in another shape.
static Value reshape(OpBuilder &builder, Location loc, Value tensor,
                     RankedTensorType type, AffineMap sizes) {
  Value source = findSource(tensor);
  if (source.getType() == type &&
      ArrayRef(findSizes(source)) == sizes.getResults())
    return source;
  return kernel::ViewOp::create(builder, loc, type, source,
                                builder.getConstantAffineMap(0), sizes);
}

/// Whether the launch reads and writes every element at the point itself, so
/// that it does the same in any shape.
static bool isPlain(kernel::MapOp op) {
  SmallVector<AffineExpr> sizes = findSizes(op.getOuts().front());
  bool isSameSize = llvm::all_of(
      op.getIns(), [&](Value in) { return findSizes(in) == sizes; });
  return isSameSize && !sizes.empty() &&
         llvm::all_of(op.getIndexingMaps().getAsValueRange<AffineMapAttr>(),
                      [](AffineMap map) { return map.isIdentity(); });
}

/// The launch that makes `value`, if a fusion might join it with the only
/// launch that reads the value.
static Operation *findNeighbour(Value value) {
  Operation *launch = value.getDefiningOp();
  bool isJoinable = isa_and_present<kernel::MapOp, kernel::GemmOp>(launch) &&
                    llvm::all_equal(launch->getUsers());
  return isJoinable ? launch : nullptr;
}

namespace {

/// map(view(launch)) → view(map(launch)), where the map is elementwise in the
/// plainest sense. The launches are neighbours then, and the built-in fusions
/// make one of them.
struct MoveMapBeforeView : OpRewritePattern<kernel::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::MapOp op,
                                PatternRewriter &rewriter) const override {
    for (Value in : op.getIns()) {
      Operation *producer = findSource(in).getDefiningOp();
      if (isa_and_present<kernel::MapOp, kernel::GemmOp>(producer) &&
          in.getDefiningOp<kernel::ViewOp>() &&
          succeeded(canMove(op, in, producer, rewriter))) {
        move(op, in, producer, rewriter);
        return success();
      }
    }
    return notACandidate(); // Or refused for every view.
  }

private:
  static LogicalResult canMove(kernel::MapOp op, Value view,
                               Operation *producer, PatternRewriter &rewriter) {
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, producer, reason);
    };
    for (Value value = view; value; value = inputOfView(value))
      if (!llvm::all_equal(value.getUsers()))
        return refuse("its value is needed elsewhere");
    // One neighbour is enough; two would pull the launch to and fro.
    if (llvm::any_of(op.getIns(), findNeighbour))
      return refuse("the launch has another neighbour");
    if (op.getOffsets())
      return refuse("the launch covers the rows of experts");
    if (op.getOuts().size() != 1 ||
        !op.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("the launch writes a part of a buffer");
    if (!isPlain(op))
      return refuse("the launch repeats or moves elements");
    return success();
  }

  /// The input of the view that makes `value`; null where another op does.
  static Value inputOfView(Value value) {
    auto view = value.getDefiningOp<kernel::ViewOp>();
    return view ? view.getInput() : Value();
  }

  static void move(kernel::MapOp op, Value view, Operation *producer,
                   PatternRewriter &rewriter) {
    reportFused(fusionName, op, "takes the shape of " + describe(producer));
    Location loc = op.getLoc();
    Value source = findSource(view);
    auto shape = cast<RankedTensorType>(source.getType());
    AffineMap newSizes = AffineMap::get(
        0, view.getDefiningOp<kernel::ViewOp>().getSizes().getNumSymbols(),
        findSizes(source), op.getContext());
    AffineMap oldSizes =
        op.getOuts().front().getDefiningOp<kernel::EmptyOp>().getSizes();

    SmallVector<Value> ins;
    for (Value in : op.getIns())
      ins.push_back(reshape(rewriter, loc, in,
                            shape.clone(getElementTypeOrSelf(in)), newSizes));
    RankedTensorType type =
        shape.clone(getElementTypeOrSelf(op.getOuts().front()));
    Value out = kernel::EmptyOp::create(rewriter, loc, type, newSizes);
    SmallVector<AffineMap> maps(
        ins.size() + 1, rewriter.getMultiDimIdentityMap(shape.getRank()));
    auto moved = kernel::MapOp::create(
        rewriter, loc, TypeRange{type}, ins, /*offsets=*/Value(), out,
        rewriter.getAffineMapArrayAttr(maps), op.getDomainAttr(),
        /*group=*/IntegerAttr());
    rewriter.inlineRegionBefore(op.getBody(), moved.getBody(),
                                moved.getBody().end());
    rewriter.replaceOpWithNewOp<kernel::ViewOp>(
        op, op.getResultTypes().front(), moved.getResult(0),
        rewriter.getConstantAffineMap(0), oldSizes);
  }
};

struct FuseAcrossViews
    : PassWrapper<FuseAcrossViews, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseAcrossViews)

  StringRef getArgument() const override { return fusionName; }
  StringRef getDescription() const override {
    return "Brings elementwise launches next to the launch whose result they "
           "read through a view";
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MoveMapBeforeView>(&getContext());
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

/// What `--load-pass-plugin` looks for.
extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FuseAcrossViews", "0.1",
          [] { registerFusion<FuseAcrossViews>(FusionPoint::EarlyKernel); }};
}
