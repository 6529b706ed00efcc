// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads and writes tuning files.

#include "epifold/Tuning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace epifold {

using Json = nlohmann::ordered_json;

static constexpr const char *kVersionKey = "epifold_tuning";
static constexpr int64_t kVersion = 1;

static auto keyOf(const TuningEntry &entry) {
  return std::tie(entry.product, entry.target, entry.rows);
}

/// Sets `value` from `key`; false when the entry has none of that type.
template <typename T>
static bool read(const Json &json, const char *key, T &value) {
  auto found = json.find(key);
  if (found == json.end())
    return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string())
      return false;
  } else if constexpr (std::is_integral_v<T>) {
    if (!found->is_number_integer())
      return false;
  } else if (!found->is_number()) {
    return false;
  }
  value = found->get<T>();
  return true;
}

Expected<Tuning> Tuning::parse(std::string_view text, const std::string &name) {
  auto bad = [&](const std::string &what) {
    return Error(ErrorCode::InvalidArgument, name + ": " + what);
  };
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return bad("is not a JSON object");
  int64_t version = 0;
  if (!read(json, kVersionKey, version))
    return bad(std::string("is no tuning file: it has no \"") + kVersionKey +
               "\"");
  if (version != kVersion)
    return bad("has version " + std::to_string(version) +
               " of tuning files, and this compiler reads version " +
               std::to_string(kVersion) + ": tune again");
  auto list = json.find("schedules");
  if (list == json.end() || !list->is_array())
    return bad("has no list \"schedules\"");
  Tuning tuning;
  for (const Json &item : *list) {
    auto badEntry = [&](const std::string &what) {
      return bad("entry " + std::to_string(tuning.entries.size()) + " " + what);
    };
    if (!item.is_object())
      return badEntry("is not an object");
    TuningEntry entry;
    if (!read(item, "product", entry.product) ||
        !read(item, "target", entry.target) ||
        !read(item, "schedule", entry.schedule))
      return badEntry("lacks \"product\", \"target\" or \"schedule\", which "
                      "are strings");
    if (!read(item, "rows", entry.rows) || entry.rows < 1)
      return badEntry("lacks \"rows\", a number of at least 1");
    read(item, "ms", entry.ms);
    read(item, "default_ms", entry.defaultMs);
    read(item, "device", entry.device);
    tuning.entries.push_back(std::move(entry));
  }
  return tuning;
}

std::string Tuning::toText() const {
  std::vector<TuningEntry> sorted = entries;
  std::sort(sorted.begin(), sorted.end(),
            [](const TuningEntry &a, const TuningEntry &b) {
              return keyOf(a) < keyOf(b);
            });
  Json list = Json::array();
  for (const TuningEntry &entry : sorted)
    list.push_back({{"product", entry.product},
                    {"target", entry.target},
                    {"rows", entry.rows},
                    {"schedule", entry.schedule},
                    {"ms", entry.ms},
                    {"default_ms", entry.defaultMs},
                    {"device", entry.device}});
  Json json = {{kVersionKey, kVersion}, {"schedules", std::move(list)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void Tuning::add(TuningEntry entry) {
  std::erase_if(entries, [&](const TuningEntry &other) {
    return keyOf(other) == keyOf(entry);
  });
  entries.push_back(std::move(entry));
}

} // namespace epifold
