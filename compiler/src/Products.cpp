// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lists the products of a graph and their schedules.

#include "compiler/src/Products.h"

#include "compiler/src/Lowering.h"
#include "ir/kernel/KernelDialect.h"

#include <map>

using namespace mlir;

namespace epifold {

std::vector<ptx::TunedSchedule> tunedSchedulesOf(const Tuning &tuning) {
  std::vector<ptx::TunedSchedule> tuned;
  for (const TuningEntry &entry : tuning.entries)
    tuned.push_back(
        {entry.product, entry.target, {entry.rows, entry.schedule}});
  return tuned;
}

/// The products of `function` by what is emitted for them, with the numbers of
/// their launches.
static std::vector<std::pair<Operation *, std::vector<size_t>>>
collectProducts(func::FuncOp function) {
  std::vector<std::pair<Operation *, std::vector<size_t>>> products;
  std::map<std::string, size_t> known;
  size_t launch = 0;
  for (Operation &op : function.getBody().front()) {
    if (!isa<DestinationStyleOpInterface>(op))
      continue;
    if (isa<kernel::GemmOp>(op)) {
      auto [entry, isNew] =
          known.try_emplace(ptx::getKernelKey(&op), products.size());
      if (isNew)
        products.emplace_back(&op, std::vector<size_t>());
      products[entry->second].second.push_back(launch);
    }
    ++launch;
  }
  return products;
}

Expected<std::vector<ProductReport>>
listProducts(const Graph &graph, const CompileOptions &options) {
  Expected<OwningOpRef<ModuleOp>> module =
      lowerToKernels(graph, options.fusion, options.onFusionRemark);
  if (!module)
    return module.error();
  DiagnosticCollector diagnostics(graph.impl().context.get());
  auto failure = [&] {
    return diagnostics.takeError(ErrorCode::Compile,
                                 "a product has no schedule");
  };
  std::vector<ptx::TunedSchedule> tuned = tunedSchedulesOf(options.tuning);
  std::vector<ProductReport> reports;
  for (const auto &[op, launches] :
       collectProducts(*(*module)->getOps<func::FuncOp>().begin()))
    for (const std::string &target : options.targets) {
      ProductReport &report = reports.emplace_back();
      report.product = *ptx::describeProduct(op);
      report.target = target;
      report.rows = ptx::rowsOfProduct(op);
      report.launches = launches;
      FailureOr<std::vector<ptx::ScheduleUse>> uses =
          ptx::schedulesInUse(op, target, tuned);
      if (failed(uses))
        return failure();
      for (ptx::ScheduleUse &use : *uses)
        report.schedules.push_back(
            {std::move(use.schedule), use.mostRows, use.isMeasured});
      FailureOr<std::vector<std::string>> candidates =
          ptx::scheduleCandidates(op, target);
      if (failed(candidates))
        return failure();
      report.candidates = std::move(*candidates);
    }
  return reports;
}

std::string printProducts(const std::vector<ProductReport> &products) {
  std::string text;
  for (const ProductReport &product : products) {
    text += product.product + "\n  " + std::to_string(product.launches.size()) +
            (product.launches.size() == 1 ? " launch of " : " launches of ") +
            (product.rows ? std::to_string(*product.rows) : "any number of") +
            " rows on " + product.target + "\n";
    for (const ProductReport::Schedule &schedule : product.schedules) {
      text += "  " + schedule.schedule;
      if (schedule.mostRows)
        text += " up to " + std::to_string(*schedule.mostRows) + " rows";
      text += schedule.isTuned ? " (tuned)\n" : "\n";
    }
  }
  return text;
}

} // namespace epifold
