// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Formats measurements.

#include "Report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

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

/// What a measurement says of time, from the median.
struct Rates {
  std::optional<double> teraflops, gigabytes, peakShare, copyShare;
};

std::optional<double> quotient(const std::optional<double> &a,
                               const std::optional<double> &b) {
  return a && b ? std::optional(*a / *b) : std::nullopt;
}

Rates ratesOf(const Workload &workload, const Measurement &measurement) {
  double ms = median(measurement.ms);
  Rates rates;
  rates.teraflops =
      quotient(workload.flops ? workload.flops : measurement.flops, ms * 1e9);
  rates.gigabytes = quotient(workload.leastBytes, ms * 1e6);
  rates.peakShare = quotient(rates.teraflops, measurement.roof.teraflops);
  rates.copyShare = quotient(rates.gigabytes, measurement.roof.copyGigabytes);
  return rates;
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

std::string orDash(const std::optional<double> &value, double unit,
                   const char *form) {
  return value ? fmt::format(fmt::runtime(form), *value / unit) : "-";
}

/// A whole number as one.
Json wholeOr(const std::optional<double> &value) {
  if (value && *value == std::floor(*value))
    return static_cast<int64_t>(*value);
  return orNull(value);
}

/// Columns of one row, each as wide as its text and its head.
std::string
rowText(const std::vector<std::pair<std::string, std::string>> &row) {
  std::string head, cells;
  for (const auto &[name, cell] : row) {
    size_t width = std::max(name.size(), cell.size()) + (head.empty() ? 0 : 2);
    head += fmt::format("{:>{}}", name, width);
    cells += fmt::format("{:>{}}", cell, width);
  }
  return head + "\n" + cells + "\n";
}

} // namespace

std::string jsonLine(const Workload &workload, const MeasureOptions &options,
                     const Measurement &measurement) {
  Rates rates = ratesOf(workload, measurement);
  Json json = {
      {"workload", workload.name},
      {"shape", workload.shape},
      {"dtype", name(workload.type)},
      {"copies", workload.copies},
      {"fusion", options.fusion},
      {"math",
       workload.graph.mathMode() == MathMode::Fast ? "fast" : "portable"},
      {"launch", orNull(launchName(options, measurement))},
      {"device", measurement.device},
      {"device_name", measurement.deviceName},
      {"ms", median(measurement.ms)},
      {"ms_min", minimum(measurement.ms)},
      {"tflops", orNull(rates.teraflops)},
      {"peak_tflops", orNull(measurement.roof.teraflops)},
      {"peak_share", orNull(rates.peakShare)},
      {"gbs", orNull(rates.gigabytes)},
      {"copy_gbs", orNull(measurement.roof.copyGigabytes)},
      {"copy_share", orNull(rates.copyShare)},
      {"launches", wholeOr(measurement.launches)},
      {"bytes", wholeOr(measurement.bytes)},
      {"least_bytes", wholeOr(workload.leastBytes)},
      {"peak_bytes", measurement.peakBytes},
  };
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string tableText(const Workload &workload, const MeasureOptions &options,
                      const Measurement &measurement) {
  constexpr double kMebi = 1 << 20;
  Rates rates = ratesOf(workload, measurement);
  const Roof &roof = measurement.roof;
  std::string text = fmt::format(
      "{} {} on {} ({}), {} runs{}\n", workload.name, shapeText(workload.shape),
      measurement.device, measurement.deviceName, measurement.ms.size(),
      workload.copies > 1 ? fmt::format(" of {} copies", workload.copies) : "");
  text += rowText(
      {{"dtype", std::string(name(workload.type))},
       {"fusion", options.fusion},
       {"launch", launchName(options, measurement).value_or("-")},
       {"ms", fmt::format("{:.4f}", median(measurement.ms))},
       {"min ms", fmt::format("{:.4f}", minimum(measurement.ms))},
       {"TFLOP/s", orDash(rates.teraflops, 1, "{:.4g}")},
       {"of peak", orDash(rates.peakShare, 1, "{:.3f}")},
       {"GB/s", orDash(rates.gigabytes, 1, "{:.4g}")},
       {"of copy", orDash(rates.copyShare, 1, "{:.3f}")},
       {"launches", fmt::format("{:.4g}", measurement.launches)},
       {"MiB", orDash(measurement.bytes, kMebi, "{:.1f}")},
       {"least MiB", orDash(workload.leastBytes, kMebi, "{:.1f}")},
       {"peak MiB",
        fmt::format("{:.1f}",
                    static_cast<double>(measurement.peakBytes) / kMebi)}});
  if (roof.teraflops && roof.copyGigabytes)
    text += fmt::format(
        "peak {:.4g} TFLOP/s in {}{}, copy {:.4g} GB/s{}\n", *roof.teraflops,
        name(workload.type), options.roof.teraflops ? " (given)" : " at 8192^3",
        *roof.copyGigabytes, options.roof.copyGigabytes ? " (given)" : "");
  return text;
}

} // namespace epifold::tools
