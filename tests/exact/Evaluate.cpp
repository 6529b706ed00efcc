// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The compiler library and the runtime, behind one function a level.

#include "tests/exact/Evaluate.h"

#include "compiler/tools/epifold-run/CompilerLibrary.h"
#include "epifold/runtime/Device.h"
#include "epifold/runtime/Session.h"

#include <algorithm>
#include <fmt/format.h>

namespace epifold::exact {

using runtime::TensorMap;
using tools::CompilerLibrary;

struct Evaluator::State {
  CompilerLibrary compiler;
  std::optional<runtime::Device> device;
};

namespace {

std::span<const uint8_t> bytesOf(const std::string &graph) {
  return {reinterpret_cast<const uint8_t *>(graph.data()), graph.size()};
}

Expected<TensorMap> resultsOf(Expected<tools::ReferenceOutcome> outcome) {
  if (!outcome)
    return outcome.error();
  return std::move(outcome->results);
}

} // namespace

Expected<Evaluator> Evaluator::open(int ordinal) {
  auto compiler = CompilerLibrary::open();
  if (!compiler)
    return compiler.error();
  std::optional<runtime::Device> device;
  if (ordinal >= 0) {
    auto opened = runtime::Device::open(ordinal);
    if (opened)
      device = std::move(*opened);
    else if (opened.error().code() != ErrorCode::NoDevice)
      return opened.error();
  }
  return Evaluator(
      std::make_shared<State>(State{*compiler, std::move(device)}));
}

Expected<void> Evaluator::loadPassPlugin(const std::string &path) const {
  return state_->compiler.loadPassPlugin(path);
}

bool Evaluator::hasDevice() const { return state_->device.has_value(); }

std::string Evaluator::deviceName() const {
  return state_->device ? state_->device->info().name : "CPU";
}

Expected<std::vector<Argument>>
Evaluator::arguments(const std::string &graph) const {
  auto signature = state_->compiler.signature(bytesOf(graph), "");
  if (!signature)
    return signature.error();
  std::vector<Argument> arguments;
  for (const tools::SignatureEntry &entry : *signature) {
    if (entry.kind == runtime::TensorKind::Result)
      continue;
    if (std::ranges::any_of(entry.shape, [](int64_t size) { return size < 0; }))
      return Error(
          ErrorCode::InvalidArgument,
          fmt::format("argument '{}' has a dynamic dimension; give the "
                      "graph a token count",
                      entry.name));
    arguments.push_back({entry.name,
                         entry.kind == runtime::TensorKind::Parameter,
                         entry.type, entry.shape});
  }
  return arguments;
}

Expected<TensorMap> Evaluator::runGraph(const std::string &graph,
                                        const TensorMap &inputs) const {
  return resultsOf(state_->compiler.evaluate(bytesOf(graph), inputs,
                                             R"({"level": "graph"})"));
}

Expected<TensorMap> Evaluator::runCompiled(const std::string &graph,
                                           const std::string &fusion,
                                           const TensorMap &inputs) const {
  if (!state_->device)
    return resultsOf(state_->compiler.evaluate(
        bytesOf(graph), inputs,
        fmt::format(R"({{"level": "kernel", "fusion": "{}"}})", fusion)));

  auto bytes = state_->compiler.compile(
      bytesOf(graph), fmt::format(R"({{"fusion": "{}"}})", fusion));
  if (!bytes)
    return bytes.error();
  auto executable = runtime::Executable::load(*bytes);
  if (!executable)
    return executable.error();
  auto session = runtime::Session::create(*state_->device, *executable);
  if (!session)
    return session.error();
  if (auto bound = session->bindParameters(inputs); !bound)
    return bound.error();
  auto outcome = session->run(inputs);
  if (!outcome)
    return outcome.error();
  return std::move(outcome->results);
}

} // namespace epifold::exact
