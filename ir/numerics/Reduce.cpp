// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Walks rows and samples leaf by leaf.

#include "ir/numerics/Reduce.h"

#include "ir/numerics/KernelTable.h"

#include <algorithm>
#include <cassert>

namespace epifold::numerics {
namespace {

template <typename T>
T sumOfLeaf(std::span<const T> leaf) {
  assert(leaf.size() <= leafSize);
  if (leaf.empty())
    return 0;
  T work[leafSize];
  std::copy(leaf.begin(), leaf.end(), work);
  detail::mergeLeaf(detail::rowLeafOrder, 1, leaf.size(),
                    [&](size_t low, size_t high) { work[low] += work[high]; });
  return work[0];
}

template <typename T>
T sumOfRow(std::span<const T> row) {
  if (row.empty())
    return 0;
  PairwiseMerger<T, T (*)(const T &, const T &)> leaves(
      [](const T &low, const T &high) { return low + high; });
  for (size_t begin = 0; begin < row.size(); begin += leafSize)
    leaves.push(
        sumOfLeaf(row.subspan(begin, std::min(leafSize, row.size() - begin))));
  return leaves.finish();
}

template <typename T>
Moments<T> momentsOfSample(const T *sample, size_t rows, size_t columns,
                           size_t rowStride) {
  return mergeLeafGrid<T>(
      leafCount(rows), leafCount(columns), [&](size_t i, size_t j) {
        size_t row = i * leafSize, column = j * leafSize;
        return leafMoments(sample + row * rowStride + column,
                           std::min(leafSize, rows - row),
                           std::min(leafSize, columns - column), rowStride);
      });
}

} // namespace

float leafSum(std::span<const float> leaf) { return sumOfLeaf(leaf); }
double leafSum(std::span<const double> leaf) { return sumOfLeaf(leaf); }
float rowSum(std::span<const float> row) { return sumOfRow(row); }
double rowSum(std::span<const double> row) { return sumOfRow(row); }

Moments<float> leafMoments(const float *leaf, size_t rows, size_t columns,
                           size_t rowStride) {
  Moments<float> result;
  kernelTable().leafMomentsFloat(leaf, rows, columns, rowStride, &result);
  return result;
}

Moments<double> leafMoments(const double *leaf, size_t rows, size_t columns,
                            size_t rowStride) {
  Moments<double> result;
  kernelTable().leafMomentsDouble(leaf, rows, columns, rowStride, &result);
  return result;
}

Moments<float> sampleMoments(const float *sample, size_t rows, size_t columns,
                             size_t rowStride) {
  return momentsOfSample(sample, rows, columns, rowStride);
}

Moments<double> sampleMoments(const double *sample, size_t rows, size_t columns,
                              size_t rowStride) {
  return momentsOfSample(sample, rows, columns, rowStride);
}

} // namespace epifold::numerics
