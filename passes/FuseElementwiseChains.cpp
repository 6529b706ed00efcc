// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that makes elementwise launches which feed one another one launch.

#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/ReshapeMap.h"

namespace epifold {
#define GEN_PASS_DEF_FUSEELEMENTWISECHAINSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-elementwise-chains";

/// Whether computing the producer once for every element that reads it costs
/// next to nothing.
static bool isCheap(kernel::MapOp producer) {
  return llvm::none_of(producer.getBody().front(), [](Operation &op) {
    return isa<kernel::MathOp, arith::DivFOp>(op);
  });
}

namespace {

struct FuseProducerIntoMap : OpRewritePattern<kernel::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::MapOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [i, in] : llvm::enumerate(op.getIns())) {
      auto view = in.getDefiningOp<kernel::ViewOp>();
      Value written = view && isReshape(view) ? view.getInput() : in;
      auto producer = written.getDefiningOp<kernel::MapOp>();
      if (!producer || failed(canFuse(op, producer, i, rewriter)))
        continue;
      if (written == in) {
        fuse(op, producer, in, rewriter);
        return success();
      }
      if (succeeded(fuseAcross(view, op, producer, i, rewriter)))
        return success();
    }
    return notACandidate(); // Or refused for every producer.
  }

private:
  /// The producer's operand that is indexed as its out is and is no larger: the
  /// first columns of a wider tensor are indexed so as well.
  static std::optional<unsigned> findDomain(kernel::MapOp producer) {
    SmallVector<AffineExpr> sizes = findSizes(producer.getResult(0));
    for (auto [i, in] : llvm::enumerate(producer.getIns()))
      if (mapOf(producer, i).isIdentity() && findSizes(in) == sizes)
        return i;
    return std::nullopt;
  }

  static AffineMap mapOf(kernel::MapOp op, unsigned operand) {
    return cast<AffineMapAttr>(op.getIndexingMaps()[operand]).getValue();
  }

  static LogicalResult canFuse(kernel::MapOp op, kernel::MapOp producer,
                               unsigned operand, PatternRewriter &rewriter) {
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, producer, reason);
    };
    Value read = op.getIns()[operand];
    if (producer->getNumResults() != 1 ||
        !llvm::all_equal(producer->getUsers()) ||
        !llvm::all_equal(read.getUsers()))
      return refuse("the producer's value is needed elsewhere");
    if (llvm::is_contained(op.getOuts(), producer.getResult(0)))
      return refuse("the launch writes into the producer's value");
    if (producer.getDomain() != int64_t(producer.getIns().size()))
      return refuse("the producer writes a part of its buffer");
    if (!producer.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("the producer writes a part of a buffer that others write");
    if (producer.getOffsets() && (producer.getOffsets() != op.getOffsets() ||
                                  producer.getGroup() != op.getGroup()))
      return refuse("the producer covers other rows");
    AffineMap map = mapOf(op, operand);
    if (producer.getOffsets() &&
        map.getResult(0) != rewriter.getAffineDimExpr(0))
      return refuse("the producer's rows are read at other rows");
    if (op.getDomain() == int64_t(operand) && !findDomain(producer))
      return refuse("no operand of the producer has the launch's domain");
    // A value that is read more than once would be computed more than once.
    if (!map.isPermutation() && !isCheap(producer))
      return refuse("the producer's value is broadcast and costly to repeat");
    for (auto [in, map] : llvm::zip(op.getIns(), op.getIndexingMaps()))
      if (in == read && map != op.getIndexingMaps()[operand] &&
          !isCheap(producer))
        return refuse("the producer's value is read at two places");
    return success();
  }

  /// Fuses a producer that is read in another shape: one of the two launches
  /// takes the other's shape.
  static LogicalResult fuseAcross(kernel::ViewOp view, kernel::MapOp op,
                                  kernel::MapOp producer, unsigned operand,
                                  PatternRewriter &rewriter) {
    SmallVector<AffineExpr> read(view.getSizes().getResults());
    SmallVector<AffineExpr> written = findSizes(view.getInput());
    if (canReshapeMap(producer, read)) {
      kernel::MapOp reshaped = reshapeMap(rewriter, producer, read);
      Value value = reshaped.getResult(0);
      Operation *asBefore = view.getInput().getDefiningOp();
      rewriter.replaceOp(view, value);
      rewriter.eraseOp(asBefore);
      fuse(op, reshaped, value, rewriter);
      return success();
    }
    if (mapOf(op, operand).isIdentity() && canReshapeMap(op, written)) {
      kernel::MapOp reshaped = reshapeMap(rewriter, op, written);
      if (view->use_empty())
        rewriter.eraseOp(view);
      fuse(reshaped, producer, reshaped.getIns()[operand], rewriter);
      return success();
    }
    return epifold::refuse(rewriter, op, producer,
                           "the producer's value is read in another shape");
  }

  /// The map of a producer's operand as seen from the consumer's domain. Both
  /// may use the row's expert, which is one symbol afterwards.
  static AffineMap compose(AffineMap ofProducer, AffineMap ofConsumer) {
    AffineMap composed = ofProducer.compose(ofConsumer);
    AffineExpr expert = getAffineSymbolExpr(0, composed.getContext());
    SmallVector<AffineExpr> symbols(composed.getNumSymbols(), expert);
    return composed.replaceDimsAndSymbols({}, symbols, composed.getNumDims(),
                                          symbols.empty() ? 0 : 1);
  }

  static void fuse(kernel::MapOp op, kernel::MapOp producer, Value value,
                   PatternRewriter &rewriter) {
    // For each operand of the consumer: where it is now, or where the
    // producer's operands are.
    IndexedOperands operands;
    SmallVector<SmallVector<unsigned>> positions;
    for (auto [i, in] : llvm::enumerate(op.getIns())) {
      SmallVector<unsigned> &position = positions.emplace_back();
      AffineMap map = mapOf(op, i);
      if (in != value) {
        position.push_back(operands.add(in, map));
        continue;
      }
      for (auto [j, inner] : llvm::enumerate(producer.getIns()))
        position.push_back(
            operands.add(inner, compose(mapOf(producer, j), map)));
    }
    SmallVector<AffineMap> maps(operands.getMaps());
    for (unsigned i = 0; i < op.getOuts().size(); ++i)
      maps.push_back(mapOf(op, op.getIns().size() + i));
    int64_t domain = op.getDomain();
    if (domain >= int64_t(op.getIns().size()))
      domain += int64_t(operands.getValues().size()) - op.getIns().size();
    else
      domain = op.getIns()[domain] == value
                   ? positions[domain][*findDomain(producer)]
                   : positions[domain].front();

    reportFused(fusionName, producer, op);
    rewriter.setInsertionPoint(op);
    auto fused = kernel::MapOp::create(
        rewriter, fuseLocations(op, producer), op.getResultTypes(),
        operands.getValues(), op.getOffsets(), op.getOuts(),
        rewriter.getAffineMapArrayAttr(maps),
        rewriter.getI64IntegerAttr(domain), op.getGroupAttr());
    SmallVector<Type> types =
        llvm::map_to_vector(operands.getValues(), [](Value v) {
          return getElementTypeOrSelf(v.getType());
        });
    SmallVector<Location> locations(types.size(), op.getLoc());
    Block *block = rewriter.createBlock(&fused.getBody(), {}, types, locations);
    SmallVector<Value> arguments;
    for (auto [in, position] : llvm::zip(op.getIns(), positions)) {
      SmallVector<Value> given = llvm::map_to_vector(
          position, [&](unsigned p) -> Value { return block->getArgument(p); });
      if (in == value)
        given = inlineScalarCode(rewriter, producer.getBody().front(), given);
      arguments.push_back(given.front());
    }
    kernel::YieldOp::create(
        rewriter, op.getLoc(),
        inlineScalarCode(rewriter, op.getBody().front(), arguments));
    rewriter.replaceOp(op, fused);
    rewriter.eraseOp(producer);
  }
};

struct FuseElementwiseChains
    : epifold::impl::FuseElementwiseChainsPassBase<FuseElementwiseChains> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseElementwiseChainsPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseElementwiseChainsPatterns(
    RewritePatternSet &patterns) {
  patterns.add<FuseProducerIntoMap>(patterns.getContext());
}
