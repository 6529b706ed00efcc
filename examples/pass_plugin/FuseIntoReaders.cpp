// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A pass plugin with one fusion: a cheap elementwise launch that several others
// read is computed in each of them.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/FusionRegistry.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/MemoryPlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-into-readers";

static AffineMap mapOf(kernel::MapOp op, unsigned operand) {
  return cast<AffineMapAttr>(op.getIndexingMaps()[operand]).getValue();
}

/// Whether each reader had better compute the value than read it: that takes
/// no more bytes, and no function that costs.
static bool isCheap(kernel::MapOp op) {
  int64_t read = 0;
  for (Value in : op.getIns())
    read += getElementBytes(getElementTypeOrSelf(in));
  return read <= getElementBytes(getElementTypeOrSelf(op.getOuts().front())) &&
         llvm::none_of(op.getBody().front(), [](Operation &scalar) {
           return isa<kernel::MathOp, arith::DivFOp>(scalar);
         });
}

namespace {

/// One map with several readers → as many maps with one reader each, which
/// `fuse-elementwise-chains` then makes part of their readers.
struct ComputeInReaders : OpRewritePattern<kernel::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::MapOp op,
                                PatternRewriter &rewriter) const override {
    llvm::SetVector<Operation *> readers(op->user_begin(), op->user_end());
    if (readers.size() < 2)
      return notACandidate();
    for (Operation *reader : readers)
      if (failed(canCompute(op, reader, rewriter)))
        return failure();
    copyFor(readers.getArrayRef().drop_front(), op, rewriter);
    return success();
  }

private:
  /// The conditions under which the built-in fusion takes the copies: a copy
  /// that stays would be one launch more instead of one less.
  static LogicalResult canCompute(kernel::MapOp op, Operation *reader,
                                  PatternRewriter &rewriter) {
    auto refuse = [&](const char *reason) {
      return epifold::refuse(rewriter, op, reader, reason);
    };
    unsigned ins = op.getIns().size();
    if (op.getOuts().size() != 1 || op.getDomain() != int64_t(ins) ||
        !op.getOuts().front().getDefiningOp<kernel::EmptyOp>())
      return refuse("the launch writes a part of a buffer");
    if (llvm::none_of(llvm::seq(ins),
                      [&](unsigned i) { return mapOf(op, i).isIdentity(); }))
      return refuse("the launch only repeats elements");
    if (!isCheap(op))
      return refuse("the value is cheaper to read than to compute");
    if (llvm::any_of(op.getIns(), [](Value in) {
          return in.getDefiningOp<kernel::GemmOp>() != nullptr;
        }))
      return refuse("the launch can join a product");
    auto map = dyn_cast<kernel::MapOp>(reader);
    if (!map || llvm::is_contained(map.getOuts(), op.getResult(0)))
      return refuse("the value is needed in memory");
    if (map.getOffsets() != op.getOffsets() || map.getGroup() != op.getGroup())
      return refuse("the reader covers other rows");
    for (auto [i, in] : llvm::enumerate(map.getIns()))
      if (in == op.getResult(0) && !mapOf(map, i).isIdentity())
        return refuse("the reader reads at another place");
    return success();
  }

  static void copyFor(ArrayRef<Operation *> readers, kernel::MapOp op,
                      PatternRewriter &rewriter) {
    reportFused(fusionName, op,
                "is computed by each of its " + Twine(readers.size() + 1) +
                    " readers");
    Value out = op.getOuts().front();
    rewriter.setInsertionPoint(op);
    for (Operation *reader : readers) {
      IRMapping mapping;
      mapping.map(out, rewriter.clone(*out.getDefiningOp())->getResult(0));
      Value copy = rewriter.clone(*op, mapping)->getResult(0);
      rewriter.modifyOpInPlace(
          reader, [&] { reader->replaceUsesOfWith(op.getResult(0), copy); });
    }
  }
};

struct FuseIntoReaders
    : PassWrapper<FuseIntoReaders, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseIntoReaders)

  StringRef getArgument() const override { return fusionName; }
  StringRef getDescription() const override {
    return "Copies cheap elementwise launches, one for each launch that reads "
           "them";
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComputeInReaders>(&getContext());
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

/// What `--load-pass-plugin` looks for.
extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FuseIntoReaders", "0.1",
          [] { registerFusion<FuseIntoReaders>(FusionPoint::EarlyKernel); }};
}
