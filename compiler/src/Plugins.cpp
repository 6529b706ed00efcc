// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loads pass plugins, and names the fusions that there are.

#include "epifold/Compiler.h"

#include "passes/FusionRegistry.h"
#include "passes/Pipeline.h"

#ifndef EPIFOLD_STATIC_BUNDLE
#include "mlir/Tools/Plugins/PassPlugin.h"
#endif

#include <filesystem>
#include <mutex>

namespace epifold {

std::vector<std::string> fusionNames() { return getFusionNames(); }

#ifdef EPIFOLD_STATIC_BUNDLE

Expected<std::vector<std::string>> loadPassPlugin(const std::string &path) {
  return Error(ErrorCode::Unsupported,
               "cannot load " + path +
                   ": this program is linked statically, so that a plugin "
                   "would bring a second MLIR; use the tools of a build with "
                   "shared libraries");
}

#else

Expected<std::vector<std::string>> loadPassPlugin(const std::string &path) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::string>> loaded;
  std::lock_guard<std::mutex> lock(mutex);

  // A bare name would be looked for among the system's libraries.
  std::error_code code;
  std::string file = std::filesystem::canonical(path, code).string();
  if (code)
    return Error(ErrorCode::Io, "cannot open " + path + ": " + code.message());
  if (auto known = loaded.find(file); known != loaded.end())
    return known->second;

  llvm::Expected<mlir::PassPlugin> plugin = mlir::PassPlugin::load(file);
  if (!plugin)
    return Error(
        ErrorCode::InvalidArgument,
        path + " is no pass plugin: " + llvm::toString(plugin.takeError()));
  size_t before = getRegisteredFusions().size();
  plugin->registerPassRegistryCallbacks();
  std::vector<std::string> names;
  std::vector<RegisteredFusion> fusions = getRegisteredFusions();
  for (size_t i = before; i < fusions.size(); ++i)
    names.push_back(fusions[i].name);
  loaded[file] = names;
  if (std::vector<std::string> errors = takeRegistrationErrors();
      !errors.empty())
    return Error(ErrorCode::InvalidArgument,
                 "plugin " + path + ": " + errors.front());
  return names;
}

#endif

} // namespace epifold
