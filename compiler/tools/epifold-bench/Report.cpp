// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Formats measurements.

#include "Report.h"

#include <fmt/format.h>

namespace epifold::tools {
namespace {

using Json = nlohmann::ordered_json;

/// "stream" or "graph"; the reference launches nothing.
std::optional<std::string> launchName(const MeasureOptions &options,
                                      const Measurement &measurement) {
  if (measurement.device == "reference")
    return std::nullopt;
  return options.launch == runtime::LaunchMode::Graph ? "graph" : "stream";
}

std::optional<double> teraflops(const Workload &workload,
                                const Measurement &measurement) {
  std::optional<double> flops =
      workload.flops ? workload.flops : measurement.flops;
  if (!flops)
    return std::nullopt;
  return *flops / median(measurement.ms) * 1e-9;
}

template <typename T>
Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json();
}

/// "tokens=4096 width=2048", or "in.x=[4096,2048]".
std::string shapeText(const Json &shape) {
  std::string text;
  for (const auto &[name, size] : shape.items())
    text += (text.empty() ? "" : " ") + name + "=" + size.dump();
  return text;
}

} // namespace

std::string jsonLine(const Workload &workload, const MeasureOptions &options,
                     const Measurement &measurement) {
  Json json = {
      {"workload", workload.name},
      {"shape", workload.shape},
      {"dtype", name(workload.type)},
      {"fusion", options.fusion},
      {"launch", orNull(launchName(options, measurement))},
      {"device", measurement.device},
      {"device_name", measurement.deviceName},
      {"ms", median(measurement.ms)},
      {"ms_min", minimum(measurement.ms)},
      {"tflops", orNull(teraflops(workload, measurement))},
      {"launches", measurement.launches},
      {"bytes", orNull(measurement.bytes)},
      {"peak_bytes", measurement.peakBytes},
  };
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string tableText(const Workload &workload, const MeasureOptions &options,
                      const Measurement &measurement) {
  std::optional<double> tflops = teraflops(workload, measurement);
  constexpr double kMega = 1 << 20;
  return fmt::format(
      "{} {} on {} ({}), {} runs\n"
      "{:>6} {:>12} {:>7} {:>11} {:>11} {:>9} {:>9} {:>10} {:>10}\n"
      "{:>6} {:>12} {:>7} {:>11.4f} {:>11.4f} {:>9} {:>9} {:>10} {:>10.1f}\n",
      workload.name, shapeText(workload.shape), measurement.device,
      measurement.deviceName, measurement.ms.size(), "dtype", "fusion",
      "launch", "ms", "min ms", "TFLOP/s", "launches", "MiB", "peak MiB",
      name(workload.type), options.fusion,
      launchName(options, measurement).value_or("-"), median(measurement.ms),
      minimum(measurement.ms), tflops ? fmt::format("{:.4g}", *tflops) : "-",
      measurement.launches,
      measurement.bytes
          ? fmt::format("{:.1f}",
                        static_cast<double>(*measurement.bytes) / kMega)
          : "-",
      static_cast<double>(measurement.peakBytes) / kMega);
}

} // namespace epifold::tools
