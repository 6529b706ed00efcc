// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The arithmetic of Hopper's matrix unit on bf16 and f16, to the bit.

#ifndef EPIFOLD_IR_NUMERICS_MATRIXUNIT_H
#define EPIFOLD_IR_NUMERICS_MATRIXUNIT_H

#include "ir/numerics/Float16.h"
#include "ir/numerics/ProductOperands.h"

namespace epifold::numerics {

/// Elements of the inner dimension that the matrix unit adds at once.
inline constexpr size_t matrixUnitStep = 16;

/// One accumulator's step, read straight off docs/matrix-unit.md: acc and the
/// 16 products a[i] * b[i] are truncated toward zero to a common unit, added
/// exactly and truncated to f32. The readable definition; matrixUnitProduct is
/// the fast one.
float matrixUnitMultiplyAdd(const BFloat16 *a, const BFloat16 *b, float acc);
float matrixUnitMultiplyAdd(const Float16 *a, const Float16 *b, float acc);

/// Continues C in steps of 16 along depth, ascending, the last step padded with
/// zeros; products chained by several calls pad each call's depth. Rows are
/// independent, so a caller may split them over threads.
void matrixUnitProduct(const ProductOperands<BFloat16, float> &operands);
void matrixUnitProduct(const ProductOperands<Float16, float> &operands);

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_MATRIXUNIT_H
