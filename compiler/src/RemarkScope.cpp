// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns MLIR's optimization remarks into those of the public interface.

#include "compiler/src/RemarkScope.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace epifold {

std::string toString(const FusionRemark &remark) {
  return (remark.place.empty() ? "" : remark.place + ": ") + "remark: [" +
         remark.fusion + "] " + remark.op + " " + remark.message;
}

bool isOfKind(const FusionRemark &remark, std::string_view kinds) {
  bool isFused = remark.kind == FusionRemark::Kind::Fused;
  return kinds == "all" || kinds == (isFused ? "fused" : "missed");
}

namespace {
class HandlerStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit HandlerStreamer(const FusionRemarkHandler &handler)
      : handler(handler) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    bool isFused = remark.getRemarkType() == llvm::remarks::Type::Passed;
    FusionRemark told{isFused ? FusionRemark::Kind::Fused
                              : FusionRemark::Kind::Missed,
                      remark.getCombinedCategoryName().str(),
                      {},
                      remark.getRemarkName().str(),
                      {}};
    if (auto place = remark.getLocation()->findInstanceOf<FileLineColLoc>())
      told.place = place.getFilename().str() + ":" +
                   std::to_string(place.getLine()) + ":" +
                   std::to_string(place.getColumn());
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      told.message += arg.val;
    // A pattern that has two goes at an op says the same twice. Ops without a
    // place cannot be told apart.
    if (told.place.empty() || said.insert(toString(told)).second)
      handler(told);
  }

private:
  const FusionRemarkHandler &handler;
  llvm::StringSet<> said;
};
} // namespace

RemarkScope::RemarkScope(MLIRContext &context,
                         const FusionRemarkHandler &handler) {
  if (!handler)
    return;
  remark::RemarkCategories categories;
  categories.passed = categories.missed = ".*";
  // Fails only where the context has an engine, which no other code gives it.
  if (succeeded(remark::enableOptimizationRemarks(
          context, std::make_unique<HandlerStreamer>(handler),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    this->context = &context;
}

RemarkScope::~RemarkScope() {
  if (context)
    context->setRemarkEngine(nullptr);
}

} // namespace epifold
