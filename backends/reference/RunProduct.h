// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrix products as a chain of runs into one accumulator, split over threads.

#ifndef EPIFOLD_BACKENDS_REFERENCE_RUNPRODUCT_H
#define EPIFOLD_BACKENDS_REFERENCE_RUNPRODUCT_H

#include "backends/reference/Tensor.h"
#include "backends/reference/Workers.h"

#include <vector>

namespace epifold::reference {

/// One run of k: a row-major a[rows, depth] and b[columns, depth], strides in
/// elements. A convolution has a run for each tap, a plain product one.
struct ProductRun {
  const std::byte *a;
  int64_t aStride;
  const std::byte *b;
  int64_t bStride;
};

struct ProductShape {
  ElementType type; // of a and b
  int64_t rows, columns, depth;
};

/// acc[rows, columns] += Σ over the runs of a · bᵀ, in the contract's order: an
/// fma chain for f32 and f64, the matrix unit's steps for bf16 and f16, each
/// run padded on its own. `acc` holds doubles for f64, floats otherwise.
void accumulateRuns(const ProductShape &shape, llvm::ArrayRef<ProductRun> runs,
                    void *acc, int64_t accStride, Workers &workers);

/// Samples [batch, time, channels] with `padding` rows of zeros before each:
/// what a causal convolution reads.
class PaddedSamples {
public:
  PaddedSamples(const std::byte *samples, ElementType type, int64_t batch,
                int64_t time, int64_t channels, int64_t padding);

  /// Row `row` of sample `sample`, counted from the first zero row.
  const std::byte *getRow(int64_t sample, int64_t row) const;

private:
  std::vector<std::byte> data;
  int64_t rows, rowBytes;
};

} // namespace epifold::reference

#endif
