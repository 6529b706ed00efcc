// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs an executable or a graph on a device and checks what comes out.

#include "CompilerLibrary.h"
#include "Expect.h"
#include "Inputs.h"
#include "Options.h"
#include "compiler/tools/ToolMains.h"
#include "epifold/runtime/Device.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Safetensors.h"
#include "epifold/runtime/Session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace epifold::tools {
namespace {

using namespace runtime;

/// What a run leaves to be checked and written.
struct Outcome {
  TensorMap results;
  StatusWord status;
  std::string trace; ///< Chrome trace, when one was asked for.
};

Expected<std::vector<uint8_t>> readFile(const std::string &path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return Error(ErrorCode::Io,
                 fmt::format("cannot read '{}': it is a folder", path));
  std::ifstream stream(path, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)),
                             std::istreambuf_iterator<char>());
  if (!stream.is_open() || stream.bad())
    return Error(ErrorCode::Io, fmt::format("cannot read '{}'", path));
  return bytes;
}

void printTimes(const char *what, std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  fmt::print("{} {}: median {:.4f} ms, min {:.4f} ms, max {:.4f} ms\n",
             milliseconds.size(), what, milliseconds[milliseconds.size() / 2],
             milliseconds.front(), milliseconds.back());
}

/// One call of the tool.
class Tool {
public:
  explicit Tool(RunToolOptions options) : options_(std::move(options)) {}

  /// True when the run was clean and every comparison passed.
  Expected<bool> run();

private:
  Expected<void> readInputs();
  Expected<void> chooseDevice();
  Expected<const CompilerLibrary *> compiler();
  std::string compilerOptions() const;
  Expected<void> printRemarks();
  Expected<Outcome> runOnReference();
  Expected<Outcome> runOnDevice();
  Expected<Executable> loadExecutable();

  RunToolOptions options_;
  std::vector<uint8_t> bytes_; ///< Of the file.
  bool isExecutable_ = false;
  std::vector<SafetensorsFile> files_;
  std::optional<SafetensorsFile> expected_;
  std::optional<Device> device_; ///< Empty: the reference.
  std::optional<CompilerLibrary> compiler_;
};

Expected<void> Tool::readInputs() {
  Expected<std::vector<uint8_t>> bytes = readFile(options_.file);
  if (!bytes)
    return bytes.error();
  bytes_ = std::move(*bytes);
  // A damaged executable must not be taken for a graph.
  isExecutable_ =
      looksLikeExecutable(bytes_) || options_.file.ends_with(".efx");
  std::vector<std::string> paths = options_.inputs;
  paths.insert(paths.end(), options_.params.begin(), options_.params.end());
  for (const std::string &path : paths) {
    Expected<SafetensorsFile> file = SafetensorsFile::open(path);
    if (!file)
      return file.error();
    files_.push_back(std::move(*file));
  }
  if (!options_.expect.empty()) {
    Expected<SafetensorsFile> file = SafetensorsFile::open(options_.expect);
    if (!file)
      return file.error();
    expected_ = std::move(*file);
  }
  return {};
}

Expected<void> Tool::chooseDevice() {
  if (options_.device == "reference")
    return {};
  Expected<Device> device = Device::open(options_.ordinal);
  if (device) {
    device_ = std::move(*device);
    return {};
  }
  bool chosen = !options_.device.empty();
  if (chosen || device.error().code() != ErrorCode::NoDevice)
    return device.error();
  if (!options_.profile.empty())
    return device.error().withContext("--profile needs a GPU");
  fmt::print(stderr, "epifold-run: note: using the reference on the CPU: {}\n",
             device.error().message());
  return {};
}

Expected<const CompilerLibrary *> Tool::compiler() {
  if (!compiler_) {
    Expected<CompilerLibrary> opened = CompilerLibrary::open();
    if (!opened)
      return opened.error();
    compiler_ = *opened;
    for (const std::string &plugin : options_.plugins)
      if (Expected<void> loaded = compiler_->loadPassPlugin(plugin); !loaded)
        return loaded.error();
  }
  return &*compiler_;
}

std::string Tool::compilerOptions() const {
  nlohmann::json json = {{"name", options_.file}};
  if (!options_.fusion.empty())
    json["fusion"] = options_.fusion;
  if (!options_.math.empty())
    json["math"] = options_.math;
  if (!options_.remarks.empty())
    json["remarks"] = options_.remarks;
  if (device_) {
    std::string target = options_.target;
    const DeviceInfo &info = device_->info();
    if (target.empty())
      target = info.major == 9 && info.minor == 0 ? "sm_90a" : "sm_80";
    json["targets"] = {target};
  } else {
    // A fusion set changes the kernels, not the graph.
    std::string level = options_.level;
    if (level.empty())
      level = options_.fusion.empty() ? "graph" : "kernel";
    json["level"] = level;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Expected<void> Tool::printRemarks() {
  if (options_.remarks.empty())
    return {};
  if (isExecutable_)
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is compiled already: --remarks applies to "
                             "graphs",
                             options_.file));
  Expected<const CompilerLibrary *> library = compiler();
  if (!library)
    return library.error();
  Expected<std::vector<std::string>> remarks =
      (*library)->fusionRemarks(bytes_, compilerOptions());
  if (!remarks)
    return remarks.error();
  for (const std::string &remark : *remarks)
    fmt::print(stderr, "{}\n", remark);
  return {};
}

Expected<Outcome> Tool::runOnReference() {
  std::vector<uint8_t> graph = bytes_;
  if (isExecutable_) {
    Expected<Executable> executable = loadExecutable();
    if (!executable)
      return executable.error();
    graph = executable->desc().graph;
    if (graph.empty())
      return Error(ErrorCode::Unsupported,
                   fmt::format("'{}' holds no graph, so the reference cannot "
                               "evaluate it: compile it with its graph, or run "
                               "it on a GPU",
                               options_.file));
  }
  Expected<const CompilerLibrary *> library = compiler();
  if (!library)
    return library.error();
  std::string json = compilerOptions();
  Expected<Signature> signature = (*library)->signature(graph, json);
  if (!signature)
    return signature.error();
  Expected<TensorMap> arguments =
      gatherArguments(*signature, files_, options_.cast);
  if (!arguments)
    return arguments.error();

  std::vector<double> times;
  Outcome outcome;
  for (int i = 0; i < options_.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    Expected<ReferenceOutcome> evaluated =
        (*library)->evaluate(graph, *arguments, json);
    if (!evaluated)
      return evaluated.error();
    times.push_back(std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - start)
                        .count());
    outcome.results = std::move(evaluated->results);
    outcome.status = evaluated->status;
  }
  fmt::print("ran on the reference: {:.3f} ms\n", times.front());
  if (options_.repeat > 1)
    printTimes("runs", times);
  return outcome;
}

Expected<Executable> Tool::loadExecutable() {
  if (isExecutable_) {
    Expected<Executable> loaded = Executable::load(bytes_);
    if (!loaded)
      return loaded.error().withContext("'" + options_.file + "'");
    return loaded;
  }
  Expected<const CompilerLibrary *> library = compiler();
  if (!library)
    return library.error();
  Expected<std::vector<uint8_t>> compiled =
      (*library)->compile(bytes_, compilerOptions());
  if (!compiled)
    return compiled.error();
  return Executable::load(*compiled);
}

Expected<Outcome> Tool::runOnDevice() {
  if (isExecutable_ && !options_.fusion.empty())
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is compiled already: --fusion applies to "
                             "graphs",
                             options_.file));
  Expected<Executable> executable = loadExecutable();
  if (!executable)
    return executable.error();
  // Checked before the device is touched: the common mistakes are here.
  Expected<TensorMap> arguments =
      gatherArguments(signatureOf(*executable), files_, options_.cast);
  if (!arguments)
    return arguments.error();

  SessionOptions sessionOptions;
  sessionOptions.cacheDir = options_.cacheDir;
  if (isExecutable_)
    sessionOptions.target = options_.target;
  sessionOptions.overlap = options_.overlap;
  Expected<Session> session =
      Session::create(*device_, *executable, sessionOptions);
  if (!session)
    return session.error();
  if (Expected<void> bound = session->bindParameters(*arguments); !bound)
    return bound.error();
  if (Expected<void> prepared = session->prepare(*arguments); !prepared)
    return prepared.error();
  const LoadReport &load = session->loadReport();
  fmt::print("loaded {} kernels in {:.1f} ms: {} from the cache, {} compiled\n",
             load.modules, load.milliseconds, load.cacheHits, load.compiled);
  RunOptions runOptions;
  runOptions.launch = options_.launch;
  runOptions.waitEach = options_.waitEach;
  Expected<RunReport> report = session->step(runOptions);
  if (!report)
    return report.error();
  const DeviceInfo &info = device_->info();
  fmt::print("ran on cuda:{} ({}, sm_{}{}): {} launches, {:.4f} ms, {} bytes "
             "of scratch\n",
             info.ordinal, info.name, info.major, info.minor, report->launches,
             report->deviceMs, report->arenaBytes);
  if (options_.repeat > 1) {
    Expected<std::vector<double>> times =
        session->timeSteps(options_.repeat, options_.launch);
    if (!times)
      return times.error();
    printTimes("further runs", std::move(*times));
  }
  Outcome outcome;
  outcome.status = report->status;
  if (!options_.profile.empty()) {
    runOptions.profile = true;
    Expected<RunReport> profiled = session->step(runOptions);
    if (!profiled)
      return profiled.error();
    outcome.trace = chromeTrace(*profiled, info, options_.peaks);
  }
  Expected<TensorMap> results = session->results();
  if (!results)
    return results.error();
  outcome.results = std::move(*results);
  return outcome;
}

Expected<bool> Tool::run() {
  if (Expected<void> read = readInputs(); !read)
    return read.error();
  if (isExecutable_ && !options_.math.empty())
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is compiled already: --math applies to "
                             "graphs",
                             options_.file));
  if (Expected<void> chosen = chooseDevice(); !chosen)
    return chosen.error();
  if (Expected<void> told = printRemarks(); !told)
    return told.error();
  Expected<Outcome> outcome = device_ ? runOnDevice() : runOnReference();
  if (!outcome)
    return outcome.error();

  if (!options_.outputs.empty())
    if (Expected<void> written =
            writeSafetensors(options_.outputs, outcome->results);
        !written)
      return written.error();
  if (!options_.profile.empty()) {
    std::ofstream stream(options_.profile, std::ios::binary);
    stream << outcome->trace;
    if (!stream.flush())
      return Error(ErrorCode::Io,
                   fmt::format("cannot write '{}'", options_.profile));
  }
  bool passed = true;
  if (expected_) {
    std::vector<Comparison> comparisons =
        compareResults(outcome->results, *expected_,
                       {!options_.tolerant, options_.rtol, options_.atol});
    fmt::print("{}", formatComparisons(comparisons));
    passed = allPassed(comparisons);
  }
  if (!outcome->status.ok()) {
    std::fflush(stdout);
    fmt::print(stderr, "epifold-run: {}\n", describe(outcome->status));
    passed = false;
  }
  return passed;
}

} // namespace
} // namespace epifold::tools

int epifoldRunMain(int argc, char **argv) {
  auto parsed = epifold::tools::parseRunOptions(argc, argv);
  if (int *status = std::get_if<int>(&parsed))
    return *status;
  epifold::Expected<bool> passed =
      epifold::tools::Tool(
          std::get<epifold::tools::RunToolOptions>(std::move(parsed)))
          .run();
  if (!passed) {
    std::fflush(stdout);
    fmt::print(stderr, "epifold-run: error: {}\n", passed.error().message());
    return 1;
  }
  return *passed ? 0 : 1;
}
