// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The device status word: what a step reports about its data without a host
// sync.

#ifndef EPIFOLD_RUNTIME_STATUS_H
#define EPIFOLD_RUNTIME_STATUS_H

#include <cstdint>
#include <limits>
#include <string>

namespace epifold::runtime {

/// Bits of StatusWord::bits.
enum StatusBit : int64_t {
  kStatusNanLogits = 1,       ///< A row of router logits held a NaN.
  kStatusIndexOutOfRange = 2, ///< A gather index was outside its table.
};

/// What "no row" looks like: kernels lower the row fields by a signed atomic
/// minimum.
inline constexpr int64_t kStatusNoRow = std::numeric_limits<int64_t>::max();

/// The layout of a Status buffer: four 64-bit words, reset before each run,
/// updated by kernels with integer atomics.
struct StatusWord {
  int64_t bits = 0;                     ///< Or of StatusBit.
  int64_t firstNanRow = kStatusNoRow;   ///< Lowest row of NaN logits.
  int64_t firstIndexRow = kStatusNoRow; ///< Lowest row of a bad index.
  /// Kernels' own: arrivals where blocks wait for one another in the lower
  /// half, tiles that blocks have drawn in the upper one.
  int64_t counters = 0;

  bool ok() const { return bits == 0; }
  /// Of what a run reports; how often its blocks waited is their own matter.
  bool operator==(const StatusWord &other) const {
    return bits == other.bits && firstNanRow == other.firstNanRow &&
           firstIndexRow == other.firstIndexRow;
  }
};
static_assert(sizeof(StatusWord) == 32);

/// One line a set bit, each naming the first row: "token 17: router logits hold
/// NaN ...". Empty when the status is ok.
std::string describe(const StatusWord &status);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_STATUS_H
