// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The blocked matrix-unit product in f64 vectors, for the instruction set of
// the file that includes this.

#ifndef EPIFOLD_IR_NUMERICS_MATRIXUNITKERNELS_H
#define EPIFOLD_IR_NUMERICS_MATRIXUNITKERNELS_H

#include "ir/numerics/KernelTable.h"
#include "ir/numerics/MatrixUnit.h"
#include "ir/numerics/MatrixUnitRules.h"
#include "ir/numerics/VectorTypes.h"

namespace epifold::numerics::detail {

/// In f64 every product, every power of two and every sum of truncated terms is
/// exact, and infinities and NaNs combine as they do in the matrix unit, so a
/// step needs no special cases. Lanes are outputs of one row.
template <typename Input, typename Isa>
struct MatrixUnitProduct {
  static constexpr size_t lanes = Isa::vectorBytes / sizeof(double);
  /// Two vectors of columns share a row's broadcasts.
  static constexpr size_t tileColumns = 2 * lanes;
  static constexpr size_t blockRows = 64;
  /// Depth of a packed panel, a multiple of the step; it stays in the
  /// first-level cache while the rows pass.
  static constexpr size_t panelDepth = 64;
  using V = Vector<double, lanes>;
  using Bits = Vector<int64_t, lanes>;
  using Floats = Vector<float, lanes>;
  using Operands = ProductOperands<Input, float>;

  /// A number and the power of two of its exponent field: 0 for zeros and for
  /// what is not finite, which take no part in finding the largest exponent; a
  /// subnormal's is its format's smallest.
  struct Element {
    double value, power;
  };

  static Element decode(Input x) {
    constexpr double smallest = __is_same(Input, BFloat16) ? 0x1p-126 : 0x1p-14;
    float value = x.toFloat();
    uint32_t bits = __builtin_bit_cast(uint32_t, value);
    float power = __builtin_bit_cast(float, bits & 0x7F800000u);
    double least = power < static_cast<float>(smallest) ? smallest : power;
    bool takesPart = value != 0 && power < __builtin_inff();
    return {value, takesPart ? least : 0};
  }

  /// The same for accumulators, which are f32.
  static V powerOfAccumulator(V acc) {
    V power = (V)((Bits)acc & int64_t(0x7FF0000000000000));
    V least = power < 0x1p-126 ? V{} + 0x1p-126 : power;
    auto takesPart = (acc != 0) & (power < __builtin_inf());
    return takesPart ? least : V{};
  }

  /// The bits of 2^exponent.
  static constexpr int64_t powerBits(int exponent) {
    return static_cast<int64_t>(1023 + exponent) << 52;
  }

  static V larger(V a, V b) { return a > b ? a : b; }

  /// Truncates to f32, in f64.
  static V truncateToFloat(V sum) {
    V normal = (V)((Bits)sum & ~int64_t(0x1FFFFFFF)); // 52 - 23 bits go.
    V subnormal = __builtin_elementwise_trunc(sum * 0x1p149) * 0x1p-149;
    V magnitude = sum < 0 ? -sum : sum;
    V result = magnitude < 0x1p-126 ? subnormal : normal;
    // Accumulators stay in f64 from step to step, so overflow must be made.
    result = magnitude >= 0x1p128 ? sum * __builtin_inf() : result;
    return result + 0.0; // What vanished below zero becomes +0.
  }

  /// One step for one vector of outputs: 16 broadcast elements of A, 16 packed
  /// vectors of B, tileColumns apart.
  static V step(const Element *a, const double *values, const double *powers,
                V acc) {
    V power = larger(powerOfAccumulator(acc), V{} + 0x1p-133);
    static_assert(matrixUnitLowestExponent == -133);
    for (size_t k = 0; k < matrixUnitStep; ++k)
      power =
          larger(power, a[k].power * loadVector<V>(powers + k * tileColumns));
    // 2^25 / power, the reciprocal of the unit, by exponent arithmetic.
    V scale =
        (V)(powerBits(matrixUnitFractionBits) - ((Bits)power - powerBits(0)));
    // Several sums, as whole numbers add up in any order; -0 terms vanish in
    // truncateToFloat.
    V sums[4] = {__builtin_elementwise_trunc(acc * scale), V{}, V{}, V{}};
    for (size_t k = 0; k < matrixUnitStep; ++k)
      sums[k % 4] += __builtin_elementwise_trunc(
          a[k].value * loadVector<V>(values + k * tileColumns) * scale);
    V sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return truncateToFloat(sum * (power * 0x1p-25));
    static_assert(matrixUnitFractionBits == 25);
  }

  /// Continues one row's tile of C through a panel of `steps` steps.
  static void tile(const Element *a, const double *values, const double *powers,
                   size_t steps, float *c, size_t width) {
    float edge[tileColumns];
    float *from = c;
    if (width < tileColumns) {
      for (size_t j = 0; j < tileColumns; ++j)
        edge[j] = j < width ? c[j] : 0;
      from = edge;
    }
    V acc0 = __builtin_convertvector(loadVector<Floats>(from), V);
    V acc1 = __builtin_convertvector(loadVector<Floats>(from + lanes), V);
    for (size_t s = 0; s < steps; ++s) {
      acc0 = step(a, values, powers, acc0);
      acc1 = step(a, values + lanes, powers + lanes, acc1);
      a += matrixUnitStep;
      values += matrixUnitStep * tileColumns;
      powers += matrixUnitStep * tileColumns;
    }
    storeVector(from, __builtin_convertvector(acc0, Floats));
    storeVector(from + lanes, __builtin_convertvector(acc1, Floats));
    if (width < tileColumns)
      for (size_t j = 0; j < width; ++j)
        c[j] = edge[j];
  }

  static size_t least(size_t a, size_t b) { return a < b ? a : b; }

  /// Packs a panel of B: vectors of columns, in order of depth, zero-padded.
  static void pack(const Operands &o, size_t column, size_t width, size_t k0,
                   size_t depth, size_t padded, double *values,
                   double *powers) {
    for (size_t j = 0; j < tileColumns; ++j) {
      size_t k = 0;
      if (j < width) {
        const Input *b = o.b + (column + j) * o.bStride + k0 * o.bStep;
        for (; k < depth; ++k) {
          Element e = decode(b[k * o.bStep]);
          values[k * tileColumns + j] = e.value;
          powers[k * tileColumns + j] = e.power;
        }
      }
      for (; k < padded; ++k)
        values[k * tileColumns + j] = powers[k * tileColumns + j] = 0;
    }
  }

  static void run(const Operands &o) {
    alignas(64) Element a[blockRows * panelDepth];
    alignas(64) double values[panelDepth * tileColumns],
        powers[panelDepth * tileColumns];
    for (size_t row0 = 0; row0 < o.rows; row0 += blockRows) {
      size_t rows = least(blockRows, o.rows - row0);
      for (size_t k0 = 0; k0 < o.depth; k0 += panelDepth) {
        size_t depth = least(panelDepth, o.depth - k0);
        size_t steps = (depth + matrixUnitStep - 1) / matrixUnitStep,
               padded = steps * matrixUnitStep;
        for (size_t i = 0; i < rows; ++i)
          for (size_t k = 0; k < padded; ++k)
            a[i * padded + k] =
                k < depth
                    ? decode(o.a[(row0 + i) * o.aStride + (k0 + k) * o.aStep])
                    : Element{0, 0};
        for (size_t column = 0; column < o.columns; column += tileColumns) {
          size_t width = least(tileColumns, o.columns - column);
          pack(o, column, width, k0, depth, padded, values, powers);
          for (size_t i = 0; i < rows; ++i)
            tile(a + i * padded, values, powers, steps,
                 o.c + (row0 + i) * o.cStride + column, width);
        }
      }
    }
  }
};

template <typename Isa>
constexpr void fillMatrixUnit(KernelTable &table) {
  table.matrixUnitBFloat16 = MatrixUnitProduct<BFloat16, Isa>::run;
  table.matrixUnitFloat16 = MatrixUnitProduct<Float16, Isa>::run;
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_MATRIXUNITKERNELS_H
