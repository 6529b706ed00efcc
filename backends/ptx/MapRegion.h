// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a thread does for some neighbouring points of an elementwise launch:
// elements in, region, results out.

#ifndef EPIFOLD_BACKENDS_PTX_MAPREGION_H
#define EPIFOLD_BACKENDS_PTX_MAPREGION_H

#include "backends/ptx/KernelBuilder.h"

namespace epifold::ptx {

/// The region of a `kernel.map`, which is a launch or the part of a cascade
/// that is one.
class MapRegion {
public:
  explicit MapRegion(kernel::MapOp op);

  /// The op that is launched; kernel operands are its operands.
  mlir::Operation *getLaunch() const { return launch; }
  /// The kernel operand whose shape is the iteration space, and its type.
  unsigned getDomain() const { return domain; }
  mlir::RankedTensorType getShape() const { return shape; }
  /// Points along the innermost dimension that a thread takes at once: a power
  /// of two that divides it.
  int64_t getWidth() const { return width; }
  /// A map uses the row's expert.
  bool usesExpert() const;

  /// What stands for elements of a buffer of the cascade's own, which `map`
  /// indexes.
  using OwnValue = llvm::function_ref<mlir::Value(mlir::AffineMap map)>;

  /// For each out the results at `point` (i64) and the width - 1 points after
  /// it along the innermost dimension; `expert` may be null when unused.
  llvm::SmallVector<KernelBuilder::Values>
  compute(KernelBuilder &b, mlir::ValueRange point, mlir::Value expert,
          OwnValue own = nullptr) const;
  void store(KernelBuilder &b, llvm::ArrayRef<KernelBuilder::Values> results,
             mlir::ValueRange point, mlir::Value expert) const;

private:
  /// One tensor that the launch reads or writes, by kernel operand number; none
  /// for a buffer of the cascade's own.
  struct Access {
    std::optional<unsigned> operand;
    mlir::RankedTensorType type;
    mlir::AffineMap map;
  };

  void chooseWidth();
  KernelBuilder::Values load(KernelBuilder &b, const Access &access,
                             mlir::ValueRange point, mlir::Value expert) const;
  bool isVector(const Access &access) const;

  /// A handle, whose accessors are not const.
  mutable kernel::MapOp op;
  mlir::Operation *launch;
  llvm::SmallVector<Access> ins, outs;
  unsigned domain = 0;
  mlir::RankedTensorType shape;
  bool hasColumns;
  int64_t width = 1;
};

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_MAPREGION_H
