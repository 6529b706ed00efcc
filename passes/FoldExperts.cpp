// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that folds the isomorphic branches of E experts into ops with an
// expert dimension.

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/ExpertBranches.h"
#include "passes/FusionRemarks.h"
#include "passes/Passes.h"

namespace epifold {
#define GEN_PASS_DEF_FOLDEXPERTSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;
using namespace epifold::graph;

static constexpr llvm::StringLiteral singleProductText =
    "becomes one plain product over its shared input";

namespace {

/// expert_matmul over one shared input → one matmul with the experts' outputs
/// side by side.
struct ExpertMatmulToSingleProduct : OpRewritePattern<ExpertMatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpertMatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto lhs = dyn_cast<RankedTensorType>(op.getLhs().getType());
    if (!lhs || lhs.getRank() != 2)
      return rewriter.notifyMatchFailure(op, "the experts' inputs differ");
    auto weight = cast<RankedTensorType>(op.getRhs().getType());
    auto result = cast<RankedTensorType>(op.getType());
    int64_t experts = weight.getDimSize(0), n = weight.getDimSize(1),
            rows = lhs.getDimSize(0);
    reportFused(foldExpertsName, op, singleProductText);
    Location loc = op.getLoc();
    Value wide = ReshapeOp::create(
        rewriter, loc, weight.clone({experts * n, weight.getDimSize(2)}),
        op.getRhs());
    Value all = MatmulOp::create(
        rewriter, loc, result.clone({rows, experts * n}), op.getLhs(), wide);
    Value split =
        ReshapeOp::create(rewriter, loc, result.clone({rows, experts, n}), all);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, result, split,
                                             ArrayRef<int64_t>{1, 0, 2});
    return success();
  }
};

/// expert_causal_conv1d → one causal_conv1d with the experts' channels side by
/// side.
struct ExpertConvToSingleProduct : OpRewritePattern<ExpertCausalConv1dOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpertCausalConv1dOp op,
                                PatternRewriter &rewriter) const override {
    auto input = cast<RankedTensorType>(op.getInput().getType());
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    auto result = cast<RankedTensorType>(op.getType());
    if (llvm::count_if(input.getShape(), ShapedType::isDynamic) > 1)
      return rewriter.notifyMatchFailure(op, "batch and time are both dynamic");
    int64_t experts = weight.getDimSize(0), outputs = weight.getDimSize(1);
    reportFused(foldExpertsName, op, singleProductText);
    Location loc = op.getLoc();
    Value wide =
        ReshapeOp::create(rewriter, loc,
                          weight.clone({experts * outputs, weight.getDimSize(2),
                                        weight.getDimSize(3)}),
                          op.getWeight());
    SmallVector<int64_t> shape(input.getShape());
    shape.back() = experts * outputs;
    Value all =
        CausalConv1dOp::create(rewriter, loc, result.clone(shape),
                               op.getInput(), wide, op.getDilationAttr());
    shape.back() = experts;
    shape.push_back(outputs);
    Value split = ReshapeOp::create(rewriter, loc, result.clone(shape), all);
    SmallVector<int64_t> permutation{input.getRank() - 1};
    for (int64_t dim = 0; dim < input.getRank() - 1; ++dim)
      permutation.push_back(dim);
    permutation.push_back(input.getRank());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, result, split, permutation);
    return success();
  }
};

struct FoldExperts : epifold::impl::FoldExpertsPassBase<FoldExperts> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    if (form != "experts" && form != "single-product")
      return emitError(UnknownLoc::get(context))
             << "form '" << form
             << "' is neither 'experts' nor 'single-product'";
    return success();
  }

  void runOnOperation() override {
    if (!getOperation().getBody().hasOneBlock())
      return;
    Block &block = getOperation().getBody().front();
    ExpertBranches branches(block);
    foldedOps += branches.fold();
    if (form == "single-product") {
      RewritePatternSet patterns(&getContext());
      populateSingleProductPatterns(patterns);
      if (failed(applyFusion(foldExpertsName, getOperation(),
                             std::move(patterns))))
        return signalPassFailure();
    }
  }
};
} // namespace

void epifold::populateSingleProductPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpertMatmulToSingleProduct, ExpertConvToSingleProduct>(
      patterns.getContext());
}
