// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses the command line of epifold-bench.

#include "Options.h"

#include "compiler/tools/support/ModelOptions.h"
#include "compiler/tools/support/ToolSupport.h"
#include "epifold/Compiler.h"

#include <charconv>
#include <iostream>

namespace epifold::tools {
namespace {

constexpr const char *kExamples = R"(Examples:
  epifold-bench moe_swiglu --tokens=4096 --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16
      times a layer on the first GPU with all fusions
  epifold-bench clm_conv_moe --tokens=512 --width=1536 --experts=2 --dtype=bf16 --launch=graph --sustained 0.7 --json
      the same work first, so that the clock has settled, and a line of JSON
  epifold-bench expert_conv_fold --tokens=24 --width=8 --fusion=none --device=reference
      times the evaluation on the CPU
  epifold-bench graph block.mlir --size=4096
      times a graph of your own with 4096 for its dynamic dimensions

Bytes are what the launches read and write, each tensor once; peak bytes are the device memory in use at most.
Exit status: 0 ok; 1 failed; 2 bad usage.)";

constexpr const char *kList =
    "expert_conv_fold  causal convolutions of E experts over one input\n"
    "clm_conv_moe      a language model block with a dense mixture of "
    "convolutions\n"
    "moe_swiglu        the top-k mixture of SwiGLU experts\n"
    "graph FILE        a graph of your own\n";

/// "" for a usable device name, else what is wrong with it.
std::string checkDevice(const std::string &text) {
  if (text == "reference")
    return "";
  int ordinal = -1;
  if (text.starts_with("cuda:")) {
    const char *begin = text.data() + 5, *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(begin, end, ordinal);
    if (error == std::errc() && stop == end && ordinal >= 0)
      return "";
  }
  return "'" + text + "' is neither 'reference' nor 'cuda:N'";
}

/// Sizes and counts: positive integers with a default.
/// The options that are the same for every workload.
struct Common {
  explicit Common(BenchOptions &options) : options(options) {}

  void add(CLI::App &app) {
    MeasureOptions &measure = options.measure;
    app.add_option("--fusion", measure.fusion,
                   "none, all, or names with commas; the results are the same")
        ->type_name("SET")
        ->capture_default_str();
    app.add_option("--launch", launch, "stream or graph")
        ->check(CLI::IsMember({"stream", "graph"}))
        ->type_name("MODE")
        ->capture_default_str();
    app.add_option("--device", measure.device,
                   "reference or cuda:N (default: cuda:0, or reference where "
                   "there is no GPU)")
        ->check(CLI::Validator(
            [](std::string &text) { return checkDevice(text); }, ""))
        ->type_name("DEVICE");
    app.add_option("--warmup", measure.warmup,
                   "Runs before the timed ones (default: 3; reference: 1)")
        ->check(CLI::Range(0, 1000000))
        ->type_name("N");
    app.add_option("--repeat", measure.repeat,
                   "Timed runs (default: 20; reference: 3)")
        ->check(CLI::Range(1, 1000000))
        ->type_name("N");
    app.add_option("--sustained", measure.sustained,
                   "Run the same work for so many seconds first")
        ->check(CLI::Range(0.0, 3600.0))
        ->type_name("SECONDS");
    app.add_flag("--json", options.json, "Print one JSON object on a line");
    app.get_formatter()->column_width(34);
  }

  void addModel(CLI::App &app) {
    app.add_option("--dtype", dtype, "Element type")
        ->check(CLI::IsMember({"f64", "f32", "bf16", "f16"}))
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_flag("--dynamic", options.dynamic,
                 "Compile for any count of tokens, as for --tokens=?");
    add(app);
  }

  BenchOptions &options;
  std::string launch = "stream", dtype = "f32";
};

} // namespace

std::variant<BenchOptions, int> parseBenchOptions(int argc, char **argv) {
  BenchOptions options;
  Common common(options);
  CLI::App app("Times a workload on random data.", "epifold-bench");
  app.set_version_flag("--version", versionString());
  app.add_flag_callback(
      "--list",
      [] {
        std::cout << kList;
        throw CLI::Success();
      },
      "List the workloads");
  app.footer(kExamples);
  app.require_subcommand(1);

  ExpertConvFoldModel fold;
  CLI::App *foldApp = app.add_subcommand(
      "expert_conv_fold", "Causal convolutions of E experts over one input");
  tools::addModelOptions(*foldApp, fold);
  tools::addSize(*foldApp, "--tokens", fold.tokens, "Tokens");
  common.addModel(*foldApp);

  ClmConvMoeModel clm;
  CLI::App *clmApp = app.add_subcommand(
      "clm_conv_moe",
      "A language model block with a dense mixture of convolutions");
  tools::addModelOptions(*clmApp, clm);
  tools::addSize(*clmApp, "--tokens", clm.tokens, "Tokens of a sample");
  common.addModel(*clmApp);

  MoeSwigluModel moe;
  CLI::App *moeApp =
      app.add_subcommand("moe_swiglu", "The top-k mixture of SwiGLU experts");
  tools::addSize(*moeApp, "--tokens", moe.tokens, "Tokens");
  tools::addModelOptions(*moeApp, moe);
  common.addModel(*moeApp);

  GraphFile file;
  CLI::App *graphApp = app.add_subcommand("graph", "A graph of your own");
  graphApp->add_option("FILE", file.path, "Graph (.mlir)")
      ->required()
      ->type_name("");
  graphApp->add_option("--size", file.size, "Size of every dynamic dimension")
      ->check(tools::positive())
      ->type_name("N");
  tools::addSize(*graphApp, "--limit", file.limit,
                 "Integer inputs are drawn from 0 to below this");
  common.add(*graphApp);

  if (auto exit = parseCommandLine(app, argc, argv))
    return *exit;
  options.measure.launch = common.launch == "graph"
                               ? runtime::LaunchMode::Graph
                               : runtime::LaunchMode::Stream;
  fold.type = clm.type = moe.type = *dataTypeFromName(common.dtype);
  if (*foldApp)
    options.model = fold;
  else if (*clmApp)
    options.model = clm;
  else if (*moeApp)
    options.model = moe;
  else
    options.model = std::move(file);
  return options;
}

} // namespace epifold::tools
