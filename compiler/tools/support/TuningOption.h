// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The option of a tuning file, the same in every tool that compiles.

#ifndef EPIFOLD_COMPILER_TOOLS_SUPPORT_TUNINGOPTION_H
#define EPIFOLD_COMPILER_TOOLS_SUPPORT_TUNINGOPTION_H

#include "epifold/Tuning.h"

#include <CLI/CLI.hpp>

namespace epifold::tools {

void addTuningFile(CLI::App &app, std::string &path);

/// The content of the file; no entries when `path` is empty.
Expected<Tuning> readTuning(const std::string &path);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_SUPPORT_TUNINGOPTION_H
