// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stores full tiles of wgmma's results by boxes, through shared memory: the
// copies run while the next tile is multiplied.

#ifndef EPIFOLD_BACKENDS_PTX_GEMM_WGMMASTORE_H
#define EPIFOLD_BACKENDS_PTX_GEMM_WGMMASTORE_H

#include "backends/ptx/gemm/GemmEpilogue.h"

#include <functional>

namespace epifold::ptx {

/// A consumer warpgroup's stores. A round is a box of 64 rows and 64 columns of
/// a 16-bit out; of two boxes in shared memory one is filled while the other is
/// read.
class WgmmaStore : public RoundStore {
public:
  /// Whether boxes can hold what `problem` stores, and the warpgroups of
  /// `schedule` have whole ones.
  static bool fits(const GemmProblem &problem, const GemmSchedule &schedule);
  /// Bytes of shared memory for `warpgroups`, which start at a multiple of
  /// 1024.
  static int64_t sharedBytes(int64_t warpgroups);

  /// Adds the out's tensor map to the kernel's parameters.
  WgmmaStore(KernelBuilder &b, const GemmProblem &problem);

  /// The warpgroup `number` (i32) of those whose boxes lie at `memory`; it has
  /// `rounds` a tile.
  void enter(mlir::Value memory, mlir::Value number, int64_t rounds);
  /// What all threads of the warpgroup do with each filled box, on top; they
  /// may read it until they come back.
  void setVisitor(std::function<void(int64_t round, mlir::Value box)> visit) {
    visitor = std::move(visit);
  }
  /// The next tile: its group, and the warpgroup's first row and column in the
  /// product (i64).
  void locate(mlir::Value group, mlir::Value row, mlir::Value column);
  /// Waits until shared memory is free.
  void finish();

  int64_t runsOfRound() const override;
  void beginRound(int64_t round) override;
  void put(int64_t row, int64_t run, mlir::ValueRange values) override;
  void endRound(int64_t round) override;

private:
  using Value = mlir::Value;

  void forFirstThread(llvm::function_ref<void()> body);
  void synchronize();
  Value boxOf(int64_t round);

  KernelBuilder &b;
  unsigned rank;
  Value map;
  Value memory, number, group, row, column;
  int64_t rounds = 0;
  std::function<void(int64_t round, Value box)> visitor;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_GEMM_WGMMASTORE_H
