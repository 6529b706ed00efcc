// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel op's region run at every point of a box.

#ifndef EPIFOLD_BACKENDS_REFERENCE_REGIONLAUNCH_H
#define EPIFOLD_BACKENDS_REFERENCE_REGIONLAUNCH_H

#include "backends/reference/Frame.h"
#include "backends/reference/IndexMap.h"
#include "backends/reference/ScalarProgram.h"

namespace epifold::reference {

/// The region, its operands and the maps that index them. The region's first
/// arguments may be values of the op itself (a product's accumulators); its
/// other arguments are elements of `ins`.
class RegionLaunch {
public:
  /// `dims` and `symbol` bound what the maps (ins, then outs) will be asked
  /// for; fails when one of them could leave its operand, or when the region
  /// holds an op without meaning. `outs` must outlive the launch.
  static llvm::Expected<RegionLaunch>
  create(mlir::Operation *op, mlir::Block &body, mlir::ArrayAttr maps,
         llvm::ArrayRef<Tensor> ins, llvm::MutableArrayRef<Tensor> outs,
         llvm::ArrayRef<Bounds> dims, Bounds symbol);

  /// Runs the region at the points begin … begin + sizes. `own` holds the op's
  /// own values, row-major over the box.
  void run(llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> sizes,
           int64_t symbol, llvm::ArrayRef<const std::byte *> own,
           Workers &workers);

private:
  struct Operand {
    IndexMap map;
    int64_t size; // bytes of an element
    std::byte *data;
  };
  struct Box {
    llvm::ArrayRef<int64_t> begin, sizes;
    int64_t symbol;
  };

  void runChunk(const Box &box, llvm::ArrayRef<const std::byte *> own,
                int64_t begin, int64_t end);

  ScalarProgram program;
  std::vector<Tensor> inputs; // keeps what the operands point to
  std::vector<Operand> ins, outs;
};

} // namespace epifold::reference

#endif
