// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Cuts products into tiles for the threads; the order inside an output never
// depends on the cut.

#include "backends/reference/RunProduct.h"

#include "ir/numerics/MatrixUnit.h"
#include "ir/numerics/Product.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstring>

using namespace epifold;
using namespace epifold::reference;

namespace {

/// Part of a product's outputs.
struct Tile {
  int64_t row, column, rows, columns;
};

} // namespace

/// Continues a tile with one run by `product`, which takes operands of these
/// types.
template <typename Input, typename Sum>
static void
accumulateTile(void (&product)(const numerics::ProductOperands<Input, Sum> &),
               const ProductRun &run, const Tile &tile, int64_t depth,
               void *acc, int64_t accStride) {
  numerics::ProductOperands<Input, Sum> operands;
  operands.a = reinterpret_cast<const Input *>(run.a) + tile.row * run.aStride;
  operands.b =
      reinterpret_cast<const Input *>(run.b) + tile.column * run.bStride;
  operands.c = static_cast<Sum *>(acc) + tile.row * accStride + tile.column;
  operands.rows = tile.rows;
  operands.columns = tile.columns;
  operands.depth = depth;
  operands.aStride = run.aStride;
  operands.bStride = run.bStride;
  operands.cStride = accStride;
  product(operands);
}

void epifold::reference::accumulateRuns(const ProductShape &shape,
                                        llvm::ArrayRef<ProductRun> runs,
                                        void *acc, int64_t accStride,
                                        Workers &workers) {
  // Columns are cut first: a tile packs its part of b once, and may use it for
  // many rows.
  constexpr int64_t tileColumns = 64, tileRows = 256;
  int64_t columnTiles = (shape.columns + tileColumns - 1) / tileColumns;
  int64_t rowTiles = (shape.rows + tileRows - 1) / tileRows;
  workers.forEach(columnTiles * rowTiles, 1, [&](int64_t index, int64_t) {
    Tile tile;
    tile.row = index / columnTiles * tileRows;
    tile.column = index % columnTiles * tileColumns;
    tile.rows = std::min(tileRows, shape.rows - tile.row);
    tile.columns = std::min(tileColumns, shape.columns - tile.column);
    for (const ProductRun &run : runs)
      switch (shape.type) {
      case ElementType::F64:
        accumulateTile<double, double>(numerics::fmaProduct, run, tile,
                                       shape.depth, acc, accStride);
        break;
      case ElementType::F32:
        accumulateTile<float, float>(numerics::fmaProduct, run, tile,
                                     shape.depth, acc, accStride);
        break;
      case ElementType::BF16:
        accumulateTile<numerics::BFloat16, float>(numerics::matrixUnitProduct,
                                                  run, tile, shape.depth, acc,
                                                  accStride);
        break;
      case ElementType::F16:
        accumulateTile<numerics::Float16, float>(numerics::matrixUnitProduct,
                                                 run, tile, shape.depth, acc,
                                                 accStride);
        break;
      default:
        llvm_unreachable("products are of floats");
      }
  });
}

PaddedSamples::PaddedSamples(const std::byte *samples, ElementType type,
                             int64_t batch, int64_t time, int64_t channels,
                             int64_t padding)
    : data(batch * (padding + time) * channels * getByteSize(type)),
      rows(padding + time), rowBytes(channels * getByteSize(type)) {
  for (int64_t sample = 0; sample < batch && time != 0; ++sample)
    std::memcpy(data.data() + (sample * rows + padding) * rowBytes,
                samples + sample * time * rowBytes, time * rowBytes);
}

const std::byte *PaddedSamples::getRow(int64_t sample, int64_t row) const {
  return data.data() + (sample * rows + row) * rowBytes;
}
