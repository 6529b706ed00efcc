// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All tools in one program: `epifold run …`, or a link named epifold-run to it.

#include "compiler/tools/ToolMains.h"

#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

struct Tool {
  const char *name;
  int (*main)(int argc, char **argv);
  const char *summary;
};

constexpr Tool tools[] = {
    {"gen", epifoldGenMain, "writes a built-in model's graph"},
    {"compile", epifoldCompileMain, "compiles a graph ahead of time"},
    {"run", epifoldRunMain, "runs an executable or a graph"},
    {"bench", epifoldBenchMain, "times a workload"},
    {"exact", epifoldExactMain, "shows what is equal to what, to the bit"},
};

const Tool *findTool(std::string_view name) {
  for (const Tool &tool : tools)
    if (name == tool.name)
      return &tool;
  return nullptr;
}

/// The tool that a link's name asks for: "epifold-run" is "run".
const Tool *findToolOfProgram(std::string_view path) {
  constexpr std::string_view prefix = "epifold-";
  std::string_view program = path.substr(path.rfind('/') + 1);
  return program.starts_with(prefix) ? findTool(program.substr(prefix.size()))
                                     : nullptr;
}

void printUsage(std::FILE *stream) {
  std::fprintf(stream, "usage: epifold TOOL [option...]\n\n");
  for (const Tool &tool : tools)
    std::fprintf(stream, "  %-8s %s\n", tool.name, tool.summary);
  std::fprintf(stream, "\n`epifold TOOL --help` shows a tool's options.\n");
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 0)
    if (const Tool *tool = findToolOfProgram(argv[0]))
      return tool->main(argc, argv);
  if (argc > 1) {
    if (const Tool *tool = findTool(argv[1]))
      return tool->main(argc - 1, argv + 1);
    if (std::strcmp(argv[1], "--help") == 0) {
      printUsage(stdout);
      return 0;
    }
    std::fprintf(stderr, "epifold: no tool named '%s'\n", argv[1]);
  }
  printUsage(stderr);
  return 2;
}
