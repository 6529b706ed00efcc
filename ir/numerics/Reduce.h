// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums and statistics in the contract's order, which depends on the reduced
// shape alone.

#ifndef EPIFOLD_IR_NUMERICS_REDUCE_H
#define EPIFOLD_IR_NUMERICS_REDUCE_H

#include "ir/numerics/ReductionTree.h"

#include <span>

namespace epifold::numerics {

/// The sum of up to leafSize numbers, merged by position bits in the order 0,
/// 3, 4, 5, 1, 2; 0 for none.
float leafSum(std::span<const float> leaf);
double leafSum(std::span<const double> leaf);

/// The sum of a row: leaves of leafSize, then pairs of leaves. 0 for an empty
/// row.
float rowSum(std::span<const float> row);
double rowSum(std::span<const double> row);

/// Statistics of a leaf of up to leafSize rows and columns, elements rowStride
/// apart from row to row. Both extents are at least 1. A single row merges its
/// columns' bits alone, which is the order of row statistics.
Moments<float> leafMoments(const float *leaf, size_t rows, size_t columns,
                           size_t rowStride);
Moments<double> leafMoments(const double *leaf, size_t rows, size_t columns,
                            size_t rowStride);

/// Statistics of a sample [rows, columns] (a row statistic has one row): 64×64
/// leaves, merged along columns for each row of leaves, then along rows, each
/// in adjacent pairs. Both extents are at least 1. A row of leaves may be
/// computed elsewhere and merged with mergeLeafGrid.
Moments<float> sampleMoments(const float *sample, size_t rows, size_t columns,
                             size_t rowStride);
Moments<double> sampleMoments(const double *sample, size_t rows, size_t columns,
                              size_t rowStride);

/// Merges a grid of leaves, leaf(i, j) giving the Moments<T> of row i and
/// column j.
template <typename T, typename Leaf>
Moments<T> mergeLeafGrid(size_t leafRows, size_t leafColumns, Leaf leaf) {
  PairwiseMerger<Moments<T>,
                 Moments<T> (*)(const Moments<T> &, const Moments<T> &)>
      rows(mergeMoments<T>);
  for (size_t i = 0; i < leafRows; ++i) {
    PairwiseMerger<Moments<T>,
                   Moments<T> (*)(const Moments<T> &, const Moments<T> &)>
        columns(mergeMoments<T>);
    for (size_t j = 0; j < leafColumns; ++j)
      columns.push(leaf(i, j));
    rows.push(columns.finish());
  }
  return rows.finish();
}

/// 1 / sqrt(m2 / count + epsilon): one IEEE division, sum, root and division.
template <typename T>
T reciprocalDeviation(const Moments<T> &moments, T epsilon) {
  return 1 / HostScalar<T>::sqrt(moments.m2 / moments.count + epsilon);
}

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_REDUCE_H
