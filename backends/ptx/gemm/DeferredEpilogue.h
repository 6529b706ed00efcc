// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The epilogue of a wgmma kernel's tile, applied while the next tile is
// multiplied.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_DEFERREDEPILOGUE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_DEFERREDEPILOGUE_H

#include "backends/ptx/gemm/GemmEpilogue.h"

namespace epifold::ptx {

/// When a warpgroup's sums are finished, it rounds them to 16 bits, two in a
/// register, and goes on with the next tile. Between the start of a slab's
/// products and their end, when it would only wait, it deals with one piece of
/// what it kept: eight neighbouring columns of a row.
///
/// Two ways to have 16 bits: the region's results, of which only the stores are
/// left then; or, where the region first rounds every sum, the rounded sums,
/// and all of the region is left.
class DeferredEpilogue {
public:
  /// Whether the epilogue has such a form, and a thread registers for it.
  static bool fits(const GemmProblem &problem, const GemmSchedule &schedule);

  DeferredEpilogue(KernelBuilder &b, const GemmProblem &problem,
                   const GemmSchedule &schedule);

  /// What a thread keeps before its first tile: values that go around loops.
  KernelBuilder::Values nothing();
  /// The same of a tile with these sums.
  KernelBuilder::Values keep(const GemmTile &tile,
                             const AccumulatorLayout &layout,
                             GemmEpilogue &epilogue, AccumulatorAt accumulator);

  int64_t countPieces() const { return kRows * runs; }
  /// Computes and stores piece number `piece` of what was kept.
  void emitPiece(mlir::ValueRange kept, int64_t piece);

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// Rows of a thread, and columns of a piece.
  static constexpr int64_t kRows = 2, kColumns = 8;
  /// Columns that the pieces of a quad of lanes cover.
  static constexpr int64_t kQuadColumns = 32;
  static constexpr int64_t kRegisters = kColumns / 2;

  int64_t countOuts() const { return problem.op.getOuts().size(); }
  /// Sums, or results, of a column.
  int64_t countKept() const {
    return keepsSums ? problem.products : countOuts();
  }
  Values unpack(mlir::ValueRange registers, mlir::Type element);
  llvm::SmallVector<Values> applyRegion(mlir::ValueRange registers);
  void store(mlir::ValueRange kept, int64_t piece,
             llvm::ArrayRef<Values> results);
  /// Row and run of a piece.
  static std::pair<int64_t, int64_t> placeOf(int64_t piece) {
    return {piece % kRows, piece / kRows};
  }

  KernelBuilder &b;
  const GemmProblem &problem;
  bool keepsSums;
  int64_t runs;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_DEFERREDEPILOGUE_H
