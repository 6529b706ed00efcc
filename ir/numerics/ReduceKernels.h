// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reduction of one leaf, for the instruction set of the file that includes
// this.

#ifndef EPIFOLD_IR_NUMERICS_REDUCEKERNELS_H
#define EPIFOLD_IR_NUMERICS_REDUCEKERNELS_H

#include "ir/numerics/KernelTable.h"
#include "ir/numerics/ReductionTree.h"

namespace epifold::numerics::detail {

template <typename T, typename Isa>
void leafMomentsLoop(const T *leaf, size_t rows, size_t columns,
                     size_t rowStride, Moments<T> *out) {
  // Plain arrays, as a leaf of one row should not pay for clearing 64.
  constexpr size_t size = leafSize * leafSize;
  T counts[size], means[size], m2s[size];
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      size_t i = row * leafSize + column;
      counts[i] = 1;
      means[i] = leaf[row * rowStride + column];
      m2s[i] = 0;
    }
  auto at = [&](size_t i) { return Moments<T>{counts[i], means[i], m2s[i]}; };
  mergeLeaf(tileLeafOrder, rows, columns, [&](size_t low, size_t high) {
    Moments<T> merged = mergeMoments<T, Isa>(at(low), at(high));
    counts[low] = merged.count;
    means[low] = merged.mean;
    m2s[low] = merged.m2;
  });
  *out = at(0);
}

template <typename Isa>
constexpr void fillReduce(KernelTable &table) {
  table.leafMomentsFloat = leafMomentsLoop<float, Isa>;
  table.leafMomentsDouble = leafMomentsLoop<double, Isa>;
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_REDUCEKERNELS_H
