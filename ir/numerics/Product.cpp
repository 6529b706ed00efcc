// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Hands products to the loops of this processor.

#include "ir/numerics/Product.h"

#include "ir/numerics/KernelTable.h"

namespace epifold::numerics {

void fmaProduct(const ProductOperands<float, float> &operands) {
  kernelTable().fmaProductFloat(operands);
}

void fmaProduct(const ProductOperands<double, double> &operands) {
  kernelTable().fmaProductDouble(operands);
}

} // namespace epifold::numerics
