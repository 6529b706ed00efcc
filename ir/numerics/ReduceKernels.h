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
  Moments<T> work[leafSize * leafSize];
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      work[row * leafSize + column] = {1, leaf[row * rowStride + column], 0};
  mergeLeaf(tileLeafOrder, rows, columns, [&](size_t low, size_t high) {
    work[low] = mergeMoments<T, Isa>(work[low], work[high]);
  });
  *out = work[0];
}

template <typename Isa>
constexpr void fillReduce(KernelTable &table) {
  table.leafMomentsFloat = leafMomentsLoop<float, Isa>;
  table.leafMomentsDouble = leafMomentsLoop<double, Isa>;
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_REDUCEKERNELS_H
