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

/// Why no fusion may have that name, or nothing when one may.
static std::optional<std::string> findMistake(StringRef name) {
  if (!isFusionName(name))
    return "'" + name.str() +
           "' is no name of a fusion: small letters, digits and '-', a letter "
           "first";
  if (name == "all" || name == "none" ||
      llvm::is_contained(getFusionNames(), name))
    return "a fusion is named '" + name.str() + "' already";
  return std::nullopt;
}

bool epifold::registerFusion(StringRef name, FusionPoint point,
                             std::function<std::unique_ptr<Pass>()> create) {
  std::optional<std::string> mistake = findMistake(name);
  std::lock_guard<std::mutex> lock(registry().mutex);
  if (mistake)
    registry().errors.push_back(*mistake);
  else
    registry().fusions.push_back({name.str(), point, std::move(create)});
  return !mistake;
}

std::vector<RegisteredFusion> epifold::getRegisteredFusions() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().fusions;
}

std::vector<std::string> epifold::takeRegistrationErrors() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return std::exchange(registry().errors, {});
}
