// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Names of GPU targets and of PTX versions, and what runs where.

#include "Target.h"

#include <charconv>
#include <fmt/format.h>
#include <iterator>

namespace epifold::runtime {
namespace {

/// Parses a decimal number at the front of `text` and removes it.
std::optional<int> takeNumber(std::string_view &text) {
  int value;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0)
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

} // namespace

std::optional<Target> parseTarget(std::string_view name) {
  if (!name.starts_with("sm_"))
    return std::nullopt;
  name.remove_prefix(3);
  std::optional<int> number = takeNumber(name);
  if (!number || *number < 10 || *number > 999)
    return std::nullopt;
  bool specific = name == "a";
  if (!specific && !name.empty())
    return std::nullopt;
  return Target{*number / 10, *number % 10, specific};
}

bool ptxRunsOn(const Target &target, int major, int minor) {
  if (target.specific)
    return target.major == major && target.minor == minor;
  return std::pair(target.major, target.minor) <= std::pair(major, minor);
}

bool cubinRunsOn(const Target &target, int major, int minor) {
  // Machine code carries over to later minor versions of its generation only.
  return target.major == major && ptxRunsOn(target, major, minor);
}

std::optional<PtxVersion> statedPtxVersion(std::string_view ptx) {
  constexpr std::string_view kDirective = ".version";
  while (!ptx.empty()) {
    std::string_view line = ptx.substr(0, ptx.find('\n'));
    ptx.remove_prefix(std::min(line.size() + 1, ptx.size()));
    if (!line.starts_with(kDirective))
      continue;
    line.remove_prefix(kDirective.size());
    while (line.starts_with(' ') || line.starts_with('\t'))
      line.remove_prefix(1);
    std::optional<int> major = takeNumber(line);
    if (!major || !line.starts_with('.'))
      return std::nullopt;
    line.remove_prefix(1);
    std::optional<int> minor = takeNumber(line);
    if (!minor)
      return std::nullopt;
    return PtxVersion{*major, *minor};
  }
  return std::nullopt;
}

std::optional<PtxVersion> newestPtxVersion(int driverVersion) {
  struct Row {
    int driver;
    PtxVersion ptx;
  };
  // From the release history in the PTX manual. A driver between two rows
  // accepts what the lower one does.
  static constexpr Row kRows[] = {
      {11000, {7, 0}}, {11010, {7, 1}}, {11020, {7, 2}}, {11030, {7, 3}},
      {11040, {7, 4}}, {11050, {7, 5}}, {11060, {7, 6}}, {11070, {7, 7}},
      {11080, {7, 8}}, {12000, {8, 0}}, {12010, {8, 1}}, {12020, {8, 2}},
      {12030, {8, 3}}, {12040, {8, 4}}, {12050, {8, 5}}, {12070, {8, 6}},
      {12080, {8, 7}}, {12090, {8, 8}}, {13000, {9, 0}},
  };
  if (driverVersion > std::rbegin(kRows)->driver)
    return std::nullopt;
  std::optional<PtxVersion> newest;
  for (const Row &row : kRows)
    if (row.driver <= driverVersion)
      newest = row.ptx;
  return newest.value_or(PtxVersion{6, 5});
}

std::string cudaVersionText(int driverVersion) {
  return fmt::format("{}.{}", driverVersion / 1000, driverVersion % 1000 / 10);
}

} // namespace epifold::runtime
