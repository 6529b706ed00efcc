// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the compiler's command-line tools share: exit codes, files, errors on
// stderr.

#ifndef EPIFOLD_COMPILER_TOOLS_SUPPORT_TOOLSUPPORT_H
#define EPIFOLD_COMPILER_TOOLS_SUPPORT_TOOLSUPPORT_H

#include "epifold/Graph.h"
#include "epifold/runtime/DataType.h"
#include "epifold/runtime/Error.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace epifold::tools {

enum ExitCode { kOk = 0, kFailed = 1, kBadUsage = 2 };

/// Parses the command line. Returns the exit code when the tool should end: 0
/// after --help or --version, 2 for bad usage.
std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv);

/// Prints "tool: message" on stderr and returns kFailed.
int fail(const std::string &tool, const Error &error);

/// Adds `--remarks[=all|fused|missed]`; `kinds` stays empty without it.
void addRemarksOption(CLI::App &app, std::string &kinds);

/// Adds `--math=portable|fast`; `mode` stays empty without it: what the graph
/// says holds then.
void addMathOption(CLI::App &app, std::optional<MathMode> &mode);

/// Adds `--load-pass-plugin FILE`, which may be repeated.
void addPluginOption(CLI::App &app, std::vector<std::string> &files);

Expected<std::string> readFile(const std::string &path);

/// Writes through a temporary file in the same folder, so that `path` is either
/// the whole content or what it was; "-" is standard output.
Expected<void> writeFile(const std::string &path, std::string_view content);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_SUPPORT_TOOLSUPPORT_H
