// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Measured schedules of products, as a file keeps them.

#ifndef EPIFOLD_TUNING_H
#define EPIFOLD_TUNING_H

#include "epifold/runtime/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epifold {

/// The schedule that was best for a product with so many rows on a target.
struct TuningEntry {
  std::string product; ///< As `listProducts` names it.
  std::string target;  ///< "sm_90a"
  /// Of all groups together where they are ragged. The schedule is for launches
  /// of more than half and at most twice as many rows.
  int64_t rows = 0;
  std::string schedule;    ///< As `listProducts` prints it.
  double ms = 0;           ///< Of the product's launches in a run.
  double defaultMs = 0;    ///< Of the same launches without tuning.
  std::string device = {}; ///< The chip's name.
};

/// The content of a tuning file: JSON with a version and a list of entries,
/// sorted by product, target and rows.
struct Tuning {
  std::vector<TuningEntry> entries;

  /// Errors name the file `name` and what is wrong in it: not JSON, another
  /// version, an entry that lacks a key or has one of another type.
  static Expected<Tuning> parse(std::string_view text, const std::string &name);
  std::string toText() const;

  /// Adds an entry in the place of one for the same product, target and rows.
  void add(TuningEntry entry);
};

} // namespace epifold

#endif // EPIFOLD_TUNING_H
