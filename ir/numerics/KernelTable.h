// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The inner loops that exist once per instruction set, and the choice between
// them at run time.

#ifndef EPIFOLD_IR_NUMERICS_KERNELTABLE_H
#define EPIFOLD_IR_NUMERICS_KERNELTABLE_H

#include "ir/numerics/Float16.h"
#include "ir/numerics/PortableMath.h"
#include "ir/numerics/ProductOperands.h"
#include "ir/numerics/ReductionTree.h"

#include <cstddef>
#include <cstdint>

namespace epifold::numerics {

/// Instruction sets that loops are compiled for. All give equal bits; the
/// generic one calls the C library's fma where the program's own flags promise
/// none in hardware.
enum class Isa : uint8_t { Generic, Avx2, Avx512 };

/// One instruction set's inner loops. The public functions that check sizes and
/// describe the meaning are in ArrayMath.h, Reduce.h, Product.h and
/// MatrixUnit.h.
struct KernelTable {
  template <typename T>
  using Unary = void (*)(const T *in, T *out, size_t count);
  template <typename T>
  using Ternary = void (*)(const T *a, const T *b, const T *c, T *out,
                           size_t count);

  Unary<float> unaryFloat[numUnaryFunctions][3]; ///< [function][accuracy]
  Unary<double> unaryDouble[numUnaryFunctions];
  Ternary<float> fmaFloat;
  Ternary<double> fmaDouble;

  template <typename T>
  using LeafMoments = void (*)(const T *leaf, size_t rows, size_t columns,
                               size_t rowStride, Moments<T> *out);
  LeafMoments<float> leafMomentsFloat;
  LeafMoments<double> leafMomentsDouble;

  void (*fmaProductFloat)(const ProductOperands<float, float> &operands);
  void (*fmaProductDouble)(const ProductOperands<double, double> &operands);
  void (*matrixUnitBFloat16)(const ProductOperands<BFloat16, float> &operands);
  void (*matrixUnitFloat16)(const ProductOperands<Float16, float> &operands);
};

/// The loops for this instruction set; null where this processor or this build
/// lacks it.
const KernelTable *kernelTableFor(Isa isa);

/// The loops for the best instruction set of this processor.
const KernelTable &kernelTable();

} // namespace epifold::numerics

#endif // EPIFOLD_IR_NUMERICS_KERNELTABLE_H
