// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Expands the scalar functions: portable ones into the instruction sequences
// that the CPU reference evaluates, fast ones into a GPU's approximations.

#ifndef EPIFOLD_BACKENDS_PTX_MATHEXPANSION_H
#define EPIFOLD_BACKENDS_PTX_MATHEXPANSION_H

#include "ir/kernel/KernelDialect.h"
#include "ir/kernel/MathMode.h"

namespace epifold::ptx {

/// `function(input)` for an f32 or f64 input as arith, math-free code.
mlir::Value expandMath(mlir::OpBuilder &builder, mlir::Location loc,
                       kernel::MathMode mode, kernel::MathFunction function,
                       kernel::Accuracy accuracy, mlir::Value input);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_MATHEXPANSION_H
