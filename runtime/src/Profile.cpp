// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Profiled runs as Chrome traces.

#include "epifold/runtime/Session.h"

#include <nlohmann/json.hpp>

namespace epifold::runtime {

std::string chromeTrace(const RunReport &report, const DeviceInfo &device) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 0},
                    {"args", {{"name", device.name}}}});
  for (const LaunchProfile &launch : report.profile) {
    if (launch.skipped)
      continue;
    Json args = {{"label", launch.label}};
    double seconds = launch.durationMs * 1e-3;
    if (launch.flops > 0 && seconds > 0)
      args["tflops"] = double(launch.flops) / seconds * 1e-12;
    if (launch.bytes > 0 && seconds > 0)
      args["gb_per_s"] = double(launch.bytes) / seconds * 1e-9;
    // Times of the format are in microseconds.
    events.push_back({{"name", launch.kernel},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", 0},
                      {"ts", launch.startMs * 1e3},
                      {"dur", launch.durationMs * 1e3},
                      {"args", std::move(args)}});
  }
  Json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return trace.dump(1, ' ', false, Json::error_handler_t::replace);
}

} // namespace epifold::runtime
