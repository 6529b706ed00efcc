// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a blocked matrix product is given.

#ifndef EPIFOLD_IR_NUMERICS_PRODUCTOPERANDS_H
#define EPIFOLD_IR_NUMERICS_PRODUCTOPERANDS_H

#include <cstddef>

namespace epifold::numerics {

/// C[rows, columns] continues with A[rows, depth] · B[columns, depth]^T.
/// Strides count elements and may be any, 0 included; a step is the distance
/// along depth (not 1 for a convolution's weights, whose taps lie innermost, or
/// for a transposed operand). C must not overlap A or B. Any extent may be 0.
template <typename Input, typename Sum>
struct ProductOperands {
  const Input *a = nullptr;
  const Input *b = nullptr;
  Sum *c = nullptr;
  size_t rows = 0, columns = 0, depth = 0;
  size_t aStride = 0, bStride = 0, cStride = 0;
  size_t aStep = 1, bStep = 1;
};

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_PRODUCTOPERANDS_H
