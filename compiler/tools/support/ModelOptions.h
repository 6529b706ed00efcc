// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The size options of the built-in models, the same in every tool.

#ifndef EPIFOLD_COMPILER_TOOLS_SUPPORT_MODELOPTIONS_H
#define EPIFOLD_COMPILER_TOOLS_SUPPORT_MODELOPTIONS_H

#include "epifold/Models.h"

#include <CLI/CLI.hpp>

namespace epifold::tools {

/// Accepts whole numbers of at least 1.
const CLI::Validator &positive();

/// A size that must be positive, with its default shown.
void addSize(CLI::App &app, const std::string &flag, int64_t &value,
             const std::string &text);

/// Options for every size of a model but the token count, which tools take
/// differently.
void addModelOptions(CLI::App &app, ExpertConvFoldModel &model);
void addModelOptions(CLI::App &app, ClmConvMoeModel &model);
void addModelOptions(CLI::App &app, MoeSwigluModel &model);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_SUPPORT_MODELOPTIONS_H
