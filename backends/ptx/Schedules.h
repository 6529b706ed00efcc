// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Schedules of products as text: which there are, and which were measured to be
// best. A schedule says how a product is cut into tiles; it never changes bits.

#ifndef EPIFOLD_BACKENDS_PTX_SCHEDULES_H
#define EPIFOLD_BACKENDS_PTX_SCHEDULES_H

#include "backends/ptx/PtxBackend.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace epifold::ptx {

/// A schedule for launches of about so many rows: more than half of `rows` and
/// at most twice as many, and nearer to `rows` than to another one's.
struct MeasuredSchedule {
  /// Rows of all groups together where they are ragged.
  int64_t rows = 0;
  /// As `ScheduleUse` has it.
  std::string schedule;

  auto operator<=>(const MeasuredSchedule &) const = default;
};

/// A measured schedule, and what it was measured for.
struct TunedSchedule {
  std::string product; ///< As `describeProduct` gives it.
  std::string target;
  MeasuredSchedule measured;
};

/// A schedule by which a product is emitted.
struct ScheduleUse {
  /// "wgmma 128x256x64 stages=4 raster=16 warpgroups=2x1 resident=132": the
  /// instruction; rows, columns and reduction steps of a tile; tiles in flight;
  /// row tiles that share a column; warpgroups, warps (mma) or threads (fma)
  /// along rows and columns. Then, where it is so: "blocks=2" that fit a
  /// multiprocessor, "resident=132" blocks that stay, "swapped" operands,
  /// a tile's epilogue "deferred" into the next tile.
  std::string schedule;
  /// It is for launches of at most so many rows, or of any number.
  std::optional<int64_t> mostRows;
  bool isMeasured = false; ///< A measurement of the product says so.
};

/// The type, sizes and form of a product, on one line: what names it in a
/// tuning file. Sizes that a run may choose are no part of it. Nothing for
/// other ops.
std::optional<std::string> describeProduct(mlir::Operation *op);

/// Rows of a product's launch, where they are known at compile time.
std::optional<int64_t> rowsOfProduct(mlir::Operation *op);

/// As the other `emitKernel`, by measured schedules where there are some for
/// the op and the target. Fails with a diagnostic when one of these does not
/// fit.
mlir::FailureOr<std::vector<EmittedKernel>>
emitKernel(mlir::Operation *op, const EmitOptions &options,
           llvm::ArrayRef<TunedSchedule> tuned);

/// The schedules by which `emitKernel` emits a product for `target`, bounds of
/// rows ascending. Fails with a diagnostic when the product is one that the
/// backend refuses, or a measured schedule does not fit it.
mlir::FailureOr<std::vector<ScheduleUse>>
schedulesInUse(mlir::Operation *op, const std::string &target,
               llvm::ArrayRef<TunedSchedule> tuned);

/// Every schedule by which a product can be emitted for `target`: what a tuner
/// tries. Fails as `schedulesInUse`.
mlir::FailureOr<std::vector<std::string>>
scheduleCandidates(mlir::Operation *op, const std::string &target);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_SCHEDULES_H
