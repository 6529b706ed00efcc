// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes remarks of fusions, and of the refusals that stand in the end.

#include "passes/FusionRemarks.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace epifold;

/// The name that `getLaunchLocation` keeps, or the op's own.
static StringRef nameOf(Operation *op) {
  if (auto named = op->getLoc()->findInstanceOf<NameLoc>())
    return named.getName().getValue();
  return op->getName().getStringRef();
}

std::string epifold::describe(Operation *op) {
  std::string text = nameOf(op).str();
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    text += " (" + place.getFilename().str() + ":" +
            std::to_string(place.getLine()) + ":" +
            std::to_string(place.getColumn()) + ")";
  return text;
}

Location epifold::getLaunchLocation(Operation *graphOp) {
  return NameLoc::get(graphOp->getName().getIdentifier(), graphOp->getLoc());
}

Location epifold::fuseLocations(Operation *kept, Operation *absorbed) {
  return FusedLoc::get(kept->getContext(),
                       {kept->getLoc(), absorbed->getLoc()});
}

static remark::RemarkOpts makeOptions(StringRef fusion, Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(nameOf(op))
      .category(fusion)
      .function(function ? function.getName() : StringRef());
}

void epifold::reportFused(StringRef fusion, Operation *op,
                          const Twine &message) {
  if (op->getContext()->getRemarkEngine())
    remark::passed(op->getLoc(), makeOptions(fusion, op)) << message.str();
}

void epifold::reportFused(StringRef fusion, Operation *absorbed,
                          Operation *kept) {
  if (absorbed->getContext()->getRemarkEngine())
    reportFused(fusion, absorbed, "is computed in " + describe(kept));
}

void epifold::reportMissed(StringRef fusion, Operation *op,
                           const Twine &message) {
  if (op->getContext()->getRemarkEngine())
    remark::missed(op->getLoc(), makeOptions(fusion, op)) << message.str();
}

LogicalResult epifold::refuse(PatternRewriter &rewriter, Operation *op,
                              Operation *other, const Twine &reason) {
  return rewriter.notifyMatchFailure(op, [&](Diagnostic &diagnostic) {
    diagnostic << "stays apart from " << describe(other) << ": " << reason;
  });
}

namespace {
/// Makes a missed remark of each refusal of the op at hand.
struct RefusalReporter : RewriterBase::Listener {
  explicit RefusalReporter(StringRef fusion) : fusion(fusion) {}

  void notifyMatchFailure(Location loc,
                          function_ref<void(Diagnostic &)> addReason) override {
    Diagnostic reason(loc, DiagnosticSeverity::Remark);
    addReason(reason);
    // One answer for each operand of an op may be the same answer.
    if (told.insert(reason.str()).second)
      reportMissed(fusion, op, reason.str());
  }

  void moveTo(Operation *next) {
    op = next;
    told.clear();
  }

private:
  StringRef fusion;
  Operation *op = nullptr;
  llvm::StringSet<> told; ///< Of `op`.
};
} // namespace

/// Asks the patterns once more about every op. None matches any longer, so that
/// each says why, once, and of ops that stay.
static void reportRefusals(StringRef fusion, Operation *root,
                           const FrozenRewritePatternSet &patterns) {
  RefusalReporter reporter(fusion);
  PatternRewriter rewriter(root->getContext());
  rewriter.setListener(&reporter);
  PatternApplicator applicator(patterns);
  applicator.applyDefaultCostModel();
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    reporter.moveTo(op);
    rewriter.setInsertionPoint(op);
    // A match would change what is being walked.
    return succeeded(applicator.matchAndRewrite(op, rewriter))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
}

LogicalResult epifold::applyFusion(StringRef fusion, Operation *root,
                                   RewritePatternSet &&patterns) {
  FrozenRewritePatternSet frozen(std::move(patterns));
  // Producers first: an op then meets what its producers have become, and a
  // remark tells of it once.
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal();
  if (failed(applyPatternsGreedily(root, frozen, config)))
    return failure();
  if (root->getContext()->getRemarkEngine())
    reportRefusals(fusion, root, frozen);
  return success();
}
