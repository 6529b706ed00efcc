// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets readers widen values, so that these are stored as narrow
// as they were rounded.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/ReshapeMap.h"

namespace epifold {
#define GEN_PASS_DEF_FUSECASTSINTOREADERSPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-casts-into-readers";

/// The scalar that stands for an element of `operand`, where a launch reads it
/// in a region; none where the launch itself has a meaning for the type.
static BlockArgument findScalar(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  if (auto map = dyn_cast<kernel::MapOp>(op))
    return number < map.getIns().size() ? map.getBody().getArgument(number)
                                        : BlockArgument();
  auto gemm = dyn_cast<kernel::GemmOp>(op);
  if (!gemm)
    return {};
  unsigned first = gemm.getExtras().getBeginOperandIndex();
  if (number < first || number >= first + gemm.getExtras().size())
    return {};
  return gemm.getEpilogue().getArgument(gemm.getB().size() + number - first);
}

/// Appends the readers of `value` and of its views in other shapes; returns one
/// that is no scalar code. (A part of a buffer starts where pieces of the wide
/// type may be read.)
static Operation *collectReaders(Value value,
                                 SmallVectorImpl<OpOperand *> &readers) {
  for (OpOperand &use : value.getUses()) {
    auto view = dyn_cast<kernel::ViewOp>(use.getOwner());
    if (view && isReshape(view)) {
      if (Operation *other = collectReaders(view, readers))
        return other;
    } else if (!findScalar(use)) {
      return use.getOwner();
    } else {
      readers.push_back(&use);
    }
  }
  return nullptr;
}

/// Gives `value` and its views another element type.
static void setElementType(PatternRewriter &rewriter, Value value, Type type) {
  value.setType(cast<RankedTensorType>(value.getType()).clone(type));
  for (Operation *user : value.getUsers())
    if (isa<kernel::ViewOp>(user))
      rewriter.modifyOpInPlace(
          user, [&] { setElementType(rewriter, user->getResult(0), type); });
}

namespace {

template <typename LaunchOp>
struct FuseCast : OpRewritePattern<LaunchOp> {
  using OpRewritePattern<LaunchOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(LaunchOp op,
                                PatternRewriter &rewriter) const override {
    LogicalResult found = notACandidate();
    for (unsigned i = 0; i < op->getNumResults() && failed(found); ++i)
      found = fuseCastOf(op, i, rewriter);
    return found;
  }

private:
  static LogicalResult fuseCastOf(LaunchOp op, unsigned number,
                                  PatternRewriter &rewriter) {
    Operation *yield = op->getRegion(0).front().getTerminator();
    auto cast = yield->getOperand(number).getDefiningOp<arith::ExtFOp>();
    Value result = op->getResult(number);
    if (!cast || result.use_empty())
      return notACandidate();
    Value out = op.getOuts()[number];
    auto empty = out.template getDefiningOp<kernel::EmptyOp>();
    if (!empty)
      return rewriter.notifyMatchFailure(
          op, "widens before it stores: it writes a part of a buffer that "
              "others write");
    SmallVector<OpOperand *> readers;
    if (Operation *other = collectReaders(result, readers))
      return rewriter.notifyMatchFailure(op, [&](Diagnostic &diagnostic) {
        diagnostic << "widens before it stores: " << describe(other)
                   << " needs the wide type";
      });

    for (OpOperand *reader : readers)
      reportFused(fusionName, op,
                  "is widened where " + describe(reader->getOwner()) +
                      " reads it");
    Type narrow = cast.getIn().getType();
    rewriter.setInsertionPoint(op);
    Value buffer = kernel::EmptyOp::create(
        rewriter, empty.getLoc(),
        llvm::cast<RankedTensorType>(out.getType()).clone(narrow),
        empty.getSizesAttr());
    rewriter.modifyOpInPlace(op, [&] {
      op.getOutsMutable()[number].set(buffer);
      yield->setOperand(number, cast.getIn());
      setElementType(rewriter, result, narrow);
    });
    for (OpOperand *reader : readers)
      rewriter.modifyOpInPlace(reader->getOwner(), [&] {
        BlockArgument scalar = findScalar(*reader);
        Type wide = scalar.getType();
        scalar.setType(narrow);
        rewriter.setInsertionPointToStart(scalar.getOwner());
        auto widened = arith::ExtFOp::create(
            rewriter, reader->getOwner()->getLoc(), wide, scalar);
        rewriter.replaceAllUsesExcept(scalar, widened, widened);
      });
    if (cast->use_empty())
      rewriter.eraseOp(cast);
    return success();
  }
};

struct FuseCastsIntoReaders
    : epifold::impl::FuseCastsIntoReadersPassBase<FuseCastsIntoReaders> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseCastsIntoReadersPatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseCastsIntoReadersPatterns(
    RewritePatternSet &patterns) {
  patterns.add<FuseCast<kernel::MapOp>, FuseCast<kernel::GemmOp>>(
      patterns.getContext());
}
