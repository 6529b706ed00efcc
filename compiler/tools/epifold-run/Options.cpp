// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line of epifold-run.

#include "Options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

namespace epifold::tools {
namespace {

constexpr const char *kExamples = R"(Examples:
  epifold-run moe.efx --inputs in.safetensors --params w.safetensors --outputs out.safetensors
      runs a compiled step on the first GPU, or on the CPU where there is none
  epifold-run moe.mlir --inputs all.safetensors --device=reference --expect all.safetensors
      evaluates a graph on the CPU and compares every result for equality
  epifold-run moe.efx --inputs in.safetensors --expect out.safetensors --rtol 1e-5 --cast
      compares with a tolerance; inputs of other types are converted
  epifold-run moe.efx --inputs in.safetensors --launch=graph --repeat 100 --profile t.json
      times 100 runs as a CUDA graph and writes a trace of one more run

Exit status: 0 ok; 1 failed, or a result differs; 2 bad usage.)";

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

} // namespace

std::variant<RunToolOptions, int> parseRunOptions(int argc, char **argv) {
  using runtime::LaunchMode;
  RunToolOptions options;
  CLI::App app("Runs a compiled executable (.efx) or a graph (.mlir).",
               "epifold-run");
  app.set_version_flag("--version", "epifold-run " EPIFOLD_VERSION);
  app.footer(kExamples);
  app.get_formatter()->column_width(34);

  app.add_option("FILE", options.file, "Executable (.efx) or graph (.mlir)")
      ->required()
      ->type_name("");
  app.add_option("--inputs", options.inputs,
                 "Safetensors file with the inputs; may hold parameters and "
                 "other tensors too; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--params", options.params,
                 "Safetensors file with parameters; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--outputs", options.outputs,
                 "Write the results to this safetensors file")
      ->type_name("FILE");
  app.add_option("--device", options.device,
                 "reference or cuda:N (default: cuda:0, or reference where "
                 "there is no GPU)")
      ->check(CLI::Validator(
          [](std::string &text) { return checkDevice(text); }, ""))
      ->type_name("DEVICE");
  std::string launch = "stream";
  app.add_option("--launch", launch,
                 "stream (default) or graph; the bits are the same")
      ->check(CLI::IsMember({"stream", "graph"}))
      ->type_name("MODE");
  app.add_flag("--wait-each", options.waitEach,
               "Wait after each launch, so that an error names its launch");
  app.add_flag("!--no-overlap", options.overlap,
               "Start no kernel before the one before it has ended; the bits "
               "are the same");
  app.add_option("--repeat", options.repeat, "Run N times and print the times")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  app.add_option("--profile", options.profile,
                 "Write a Chrome trace of one run (GPU only), with each "
                 "launch's FLOP and bytes and their rates")
      ->type_name("FILE");
  app.add_option("--peak", options.peaks.teraflops,
                 "TFLOP/s that the chip can do: the profile gives each "
                 "launch's share of it")
      ->check(CLI::PositiveNumber)
      ->type_name("RATE");
  app.add_option("--copy-rate", options.peaks.copyGigabytes,
                 "GB/s that it can read and write, for the same (epifold-bench "
                 "measures both)")
      ->check(CLI::PositiveNumber)
      ->type_name("RATE");
  app.add_option("--expect", options.expect,
                 "Compare every result with the tensor of its name in this "
                 "safetensors file; equality unless a tolerance is given")
      ->type_name("FILE");
  CLI::Option *rtol =
      app.add_option("--rtol", options.rtol,
                     "Accept |a-b| <= A + R * max|expected| per element")
          ->check(CLI::NonNegativeNumber)
          ->type_name("R");
  CLI::Option *atol = app.add_option("--atol", options.atol, "The A of --rtol")
                          ->check(CLI::NonNegativeNumber)
                          ->type_name("A");
  app.add_flag("--cast", options.cast,
               "Convert tensors to the types that the graph wants");
  app.add_option("--fusion", options.fusion,
                 "Of a graph: none, all, or names with commas, '-' before "
                 "those to leave out")
      ->type_name("SET");
  app.add_option("--math", options.math,
                 "Of a graph: portable (the same bits on every device) or "
                 "fast (a GPU's own approximations of f32 transcendentals; "
                 "the reference stays portable); default: as the graph says")
      ->check(CLI::IsMember({"portable", "fast"}))
      ->type_name("MODE");
  app.add_flag("--remarks{all}", options.remarks,
               "Of a graph: say on stderr what fused and what did not, and "
               "why; =fused or =missed for a part of it")
      ->check(CLI::IsMember({"all", "fused", "missed"}))
      ->type_name("");
  app.add_option("--load-pass-plugin", options.plugins,
                 "Of a graph: pass plugin whose fusions --fusion may name; may "
                 "be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--target", options.target,
                 "Compile a graph for, or use of an executable, this target "
                 "only (sm_80, sm_90a)")
      ->type_name("TARGET");
  app.add_option("--level", options.level,
                 "Of the reference: evaluate the graph (default) or the "
                 "kernels it is lowered to (default with --fusion)")
      ->check(CLI::IsMember({"graph", "kernel"}))
      ->type_name("LEVEL");
  app.add_option("--cache-dir", options.cacheDir,
                 "Folder of compiled kernels (default: $EPIFOLD_CACHE_DIR, or "
                 "~/.cache/epifold)")
      ->type_name("DIR");

  app.failure_message([](const CLI::App *, const CLI::Error &error) {
    return std::string("epifold-run: ") + error.what() +
           "\nRun with --help for more information.\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    bool asked = error.get_exit_code() == 0; // --help or --version
    app.exit(error, std::cout, std::cerr);
    return asked ? 0 : 2;
  }
  auto usage = [](const std::string &message) {
    std::cerr << "epifold-run: " << message << "\n";
    return 2;
  };
  options.launch = launch == "graph" ? LaunchMode::Graph : LaunchMode::Stream;
  options.tolerant = rtol->count() + atol->count() > 0;
  if (options.tolerant && options.expect.empty())
    return usage("--rtol and --atol need --expect");
  if (options.profile.empty() &&
      options.peaks.teraflops + options.peaks.copyGigabytes > 0)
    return usage("--peak and --copy-rate need --profile");
  bool reference = options.device == "reference";
  if (reference && !options.profile.empty())
    return usage("--profile times GPU launches: it cannot be used with "
                 "--device=reference");
  if (options.device.starts_with("cuda:")) {
    options.ordinal = std::stoi(options.device.substr(5));
    if (!options.level.empty())
      return usage("--level is of the reference: use --device=reference");
  }
  return options;
}

} // namespace epifold::tools
