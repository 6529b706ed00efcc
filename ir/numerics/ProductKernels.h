// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The blocked fma-chain product, for the instruction set of the file that
// includes this.

#ifndef EPIFOLD_IR_NUMERICS_PRODUCTKERNELS_H
#define EPIFOLD_IR_NUMERICS_PRODUCTKERNELS_H

#include "ir/numerics/KernelTable.h"
#include "ir/numerics/VectorTypes.h"

namespace epifold::numerics::detail {

/// Lanes are outputs of one row, so that each keeps its own ascending chain. A
/// tile of rows × two vectors of columns gives enough independent chains to
/// hide the latency of an fma.
template <typename T, typename Isa>
struct FmaProduct {
  static constexpr size_t lanes = Isa::vectorBytes / sizeof(T);
  static constexpr size_t tileRows = 6, tileColumns = 2 * lanes;
  /// Depth of a packed panel of B: it stays in the second-level cache while all
  /// rows pass.
  static constexpr size_t panelDepth = 512;
  using V = Vector<T, lanes>;
  using Operands = ProductOperands<T, T>;

  /// Continues a tile of C by one panel; panel[k][column] is packed, row 0 of
  /// the tile is `row`.
  template <size_t height>
  static void tile(const Operands &o, size_t row, size_t column, size_t width,
                   size_t k0, size_t kCount, const T *panel) {
    V sums[height][2];
    T edge[tileColumns];
#pragma clang loop unroll(full)
    for (size_t i = 0; i < height; ++i) {
      const T *c = o.c + (row + i) * o.cStride + column;
      if (width < tileColumns) {
        for (size_t j = 0; j < tileColumns; ++j)
          edge[j] = j < width ? c[j] : 0;
        c = edge;
      }
      sums[i][0] = loadVector<V>(c);
      sums[i][1] = loadVector<V>(c + lanes);
    }
    const T *a = o.a + row * o.aStride + k0 * o.aStep;
    for (size_t k = 0; k < kCount; ++k, a += o.aStep, panel += tileColumns) {
      V b0 = loadVector<V>(panel), b1 = loadVector<V>(panel + lanes);
#pragma clang loop unroll(full)
      for (size_t i = 0; i < height; ++i) {
        V ai = a[i * o.aStride] - V{}; // Minus +0 keeps every value, -0 too.
        sums[i][0] = __builtin_elementwise_fma(ai, b0, sums[i][0]);
        sums[i][1] = __builtin_elementwise_fma(ai, b1, sums[i][1]);
      }
    }
#pragma clang loop unroll(full)
    for (size_t i = 0; i < height; ++i) {
      T *c = o.c + (row + i) * o.cStride + column;
      T *to = width < tileColumns ? edge : c;
      storeVector(to, sums[i][0]);
      storeVector(to + lanes, sums[i][1]);
      if (width < tileColumns)
        for (size_t j = 0; j < width; ++j)
          c[j] = edge[j];
    }
  }

  static void pack(const Operands &o, size_t column, size_t width, size_t k0,
                   size_t kCount, T *panel) {
    for (size_t j = 0; j < tileColumns; ++j) {
      const T *b = o.b + (column + j) * o.bStride + k0 * o.bStep;
      for (size_t k = 0; k < kCount; ++k)
        panel[k * tileColumns + j] = j < width ? b[k * o.bStep] : 0;
    }
  }

  static void run(const Operands &o) {
    alignas(64) T panel[panelDepth * tileColumns];
    for (size_t column = 0; column < o.columns; column += tileColumns) {
      size_t width =
          o.columns - column < tileColumns ? o.columns - column : tileColumns;
      for (size_t k0 = 0; k0 < o.depth; k0 += panelDepth) {
        size_t kCount = o.depth - k0 < panelDepth ? o.depth - k0 : panelDepth;
        pack(o, column, width, k0, kCount, panel);
        size_t row = 0;
        for (; row + tileRows <= o.rows; row += tileRows)
          tile<tileRows>(o, row, column, width, k0, kCount, panel);
        for (; row < o.rows; ++row)
          tile<1>(o, row, column, width, k0, kCount, panel);
      }
    }
  }
};

template <typename Isa>
constexpr void fillProduct(KernelTable &table) {
  table.fmaProductFloat = FmaProduct<float, Isa>::run;
  table.fmaProductDouble = FmaProduct<double, Isa>::run;
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_PRODUCTKERNELS_H
