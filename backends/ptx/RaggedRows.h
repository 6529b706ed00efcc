// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads the offsets of ragged rows on the device.

#ifndef EPIFOLD_BACKENDS_PTX_RAGGEDROWS_H
#define EPIFOLD_BACKENDS_PTX_RAGGEDROWS_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Rows `begin` … `end - 1`, i64.
struct RowRange {
  mlir::Value begin, end;
};

/// i64 first row of expert `expert` (i32 or i64) by the operand `offsets`.
mlir::Value loadOffset(KernelBuilder &b, unsigned offsets, mlir::Value expert);

/// The rows of the launch's group, or of all experts when the op has no
/// `group`.
RowRange raggedRows(KernelBuilder &b, unsigned offsets, bool hasGroup);

/// i32: the largest g with `first(offsets[g], g) <= value`, where `first` (i64
/// and i32 in, i64 out) does not fall with g and `first` of group 0 is at most
/// `value`. With `first` the offset itself this is the expert of row `value`.
mlir::Value
findGroup(KernelBuilder &b, unsigned offsets, mlir::Value value,
          llvm::function_ref<mlir::Value(mlir::Value offset, mlir::Value group)>
              first);

/// i32: the largest g < `groups` with `first(g)` <= `value`, where `first` (i32
/// in, `value`'s type out) does not fall with g and `first(0)` is at most
/// `value`. All lanes of a warp must take part, with one `value`: they read
/// `first` side by side rather than one after the other.
mlir::Value
findGroupByWarp(KernelBuilder &b, int64_t groups, mlir::Value value,
                llvm::function_ref<mlir::Value(mlir::Value group)> first);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_RAGGEDROWS_H
