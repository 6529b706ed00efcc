// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrix products of f32 and f64 as chains of fused multiply-adds.

#ifndef EPIFOLD_IR_NUMERICS_PRODUCT_H
#define EPIFOLD_IR_NUMERICS_PRODUCT_H

#include "ir/numerics/ProductOperands.h"

namespace epifold::numerics {

/// For every output, c = fma(a[k], b[k], c) with k ascending from the value
/// that C holds. Rows are independent, so a caller may split them over threads.
void fmaProduct(const ProductOperands<float, float> &operands);
void fmaProduct(const ProductOperands<double, double> &operands);

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_PRODUCT_H
