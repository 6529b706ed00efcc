// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// epifold-compile: compiles a graph ahead of time.

#include "compiler/tools/ToolMains.h"
#include "compiler/tools/support/ToolSupport.h"
#include "compiler/tools/support/TuningOption.h"
#include "epifold/Compiler.h"

#include <chrono>
#include <iostream>

using namespace epifold;

namespace {
constexpr const char *footer = R"(examples:
  epifold-compile moe.mlir -o moe.efx
  epifold-compile moe.mlir -o moe.efx --target=sm_90a --fusion=none --verbose
  epifold-compile moe.mlir -o moe.efx --math=fast   # a GPU's approximations of exp, tanh and others
  epifold-compile moe.mlir --emit=kernel            # the launches, as text on standard output
  epifold-compile moe.mlir -o moe.efx --tuning-file=h200.json
  epifold-compile moe.mlir --emit=schedules --tuning-file=h200.json   # how each product is cut into tiles
  epifold-compile moe.mlir -o moe.efx --check --dump-dir=stages
  epifold-compile moe.mlir -o moe.efx --remarks=missed  # what did not fuse, and why
  epifold-compile moe.mlir -o moe.efx --load-pass-plugin=mine.so --fusion=all,-fuse-mine)";
} // namespace

int epifoldCompileMain(int argc, char **argv) {
  CLI::App app("Compiles a graph to an executable (.efx), or shows it at a "
               "stage of the compilation.",
               "epifold-compile");
  app.set_version_flag("--version", versionString());
  app.footer(footer);
  CompileOptions options;
  std::string input, output, emit = "efx", remarks, tuningFile;
  std::vector<std::string> plugins;
  std::optional<MathMode> math;
  bool verbose = false;
  app.add_option("graph", input,
                 "Graph as MLIR text or bytecode; - is standard input")
      ->required();
  app.add_option("-o,--output", output,
                 "File to write; default: the input's name with .efx, or "
                 "standard output for text");
  app.add_option("--target", options.targets,
                 "Targets, joined by commas: sm_90a, sm_80, …")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option(
         "--fusion", options.fusion,
         "none, all, or fusions joined by commas, '-' before those to leave "
         "out; the bits are the same")
      ->capture_default_str();
  tools::addMathOption(app, math);
  tools::addRemarksOption(app, remarks);
  tools::addPluginOption(app, plugins);
  app.add_option("--emit", emit,
                 "graph, kernel, schedules (of products), ptx or efx")
      ->check(CLI::IsMember({"graph", "kernel", "schedules", "ptx", "efx"}))
      ->capture_default_str();
  tools::addTuningFile(app, tuningFile);
  app.add_option("--dump-dir", options.dumpDirectory,
                 "Write every stage into this folder");
  app.add_flag("--check", options.checkWithPtxas,
               "Assemble every kernel with ptxas; fail on errors, spills and "
               "serialised matrix instructions");
  app.add_option("--ptxas", options.ptxas, "ptxas to use with --check");
  app.add_option("--threads", options.threads,
                 "Threads that emit kernels; 0: one per core")
      ->capture_default_str();
  app.add_flag("-v,--verbose", verbose,
               "Say what was compiled and how long it took");
  if (auto exit = tools::parseCommandLine(app, argc, argv))
    return *exit;

  if (input == "-" && output.empty() && emit == "efx") {
    std::cerr << "epifold-compile: a graph from standard input has no name to "
                 "write under; give -o FILE\n";
    return tools::kBadUsage;
  }

  for (const std::string &plugin : plugins)
    if (auto loaded = loadPassPlugin(plugin); !loaded)
      return tools::fail("epifold-compile", loaded.error());
  if (!remarks.empty())
    options.onFusionRemark = [&](const FusionRemark &remark) {
      if (isOfKind(remark, remarks))
        std::cerr << toString(remark) << "\n";
    };

  auto start = std::chrono::steady_clock::now();
  Expected<std::string> source =
      tools::readFile(input == "-" ? "/dev/stdin" : input);
  if (!source)
    return tools::fail("epifold-compile", source.error());
  Expected<Graph> graph = Graph::parse(*source, input);
  if (!graph)
    return tools::fail("epifold-compile", graph.error());
  if (math)
    graph->setMathMode(*math);

  Expected<Tuning> tuning = tools::readTuning(tuningFile);
  if (!tuning)
    return tools::fail("epifold-compile", tuning.error());
  options.tuning = std::move(*tuning);

  if (emit != "efx") {
    Expected<std::string> text = emitStage(*graph, emit, options);
    if (!text)
      return tools::fail("epifold-compile", text.error());
    auto written = tools::writeFile(output.empty() ? "-" : output, *text);
    return written ? tools::kOk
                   : tools::fail("epifold-compile", written.error());
  }

  Expected<CompiledGraph> compiled = compile(*graph, options);
  if (!compiled)
    return tools::fail("epifold-compile", compiled.error());
  for (const std::string &remark : compiled->remarks)
    std::cerr << "epifold-compile: " << remark << "\n";
  if (options.checkWithPtxas && !compiled->remarks.empty())
    return tools::kFailed;
  if (output.empty())
    output =
        (input.ends_with(".mlir") ? input.substr(0, input.size() - 5) : input) +
        ".efx";
  std::string_view bytes(
      reinterpret_cast<const char *>(compiled->executable.data()),
      compiled->executable.size());
  if (auto written = tools::writeFile(output, bytes); !written)
    return tools::fail("epifold-compile", written.error());
  if (verbose) {
    std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    std::cerr << output << ": " << compiled->launches << " launches of "
              << compiled->kernels << " kernels, " << bytes.size() << " bytes, "
              << elapsed.count() << " ms\n";
  }
  return tools::kOk;
}
