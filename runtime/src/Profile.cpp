// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Profiled runs as Chrome traces.

#include "epifold/runtime/Session.h"

#include <nlohmann/json.hpp>

namespace epifold::runtime {

using Json = nlohmann::ordered_json;

static Json eventArguments(const LaunchProfile &launch,
                           const PeakRates &peaks) {
  Json arguments = {{"label", launch.label}};
  double seconds = launch.durationMs * 1e-3;
  auto add = [&](int64_t amount, const char *name, double unit,
                 const char *rateName, double peak, const char *shareName) {
    if (amount <= 0)
      return;
    arguments[name] = amount;
    if (seconds <= 0)
      return;
    double rate = static_cast<double>(amount) / seconds / unit;
    arguments[rateName] = rate;
    if (peak > 0)
      arguments[shareName] = rate / peak;
  };
  add(launch.flops, "flop", 1e12, "tflops", peaks.teraflops, "peak_share");
  add(launch.bytes, "bytes", 1e9, "gb_per_s", peaks.copyGigabytes,
      "copy_share");
  return arguments;
}

std::string chromeTrace(const RunReport &report, const DeviceInfo &device,
                        const PeakRates &peaks) {
  Json events = Json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 0},
                    {"args", {{"name", device.name}}}});
  for (const LaunchProfile &launch : report.profile) {
    if (launch.skipped)
      continue;
    // Times of the format are in microseconds.
    events.push_back({{"name", launch.kernel},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", 0},
                      {"ts", launch.startMs * 1e3},
                      {"dur", launch.durationMs * 1e3},
                      {"args", eventArguments(launch, peaks)}});
  }
  Json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return trace.dump(1, ' ', false, Json::error_handler_t::replace);
}

} // namespace epifold::runtime
