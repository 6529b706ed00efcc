// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles, checks and times one schedule after the other.

#include "Tune.h"

#include "epifold/Compiler.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace epifold::tools {
namespace {

using namespace runtime;

/// Where `a` and `b`, tensors of one type and shape, differ first.
std::optional<int64_t> firstDifference(const HostTensor &a,
                                       const HostTensor &b) {
  if (std::memcmp(a.data(), b.data(), a.bytes()) == 0)
    return std::nullopt;
  size_t width = byteSize(a.type());
  for (size_t i = 0;; ++i)
    if (std::memcmp(a.data() + i * width, b.data() + i * width, width) != 0)
      return static_cast<int64_t>(i);
}

/// A workload on a device, with the results of its default schedules.
class Tuner {
public:
  Tuner(const Workload &workload, const MeasureOptions &options, Device device)
      : workload(workload), options(options), device(std::move(device)),
        target(targetFor(this->device.info())) {}

  Expected<void> open();
  Expected<std::vector<ProductReport>> products() const {
    return listProducts(workload.graph, compileOptions({}));
  }
  /// The best schedule of one product.
  Expected<TuningEntry>
  tuneProduct(const ProductReport &product,
              const std::function<void(const std::string &)> &progress);

private:
  CompileOptions compileOptions(Tuning tuning) const;
  Expected<Session> load(Tuning tuning);
  Expected<void> runOnce(Session &session);
  Expected<void> checkResults(Session &session);
  Expected<double> timeProduct(Session &session, const ProductReport &product);
  Expected<double> tryEntry(const ProductReport &product,
                            const TuningEntry &entry);

  const Workload &workload;
  const MeasureOptions &options;
  Device device;
  std::string target;
  TensorMap arguments; ///< Inputs alone, once the session is open.
  std::optional<Session> base;
  TensorMap expected;
};

CompileOptions Tuner::compileOptions(Tuning tuning) const {
  CompileOptions compiling;
  compiling.fusion = options.fusion;
  compiling.targets = {target};
  compiling.tuning = std::move(tuning);
  return compiling;
}

Expected<Session> Tuner::load(Tuning tuning) {
  Expected<CompiledGraph> compiled =
      compile(workload.graph, compileOptions(std::move(tuning)));
  if (!compiled)
    return compiled.error();
  Expected<Executable> executable = Executable::load(compiled->executable);
  if (!executable)
    return executable.error();
  SessionOptions sessionOptions;
  sessionOptions.overlap = options.overlap;
  return Session::create(device, *executable, sessionOptions);
}

Expected<void> Tuner::open() {
  Expected<Session> session = load({});
  if (!session)
    return session.error();
  base.emplace(std::move(*session));
  Expected<TensorMap> drawn = drawArguments(workload);
  if (!drawn)
    return drawn.error();
  if (auto bound = base->bindParameters(*drawn); !bound)
    return bound;
  for (const WorkloadArgument &argument : workload.arguments)
    if (argument.kind == TensorSignature::Kind::Input)
      arguments.emplace(argument.name, drawn->at(argument.name));
  if (auto ran = runOnce(*base); !ran)
    return ran;
  Expected<TensorMap> results = base->results();
  if (!results)
    return results.error();
  expected = std::move(*results);
  return {};
}

Expected<void> Tuner::runOnce(Session &session) {
  if (auto prepared = session.prepare(arguments); !prepared)
    return prepared;
  Expected<RunReport> report = session.step();
  if (!report)
    return report.error();
  return checkStatus(report->status);
}

Expected<void> Tuner::checkResults(Session &session) {
  Expected<TensorMap> results = session.results();
  if (!results)
    return results.error();
  for (const auto &[name, tensor] : expected) {
    const HostTensor &other = results->at(name);
    std::optional<int64_t> at = firstDifference(tensor, other);
    if (at)
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("element {} of '{}' is {} and not {}: this "
                               "schedule is wrong, please report it",
                               *at, name, elementAsDouble(other, *at),
                               elementAsDouble(tensor, *at)));
  }
  return {};
}

Expected<double> Tuner::timeProduct(Session &session,
                                    const ProductReport &product) {
  double total = 0;
  // Neighbours are timed together: one of them repeated would find in the L2
  // what the others drive out.
  for (size_t i = 0; i < product.launches.size();) {
    size_t first = product.launches[i], end = first;
    while (i < product.launches.size() && product.launches[i] == end)
      ++i, ++end;
    auto time = [&](int count) {
      return session.timeLaunches(first, end, count);
    };
    if (auto warm = time(options.warmup.value_or(3)); !warm)
      return warm.error();
    Expected<std::vector<double>> times = time(options.repeat.value_or(20));
    if (!times)
      return times.error();
    total += median(std::move(*times));
  }
  return total;
}

Expected<double> Tuner::tryEntry(const ProductReport &product,
                                 const TuningEntry &entry) {
  Tuning tuning;
  tuning.add(entry);
  Expected<Session> session = load(std::move(tuning));
  if (!session)
    return session.error();
  for (const WorkloadArgument &argument : workload.arguments) {
    if (argument.kind != TensorSignature::Kind::Parameter)
      continue;
    Expected<DeviceTensor> shared = base->parameter(argument.name);
    if (!shared)
      return shared.error();
    if (auto bound = session->bindParameter(argument.name, *shared); !bound)
      return bound.error();
  }
  if (auto ran = runOnce(*session); !ran)
    return ran.error();
  if (auto equal = checkResults(*session); !equal)
    return equal.error();
  return timeProduct(*session, product);
}

Expected<TuningEntry>
Tuner::tuneProduct(const ProductReport &product,
                   const std::function<void(const std::string &)> &progress) {
  if (!product.rows)
    return Error(ErrorCode::InvalidArgument,
                 "the rows of the product '" + product.product +
                     "' are not known when it is compiled; tune a workload of "
                     "fixed sizes");
  progress(fmt::format("{}, {} rows, {} launches", product.product,
                       *product.rows, product.launches.size()));
  Expected<double> defaultMs = timeProduct(*base, product);
  if (!defaultMs)
    return defaultMs.error();
  const std::string &byDefault = product.schedules.front().schedule;
  progress(fmt::format("  {:9.4f} ms  {} (default)", *defaultMs, byDefault));
  // Times of one schedule differ by less than this.
  constexpr double kFaster = 0.99;
  TuningEntry best{product.product, target,     *product.rows,     byDefault,
                   *defaultMs,      *defaultMs, device.info().name};
  for (size_t i = 0; i < product.candidates.size(); ++i) {
    const std::string &schedule = product.candidates[i];
    if (schedule == byDefault)
      continue;
    TuningEntry entry = best;
    entry.schedule = schedule;
    Expected<double> ms = tryEntry(product, entry);
    if (!ms)
      return ms.error().withContext("schedule '" + schedule + "' of '" +
                                    product.product + "'");
    entry.ms = *ms;
    bool isBest = *ms < kFaster * best.ms;
    progress(fmt::format("  {:9.4f} ms  {} [{}/{}]{}", *ms, schedule, i + 1,
                         product.candidates.size(),
                         isBest ? " best so far" : ""));
    if (isBest)
      best = std::move(entry);
  }
  return best;
}

} // namespace

Expected<std::vector<TuningEntry>>
tune(const Workload &workload, const MeasureOptions &options,
     const std::function<void(const std::string &)> &progress) {
  if (options.device == "reference")
    return Error(ErrorCode::InvalidArgument,
                 "schedules are measured on a GPU, not on the reference");
  Expected<Device> device = Device::open(ordinalOf(options.device));
  if (!device)
    return device.error().withContext("schedules are measured on a GPU");
  Tuner tuner(workload, options, std::move(*device));
  Expected<std::vector<ProductReport>> products = tuner.products();
  if (!products)
    return products.error();
  if (auto opened = tuner.open(); !opened)
    return opened.error();
  std::vector<TuningEntry> entries;
  for (const ProductReport &product : *products) {
    Expected<TuningEntry> entry = tuner.tuneProduct(product, progress);
    if (!entry)
      return entry.error();
    entries.push_back(std::move(*entry));
  }
  return entries;
}

} // namespace epifold::tools
