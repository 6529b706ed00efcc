// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Device code that reports NaN logits and indices outside their table to the
// run's status words.

#ifndef EPIFOLD_BACKENDS_PTX_ROWS_STATUSREPORT_H
#define EPIFOLD_BACKENDS_PTX_ROWS_STATUSREPORT_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// Bits of status word 0. Word 1 holds the first row with NaN logits, word 2
/// the first one with an index outside.
enum class StatusKind { NaNLogits = 1, IndexOutside = 2 };

/// Adds `kind` and the i64 `row` to the status words. The kernel must have
/// asked for them.
void reportStatus(KernelBuilder &b, StatusKind kind, mlir::Value row);

/// i1: 0 <= index < size, both i64.
mlir::Value isIndexInside(KernelBuilder &b, mlir::Value index,
                          mlir::Value size);

/// A quiet NaN of a float type.
mlir::Value notANumber(KernelBuilder &b, mlir::Type type);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_ROWS_STATUSREPORT_H
