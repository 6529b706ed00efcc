// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The compiler and the runtime, behind one function a level.

#include "tests/exact/Evaluate.h"

#include "epifold/Compiler.h"
#include "epifold/runtime/Session.h"

namespace epifold::exact {

using runtime::TensorMap;

Expected<Evaluator> Evaluator::open(int ordinal) {
  Evaluator evaluator;
  if (ordinal < 0)
    return evaluator;
  auto opened = runtime::Device::open(ordinal);
  if (opened)
    evaluator.device_ = std::move(*opened);
  else if (opened.error().code() != ErrorCode::NoDevice)
    return opened.error();
  return evaluator;
}

std::string Evaluator::deviceName() const {
  return device_ ? device_->info().name : "CPU";
}

static Expected<Outcome> evaluateAt(EvaluationLevel level, const Graph &graph,
                                    const std::string &fusion,
                                    const TensorMap &inputs, unsigned threads) {
  EvaluateOptions options;
  options.level = level;
  options.fusion = fusion;
  options.threads = threads;
  auto evaluation = evaluate(graph, inputs, options);
  if (!evaluation)
    return evaluation.error();
  Outcome outcome;
  outcome.status = evaluation->status;
  for (auto &[name, tensor] : evaluation->results)
    outcome.results.emplace(name, std::move(tensor));
  return outcome;
}

Expected<Outcome> Evaluator::runGraph(const Graph &graph,
                                      const TensorMap &inputs) const {
  return evaluateAt(EvaluationLevel::Graph, graph, "none", inputs, threads);
}

Expected<Outcome> Evaluator::runCompiled(const Graph &graph,
                                         const std::string &fusion,
                                         const TensorMap &inputs) const {
  if (!device_)
    return evaluateAt(EvaluationLevel::Kernel, graph, fusion, inputs, threads);

  CompileOptions options;
  options.fusion = fusion;
  // Code for other devices would only be compiled.
  options.targets = {device_->info().major == 9 ? "sm_90a" : "sm_80"};
  auto compiled = compile(graph, options);
  if (!compiled)
    return compiled.error();
  auto executable = runtime::Executable::load(compiled->executable);
  if (!executable)
    return executable.error();
  auto session = runtime::Session::create(*device_, *executable);
  if (!session)
    return session.error();
  if (auto bound = session->bindParameters(inputs); !bound)
    return bound.error();
  auto outcome = session->run(inputs);
  if (!outcome)
    return outcome.error();
  return Outcome{std::move(outcome->results), outcome->report.status};
}

} // namespace epifold::exact
