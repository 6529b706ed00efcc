// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The process's list of fusions that plugins added.

#include "passes/FusionRegistry.h"

#include "passes/Pipeline.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <mutex>

using namespace mlir;
using namespace epifold;

namespace {
struct Registry {
  std::mutex mutex;
  std::vector<RegisteredFusion> fusions;
  std::vector<std::string> errors;
};
} // namespace

/// Plugins are loaded for the process, as MLIR's own registry of passes is.
static Registry &registry() {
  static Registry instance;
  return instance;
}

static bool isFusionName(StringRef name) {
  return !name.empty() && llvm::isLower(name.front()) &&
         llvm::all_of(name, [](char c) {
           return llvm::isLower(c) || llvm::isDigit(c) || c == '-';
         });
}

void epifold::registerFusion(StringRef name, FusionPoint point,
                             std::function<std::unique_ptr<Pass>()> create) {
  bool isTaken = name == "all" || name == "none" ||
                 llvm::is_contained(getFusionNames(), name);
  std::lock_guard<std::mutex> lock(registry().mutex);
  if (!isFusionName(name))
    registry().errors.push_back(
        "'" + name.str() +
        "' is no name of a fusion: small letters, digits and '-', a letter "
        "first");
  else if (isTaken)
    registry().errors.push_back("a fusion is named '" + name.str() +
                                "' already");
  else
    registry().fusions.push_back({name.str(), point, std::move(create)});
}

std::vector<RegisteredFusion> epifold::getRegisteredFusions() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().fusions;
}

std::vector<std::string> epifold::takeRegistrationErrors() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return std::exchange(registry().errors, {});
}
