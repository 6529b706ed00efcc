// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whether a graph's transcendentals are portable or fast.

#ifndef EPIFOLD_IR_KERNEL_MATHMODE_H
#define EPIFOLD_IR_KERNEL_MATHMODE_H

#include "mlir/IR/Operation.h"

namespace epifold::kernel {

/// How code for a GPU computes transcendentals of f32; those of f64 are always
/// portable.
enum class MathMode {
  /// The same bits on every device.
  Portable,
  /// Where a GPU has an instruction that approximates, by that: the same bits
  /// for any fusion set on one kind of device, and within a bound of the
  /// portable ones.
  Fast
};

/// The attribute of a function that says it: "portable" or "fast". It stays
/// with the function from graph to kernels.
inline constexpr llvm::StringLiteral mathModeAttrName = "graph.math";

/// The mode of that name, if there is one.
std::optional<MathMode> symbolizeMathMode(llvm::StringRef name);
llvm::StringRef stringifyMathMode(MathMode mode);

/// The mode of the innermost op around `op`, itself included, that has the
/// attribute; portable where none has.
MathMode getMathMode(mlir::Operation *op);

} // namespace epifold::kernel

#endif // EPIFOLD_IR_KERNEL_MATHMODE_H
