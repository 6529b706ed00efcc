// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that moves elementwise launches into the epilogues of products.

#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"

namespace epifold {
#define GEN_PASS_DEF_FUSEGLUEINTOEPILOGUEPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-glue-into-epilogue";

namespace {

/// One elementwise launch over the results of one product, or of several that
/// share their input, becomes the epilogue of one product.
struct FuseMapIntoProducts : OpRewritePattern<kernel::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::MapOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<kernel::GemmOp> products;
    for (Value in : op.getIns())
      if (auto product = in.getDefiningOp<kernel::GemmOp>())
        if (!llvm::is_contained(products, product))
          products.push_back(product);
    if (products.empty())
      return notACandidate();
    for (kernel::GemmOp product : products) {
      if (failed(canFuse(op, product, rewriter)))
        return failure();
      if (!shareInput(products.front(), product))
        return refuse(rewriter, op, product,
                      "its products do not share their input");
    }
    fuse(op, products, rewriter);
    return success();
  }

private:
  static AffineMap mapAt(ArrayAttr maps, unsigned i) {
    return cast<AffineMapAttr>(maps[i]).getValue();
  }
  static AffineMap outMap(kernel::GemmOp product) {
    return mapAt(product.getIndexingMaps(), product.getExtras().size());
  }

  /// Whether two tensors have the same points. Of ragged rows the offsets say
  /// which are there, so that only their widths count.
  static bool haveEqualSizes(Value a, Value b, bool isRagged) {
    if (isRagged)
      return cast<ShapedType>(a.getType()).getShape().drop_front() ==
             cast<ShapedType>(b.getType()).getShape().drop_front();
    SmallVector<AffineExpr> sizes = findSizes(a);
    return !sizes.empty() && sizes == findSizes(b);
  }

  static LogicalResult canFuse(kernel::MapOp op, kernel::GemmOp product,
                               PatternRewriter &rewriter) {
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, product, reason);
    };
    if (product->getNumResults() != 1 || !llvm::all_equal(product->getUsers()))
      return refuse("the product is needed elsewhere");
    if (!product.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("the product writes a part of a buffer others write");
    if (product.getOffsets() != op.getOffsets() ||
        product.getGroup() != op.getGroup())
      return refuse("the launch covers other rows than the product");
    if (llvm::is_contained(op.getOuts(), product.getResult(0)))
      return refuse("the launch writes into the product");
    // Each element of the product is one point of the launch's domain.
    SmallVector<Value> operands(op.getIns());
    llvm::append_range(operands, op.getOuts());
    Value domain = operands[op.getDomain()];
    if (domain != product.getResult(0) &&
        !haveEqualSizes(domain, product.getResult(0),
                        static_cast<bool>(op.getOffsets())))
      return refuse("the launch's domain is not the product's result");
    for (auto [i, in] : llvm::enumerate(op.getIns()))
      if (in == product.getResult(0) &&
          !mapAt(op.getIndexingMaps(), i).isIdentity())
        return refuse("the launch reads the product at another place");
    return success();
  }

  /// Products that one op can compute: alike but for B, its part, and the
  /// epilogue.
  static bool shareInput(kernel::GemmOp a, kernel::GemmOp b) {
    return a.getA() == b.getA() && a.getGather() == b.getGather() &&
           a.getOffsets() == b.getOffsets() && a.getGroup() == b.getGroup() &&
           a.getGatherDivisor() == b.getGatherDivisor() &&
           a.getDilation() == b.getDilation() &&
           a.getB().front().getType() == b.getB().front().getType() &&
           a.getResultColumns() == b.getResultColumns() &&
           outMap(a) == outMap(b);
  }

  /// A map over the launch's domain as one over (group, row, column). Its
  /// symbol, the row's expert, is the group.
  static AffineMap overProduct(AffineMap map, AffineMap out) {
    AffineMap composed = map.compose(out);
    SmallVector<AffineExpr> symbols(composed.getNumSymbols(),
                                    getAffineDimExpr(0, composed.getContext()));
    return composed.replaceDimsAndSymbols({}, symbols, 3, 0);
  }

  static void fuse(kernel::MapOp op, ArrayRef<kernel::GemmOp> products,
                   PatternRewriter &rewriter) {
    kernel::GemmOp first = products.front();
    AffineMap out = outMap(first);
    SmallVector<Value> weights;
    SmallVector<int64_t> begins;
    IndexedOperands extras;
    SmallVector<SmallVector<unsigned>> extrasOfProduct;
    for (kernel::GemmOp product : products) {
      for (auto [j, b] : llvm::enumerate(product.getB())) {
        weights.push_back(b);
        begins.push_back(product.getBegin(j));
      }
      SmallVector<unsigned> &positions = extrasOfProduct.emplace_back();
      for (auto [j, extra] : llvm::enumerate(product.getExtras()))
        positions.push_back(
            extras.add(extra, mapAt(product.getIndexingMaps(), j)));
    }
    SmallVector<unsigned> extrasOfMap;
    for (auto [i, in] : llvm::enumerate(op.getIns()))
      extrasOfMap.push_back(
          in.getDefiningOp<kernel::GemmOp>()
              ? 0
              : extras.add(in,
                           overProduct(mapAt(op.getIndexingMaps(), i), out)));
    SmallVector<AffineMap> maps(extras.getMaps());
    for (unsigned i = 0; i < op.getOuts().size(); ++i)
      maps.push_back(overProduct(
          mapAt(op.getIndexingMaps(), op.getIns().size() + i), out));

    bool isPart = llvm::any_of(products, [](kernel::GemmOp product) {
      return product.getColumns().has_value();
    });
    reportFused(fusionName, op, first);
    for (kernel::GemmOp product : products.drop_front())
      reportFused(fusionName, product, first);
    auto fused = kernel::GemmOp::create(
        rewriter, fuseLocations(first, op), op.getResultTypes(), first.getA(),
        weights, first.getGather(), first.getOffsets(), extras.getValues(),
        op.getOuts(), rewriter.getAffineMapArrayAttr(maps),
        first.getDilationAttr(), first.getGroupAttr(),
        first.getGatherDivisorAttr(),
        isPart ? rewriter.getI64IntegerAttr(first.getResultColumns())
               : IntegerAttr(),
        isPart ? rewriter.getDenseI64ArrayAttr(begins) : DenseI64ArrayAttr());
    SmallVector<Type> types(weights.size(), fused.getAccumulatorType());
    for (Value extra : extras.getValues())
      types.push_back(getElementTypeOrSelf(extra.getType()));
    SmallVector<Location> locations(types.size(), op.getLoc());
    Block *block =
        rewriter.createBlock(&fused.getEpilogue(), {}, types, locations);

    // Each product's own epilogue, then the launch on what they yield.
    DenseMap<Value, Value> yielded;
    unsigned accumulator = 0;
    for (auto [i, positions] : llvm::enumerate(extrasOfProduct)) {
      kernel::GemmOp product = products[i];
      SmallVector<Value> arguments;
      for (unsigned j = 0; j < product.getB().size(); ++j)
        arguments.push_back(block->getArgument(accumulator++));
      for (unsigned position : positions)
        arguments.push_back(block->getArgument(weights.size() + position));
      yielded[product.getResult(0)] =
          inlineScalarCode(rewriter, product.getEpilogue().front(), arguments)
              .front();
    }
    SmallVector<Value> arguments;
    for (auto [in, position] : llvm::zip(op.getIns(), extrasOfMap)) {
      auto value = yielded.find(in);
      arguments.push_back(value != yielded.end()
                              ? value->second
                              : block->getArgument(weights.size() + position));
    }
    kernel::YieldOp::create(
        rewriter, op.getLoc(),
        inlineScalarCode(rewriter, op.getBody().front(), arguments));
    rewriter.replaceOp(op, fused);
    for (kernel::GemmOp product : products)
      rewriter.eraseOp(product);
  }
};

struct FuseGlueIntoEpilogue
    : epifold::impl::FuseGlueIntoEpiloguePassBase<FuseGlueIntoEpilogue> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseGlueIntoEpiloguePatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseGlueIntoEpiloguePatterns(
    RewritePatternSet &patterns) {
  patterns.add<FuseMapIntoProducts>(patterns.getContext());
}
