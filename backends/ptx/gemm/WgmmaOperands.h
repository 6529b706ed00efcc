// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Brings slabs of wgmma's operands into shared memory: by the tensor memory
// accelerator, but rows of A that are gathered by cp.async.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_WGMMAOPERANDS_H
#define EPIFOLD_BACKENDS_PTX_GEMM_WGMMAOPERANDS_H

#include "backends/ptx/gemm/SlabCopier.h"

namespace epifold::ptx {

/// The copies of a warpgroup that produces slabs. Stages are laid out as
/// SlabCopier says.
///
/// Columns are permuted where runs of 32 start at multiples of that in memory:
/// the lines 8 f + 2 q and the next one hold columns 8 q + 2 f and the next
/// one. Lane q of a quad, which gets lines 2 q and 2 q + 1 of every eight, so
/// has eight neighbouring columns, else two.
class WgmmaOperands {
public:
  /// Whether lines hold permuted columns.
  static bool permutesColumns(const GemmProblem &problem,
                              const GemmSchedule &schedule);

  /// Adds the tensor maps to the kernel's parameters.
  WgmmaOperands(KernelBuilder &b, const GemmProblem &problem,
                const GemmSchedule &schedule, int64_t threads);

  /// Fetches the tensor maps; for one thread.
  void prefetchMaps();
  /// Whether cp.async copies A: then all threads copy, and each arrives at the
  /// slab's barrier when its own copies are done.
  bool usesThreads() const { return problem.hasGather; }
  /// Arrivals at the barrier of a slab's stage.
  int64_t arrivals() const { return 1 + (usesThreads() ? threads : 0); }

  /// Finds the rows of `tile`; `memory` points to the first stage.
  void locate(const GemmTile &tile, mlir::Value memory);
  /// Whose copies these are: those of all threads, of one that copies boxes of
  /// A, or of one that copies boxes of the B's.
  enum class Role { All, A, Bs };

  /// Starts the role's copies of slab `index` into the stage at byte
  /// `stageStart` (both i32). All but `Bs` arrive at `barrier`, which also
  /// counts bytes. Of all threads the first one copies boxes.
  void copySlab(Role role, mlir::Value index, mlir::Value stageStart,
                mlir::Value barrier);
  /// Arrives at `barrier` without a slab.
  void skipSlab(Role role, mlir::Value barrier);

private:
  using Value = mlir::Value;

  void addMapOfA();
  void addMapsOfB();
  void copyBoxOfA(const GemmSlab &slab, Value stage, Value barrier);
  void copyBoxesOfB(const GemmSlab &slab, Value stage, Value barrier);
  int64_t boxBytes() const;

  KernelBuilder &b;
  const GemmProblem &problem;
  const GemmSchedule &schedule;
  int64_t threads;
  SlabCopier copier;
  Value mapOfA;
  KernelBuilder::Values mapsOfB;
  GemmTile tile;
  /// i32 address of the first stage.
  Value memory;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_WGMMAOPERANDS_H
