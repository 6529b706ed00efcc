// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The fixed merge orders of reductions, for any value that can be merged in
// pairs.

#ifndef EPIFOLD_IR_NUMERICS_REDUCTIONTREE_H
#define EPIFOLD_IR_NUMERICS_REDUCTIONTREE_H

#include "ir/numerics/HostScalar.h"

#include <cstddef>

namespace epifold::numerics {

/// Rows and columns of one leaf. Leaves are counted from a sample's first row
/// and a row's first column; the last one in either direction may be short.
inline constexpr size_t leafSize = 64;

/// Leaves of leafSize elements that cover `count`.
constexpr size_t leafCount(size_t count) {
  return (count + leafSize - 1) / leafSize;
}

namespace detail {

/// The order in which the bits of an element's position are merged inside a
/// leaf: bit b of the column is b, bit b of the row is rowBit + b. The first
/// four are what one thread of a matrix unit's accumulator layout holds, so
/// that a product's epilogue can begin a reduction in its registers.
inline constexpr unsigned rowBit = 6;
inline constexpr unsigned rowLeafOrder[] = {0, 3, 4, 5, 1, 2};
inline constexpr unsigned tileLeafOrder[] = {
    0, 3,          4,          5,          rowBit + 3, 1,
    2, rowBit + 0, rowBit + 1, rowBit + 2, rowBit + 4, rowBit + 5};

/// Merges the elements at positions below `columns` (and, in a tile, `rows`)
/// bit by bit, into position 0. For each bit, merge(low, high) is called for
/// every two positions that differ in that bit alone, all earlier bits being 0,
/// where both exist; a value without a partner stays as it is.
template <size_t N, typename Merge>
void mergeLeaf(const unsigned (&order)[N], size_t rows, size_t columns,
               Merge merge) {
  size_t merged = 0;
  for (unsigned position : order) {
    size_t bit = size_t(1) << position;
    size_t columnBit = bit & (leafSize - 1), rowStep = bit >> rowBit;
    merged |= bit;
    size_t mergedColumns = merged & (leafSize - 1),
           mergedRows = merged >> rowBit;
    for (size_t row = 0; row + rowStep < rows; ++row) {
      if (row & mergedRows)
        continue;
      for (size_t column = 0; column + columnBit < columns; ++column)
        if (!(column & mergedColumns))
          merge(row * leafSize + column,
                (row + rowStep) * leafSize + column + columnBit);
    }
  }
}

} // namespace detail

/// Merges values in adjacent pairs, level by level (2i with 2i+1, an odd last
/// one passes through), while they arrive in order. Holds one value per level.
/// Value merge(const Value &low, const Value &high).
template <typename Value, typename Merge>
class PairwiseMerger {
public:
  explicit PairwiseMerger(Merge merge) : merge(merge) {}

  void push(Value value) {
    // Level i is occupied where bit i of the number of values is set, as in a
    // binary counter.
    unsigned level = 0;
    for (; (count >> level) & 1; ++level)
      value = merge(levels[level], value);
    levels[level] = value;
    ++count;
  }

  /// The merged value; at least one must have been pushed.
  Value finish() const {
    unsigned level = 0;
    while (!((count >> level) & 1))
      ++level;
    Value value = levels[level];
    for (++level; level < 64 && (count >> level); ++level)
      if ((count >> level) & 1)
        value = merge(levels[level], value);
    return value;
  }

private:
  Merge merge;
  Value levels[64] = {};
  size_t count = 0;
};

/// Count, mean and sum of squared deviations of a set of numbers.
template <typename T>
struct Moments {
  T count = 0, mean = 0, m2 = 0;
};

/// Chan's formula, in this order of rounded operations; the counts are whole
/// numbers in T.
template <typename T, typename Isa = BaselineIsa>
Moments<T> mergeMoments(const Moments<T> &low, const Moments<T> &high) {
  using Scalar = HostScalar<T, Isa>;
  T count = low.count + high.count;
  T delta = high.mean - low.mean;
  T mean = Scalar::fma(delta, high.count / count, low.mean);
  T m2 = Scalar::fma(delta * delta, (low.count * high.count) / count,
                     low.m2 + high.m2);
  return {count, mean, m2};
}

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_REDUCTIONTREE_H
