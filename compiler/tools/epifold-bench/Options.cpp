// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses the command line of epifold-bench.

#include "Options.h"

#include "ProductOptions.h"
#include "compiler/tools/support/ModelOptions.h"
#include "compiler/tools/support/ToolSupport.h"
#include "compiler/tools/support/TuningOption.h"
#include "epifold/Compiler.h"

#include <charconv>
#include <iostream>

namespace epifold::tools {
namespace {

constexpr const char *kExamples = R"(Examples:
  epifold-bench moe_swiglu --tokens=4096 --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16
      times a layer on the first GPU with all fusions
  epifold-bench moe_swiglu --tokens=4096 --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16 --skew=one
      the same with all tokens at the same 8 experts
  epifold-bench clm_conv_moe --tokens=512 --width=1536 --experts=2 --dtype=bf16 --launch=graph --sustained 2 --json
      the same work for 2 s first, so that the clock has settled, and a line of JSON
  epifold-bench gemm --m=8192 --n=8192 --k=8192 --dtype=bf16 --peak=790
      a product and its share of 790 TFLOP/s, which another library may have reached
  epifold-bench gemm --m=8192 --n=4096 --k=4096 --dtype=bf16 --epilogue=bias-gelu
      what an epilogue costs; --fusion=none shows what it costs in launches of its own
  epifold-bench grouped --rows=131072 --experts=64 --n=1024 --k=2048 --products=2 --gather --dtype=bf16 --skew=zipf
      gate and up of all experts with SwiGLU, few experts having most of the rows
  epifold-bench decode --tokens=16 --topk=8 --experts=64 --n=1024 --k=2048 --dtype=bf16
      few rows: bytes of the chosen experts over the time, against a copy
  epifold-bench conv --tokens=256 --width=6208 --experts=30 --dtype=bf16
      causal convolutions
  epifold-bench tune moe_swiglu --tokens=4096 --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16 -o h200.json
      tries every schedule of each product, and keeps the fastest in a file
  epifold-bench moe_swiglu --tokens=4096 --width=2048 --hidden=1024 --experts=64 --topk=8 --dtype=bf16 --tuning-file=h200.json
      times the layer with them
  epifold-bench expert_conv_fold --tokens=24 --width=8 --fusion=none --device=reference
      times the evaluation on the CPU
  epifold-bench graph block.mlir --size=4096
      times a graph of your own with 4096 for its dynamic dimensions

All data are random and about normal. MiB is what the launches read and write, each tensor once; least MiB what any
launches would have to, and GB/s that over the time; peak MiB is the device memory in use at most. Shares are of a
product and a copy timed in the same run.
Exit status: 0 ok; 1 failed; 2 bad usage.)";

constexpr const char *kList =
    "expert_conv_fold  causal convolutions of E experts over one input\n"
    "clm_conv_moe      a language model block with a dense mixture of "
    "convolutions\n"
    "moe_swiglu        the top-k mixture of SwiGLU experts\n"
    "graph FILE        a graph of your own\n"
    "gemm              one product, with or without an epilogue\n"
    "grouped           a product an expert, over sorted or gathered rows\n"
    "decode            a product an expert for few tokens, weights from "
    "memory\n"
    "conv              causal convolutions without bias\n"
    "tune WORKLOAD     every schedule of a workload's products\n";

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

/// The options that are the same for every workload.
struct Common {
  Common(BenchOptions &options, bool tunes) : options(options), tunes(tunes) {}

  void add(CLI::App &app, bool inPart = false) {
    MeasureOptions &measure = options.measure;
    app.add_option("--fusion", measure.fusion,
                   "none, all, or names with commas, '-' before those to leave "
                   "out; the results are the same")
        ->type_name("SET")
        ->capture_default_str();
    addMathOption(app, options.math);
    addRemarksOption(app, options.remarks);
    addPluginOption(app, options.plugins);
    app.add_flag("!--no-overlap", measure.overlap,
                 "Start no kernel before the one before it has ended");
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
    if (tunes)
      app.add_option("-o,--output", options.tuneTo,
                     "Tuning file to write; other entries of one that is there "
                     "stay, - is standard output")
          ->required()
          ->type_name("FILE");
    else
      addTiming(app, inPart);
    app.get_formatter()->column_width(34);
  }

  void addTiming(CLI::App &app, bool inPart) {
    MeasureOptions &measure = options.measure;
    if (!inPart) // Launches that are a part of a step go to the stream.
      app.add_option("--launch", launch, "stream or graph")
          ->check(CLI::IsMember({"stream", "graph"}))
          ->type_name("MODE")
          ->capture_default_str();
    app.add_option("--sustained", measure.sustained,
                   "Run the same work for so many seconds first")
        ->check(CLI::Range(0.0, 3600.0))
        ->type_name("SECONDS");
    addRate(app, "--peak", measure.roof.teraflops,
            "TFLOP/s that the chip can do (default: measured at 8192^3)");
    addRate(app, "--copy-rate", measure.roof.copyGigabytes,
            "GB/s that it can read and write (default: measured)");
    app.add_flag("!--no-roof", measure.withRoof,
                 "Measure nothing but the workload");
    app.add_flag("--json", options.json, "Print one JSON object on a line");
    addTuningFile(app, tuningFile);
  }

  static void addRate(CLI::App &app, const std::string &name,
                      std::optional<double> &rate, const std::string &text) {
    app.add_option(name, rate, text)
        ->check(CLI::Validator(
            [](std::string &rate) {
              double value = 0;
              bool isPositive =
                  CLI::detail::lexical_cast(rate, value) && value > 0;
              return isPositive ? std::string()
                                : "must be above zero, got " + rate;
            },
            ""))
        ->type_name("RATE");
  }

  void addModel(CLI::App &app) {
    if (!tunes) // Schedules are measured with rows that the compiler knows.
      app.add_flag("--dynamic", options.dynamic,
                   "Compile for any count of tokens, as for --tokens=?");
    addTyped(app);
  }

  void addTyped(CLI::App &app, bool inPart = false) {
    app.add_option("--dtype", dtype, "Element type")
        ->check(CLI::IsMember({"f64", "f32", "bf16", "f16"}))
        ->type_name("TYPE")
        ->capture_default_str();
    add(app, inPart);
  }

  BenchOptions &options;
  bool tunes;
  std::string launch = "stream", dtype = "f32", tuningFile;
};

} // namespace

std::variant<BenchOptions, int> parseBenchOptions(int argc, char **argv) {
  // `tune` is followed by a workload and its options like any other.
  bool tunes = argc > 1 && std::string_view(argv[1]) == "tune";
  if (tunes)
    --argc, ++argv;
  BenchOptions options;
  Common common(options, tunes);
  CLI::App app(tunes ? "Measures every schedule of a workload's products and "
                       "writes the fastest to a file."
                     : "Times a workload on random data.",
               tunes ? "epifold-bench tune" : "epifold-bench");
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

  SkewedMoeSwiglu moe;
  CLI::App *moeApp =
      app.add_subcommand("moe_swiglu", "The top-k mixture of SwiGLU experts");
  tools::addSize(*moeApp, "--tokens", moe.tokens, "Tokens");
  tools::addModelOptions(*moeApp, moe);
  addSkewOption(*moeApp, moe.skew, /*fromFile=*/false);
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

  GemmProduct gemm;
  CLI::App *gemmApp = app.add_subcommand("gemm", "x·wᵀ and an epilogue");
  addProductOptions(*gemmApp, gemm);
  common.addTyped(*gemmApp);

  ConvProduct conv;
  CLI::App *convApp =
      app.add_subcommand("conv", "Causal convolutions of one input");
  addProductOptions(*convApp, conv);
  common.addTyped(*convApp);

  GroupedProduct grouped;
  CLI::App *groupedApp = app.add_subcommand(
      "grouped", "A product an expert over rows that each belong to one");
  addGroupedOptions(*groupedApp, grouped);
  common.addTyped(*groupedApp, /*inPart=*/true);

  GroupedProduct decode;
  CLI::App *decodeApp = app.add_subcommand(
      "decode", "A product an expert for few tokens, weights from memory");
  addDecodeOptions(*decodeApp, decode);
  common.addTyped(*decodeApp, /*inPart=*/true);

  if (!tunes)
    app.add_subcommand("tune", "Every schedule of a workload's products: takes "
                               "a workload and its options");

  if (auto exit = parseCommandLine(app, argc, argv))
    return *exit;
  Expected<Tuning> tuning = readTuning(common.tuningFile);
  if (!tuning)
    return fail("epifold-bench", tuning.error());
  options.measure.tuning = std::move(*tuning);
  options.measure.launch = common.launch == "graph"
                               ? runtime::LaunchMode::Graph
                               : runtime::LaunchMode::Stream;
  fold.type = clm.type = moe.type = gemm.type = conv.type = grouped.type =
      decode.type = *dataTypeFromName(common.dtype);
  if (*foldApp)
    options.model = fold;
  else if (*clmApp)
    options.model = clm;
  else if (*moeApp)
    options.model = moe;
  else if (*gemmApp)
    options.model = gemm;
  else if (*convApp)
    options.model = conv;
  else if (*groupedApp)
    options.model = grouped;
  else if (*decodeApp)
    options.model = decode;
  else
    options.model = std::move(file);
  return options;
}

} // namespace epifold::tools
