// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A model of a product's waves of tiles, as coarse as fusions need it.

#include "passes/TileCost.h"

using namespace mlir;
using namespace epifold;

/// What a dimension that is known at run time alone is taken for.
static constexpr int64_t kNominalSize = 4096;

int64_t epifold::estimateRows(kernel::GemmOp product) {
  auto shape = cast<ShapedType>(product.getA().getType()).getShape();
  int64_t rows = 1;
  for (int64_t size : product.isConvolution() ? shape.drop_back()
                                              : shape.drop_back().take_back())
    rows *= ShapedType::isDynamic(size) ? kNominalSize : size;
  return rows;
}

int64_t epifold::estimateTileCycles(kernel::GemmOp product, int64_t groups,
                                    bool wholeLeaves) {
  constexpr int64_t kProcessors = 132, kRows = 128, kMostColumns = 256;
  // Of a slab of 64 steps: a column of 128 rows, what it takes besides, and
  // the least it takes (docs/hopper.md).
  constexpr int64_t kSlab = 64, kColumn = 4, kBesides = 110, kLeast = 368;
  int64_t slabs =
      product.getTaps() * llvm::divideCeil(product.getDepth(), kSlab);
  int64_t rowTiles = llvm::divideCeil(estimateRows(product), kRows);
  int64_t products = groups * int64_t(product.getB().size());
  int64_t otherGroups = product.getGroups() / groups;
  int64_t best = INT64_MAX;
  for (int64_t width : {64, 96, 128, 192, 256}) {
    int64_t wide = width * products;
    if (wide > kMostColumns || (wholeLeaves && width % kernel::kLeaf != 0))
      continue;
    int64_t tiles = rowTiles * otherGroups *
                    llvm::divideCeil(product.getResultColumns(), width);
    int64_t waves = llvm::divideCeil(tiles, kProcessors);
    best = std::min(best, waves * slabs *
                              std::max(wide * kColumn + kBesides, kLeast));
  }
  return best;
}
