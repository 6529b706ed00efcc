// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// epifold-gen: writes the graph of a built-in model.

#include "compiler/tools/ToolMains.h"
#include "compiler/tools/support/ModelOptions.h"
#include "compiler/tools/support/ToolSupport.h"
#include "epifold/Compiler.h"
#include "epifold/Models.h"

using namespace epifold;

namespace {

constexpr const char *footer = R"(examples:
  epifold-gen moe_swiglu --tokens=? --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16 -o moe.mlir
  epifold-gen expert_conv_fold --experts=30 --tokens=16 --width=8 --dilation=2 --dtype=f64
  epifold-gen clm_conv_moe --batch=1 --tokens=512 --width=1536 --experts=2 --dtype=bf16 --results=min -o clm.mlir)";

/// Options that every model has.
struct Common {
  std::string dtype = "f32", results = "all", output = "-";

  void add(CLI::App &app) {
    app.add_option("--dtype", dtype, "Element type: f64, f32, bf16 or f16")
        ->capture_default_str();
    app.add_option(
           "--results", results,
           "all: every tensor the model names; min: the model's own result")
        ->check(CLI::IsMember({"all", "min"}))
        ->capture_default_str();
    app.add_option("-o,--output", output, "File to write; - is standard output")
        ->capture_default_str();
    app.option_defaults()->always_capture_default();
  }
};

/// A size, or '?' for one that is known at run time only.
void addTokens(CLI::App &app, int64_t &tokens) {
  auto parse = [&tokens](const std::string &text) {
    if (text == "?")
      tokens = kDynamic;
    else if (!CLI::detail::lexical_cast(text, tokens) || tokens < 1)
      throw CLI::ValidationError("--tokens",
                                 "must be at least 1 or ?, got " + text);
  };
  app.add_option_function<std::string>("--tokens", parse,
                                       "Tokens, or ? to compile for any count")
      ->type_name("INT|?")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

template <typename Model>
int generate(Model model, const Common &common) {
  std::optional<DataType> type = dataTypeFromName(common.dtype);
  if (!type || !isFloat(*type))
    return tools::fail("epifold-gen",
                       Error(ErrorCode::InvalidArgument,
                             "--dtype=" + common.dtype +
                                 ": the types are f64, f32, bf16 and f16")),
           tools::kBadUsage;
  model.type = *type;
  model.results =
      common.results == "min" ? ModelResults::Min : ModelResults::All;
  Expected<Graph> graph = buildModel(model);
  if (!graph)
    return tools::fail("epifold-gen", graph.error());
  if (auto written = tools::writeFile(common.output, graph->toText()); !written)
    return tools::fail("epifold-gen", written.error());
  return tools::kOk;
}

} // namespace

int epifoldGenMain(int argc, char **argv) {
  CLI::App app("Writes the graph of a built-in model, one branch per expert as "
               "a model author would.",
               "epifold-gen");
  app.set_version_flag("--version", versionString());
  app.footer(footer);
  app.require_subcommand(1);
  Common common;

  ExpertConvFoldModel fold;
  CLI::App *foldApp = app.add_subcommand(
      "expert_conv_fold", "Causal convolutions of E experts over one input");
  tools::addModelOptions(*foldApp, fold);
  addTokens(*foldApp, fold.tokens);
  common.add(*foldApp);

  ClmConvMoeModel clm;
  CLI::App *clmApp = app.add_subcommand(
      "clm_conv_moe",
      "A language model block with a dense mixture of convolutions");
  tools::addModelOptions(*clmApp, clm);
  addTokens(*clmApp, clm.tokens);
  common.add(*clmApp);

  MoeSwigluModel moe;
  CLI::App *moeApp =
      app.add_subcommand("moe_swiglu", "The top-k mixture of SwiGLU experts");
  addTokens(*moeApp, moe.tokens);
  tools::addModelOptions(*moeApp, moe);
  common.add(*moeApp);

  if (auto exit = tools::parseCommandLine(app, argc, argv))
    return *exit;
  if (*foldApp)
    return generate(fold, common);
  if (*clmApp)
    return generate(clm, common);
  return generate(moe, common);
}
