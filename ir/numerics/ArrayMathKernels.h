// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The elementwise loops, for the instruction set of the file that includes
// this.

#ifndef EPIFOLD_IR_NUMERICS_ARRAYMATHKERNELS_H
#define EPIFOLD_IR_NUMERICS_ARRAYMATHKERNELS_H

#include "ir/numerics/HostScalar.h"
#include "ir/numerics/KernelTable.h"

namespace epifold::numerics::detail {

/// Elements handled at a time through a buffer, so that out may be in without
/// the compiler giving up on vectors.
inline constexpr size_t arrayMathBlock = 256;

template <typename T, typename Isa, UnaryFunction function, Accuracy accuracy>
void unaryLoop(const T *in, T *out, size_t count) {
  HostScalar<T, Isa> builder;
  alignas(64) T block[arrayMathBlock];
  for (size_t begin = 0; begin < count; begin += arrayMathBlock) {
    size_t size =
        count - begin < arrayMathBlock ? count - begin : arrayMathBlock;
    for (size_t i = 0; i < size; ++i)
      block[i] = applyUnary(builder, function, in[begin + i], accuracy);
    __builtin_memcpy(out + begin, block, size * sizeof(T));
  }
}

template <typename T, typename Isa>
void fmaLoop(const T *a, const T *b, const T *c, T *out, size_t count) {
  alignas(64) T block[arrayMathBlock];
  for (size_t begin = 0; begin < count; begin += arrayMathBlock) {
    size_t size =
        count - begin < arrayMathBlock ? count - begin : arrayMathBlock;
    for (size_t i = 0; i < size; ++i)
      block[i] =
          HostScalar<T, Isa>::fma(a[begin + i], b[begin + i], c[begin + i]);
    __builtin_memcpy(out + begin, block, size * sizeof(T));
  }
}

template <typename Isa, UnaryFunction function>
constexpr void fillUnary(KernelTable &table) {
  auto index = static_cast<unsigned>(function);
  table.unaryFloat[index][0] = unaryLoop<float, Isa, function, Accuracy::BF16>;
  table.unaryFloat[index][1] = unaryLoop<float, Isa, function, Accuracy::F32>;
  table.unaryFloat[index][2] = unaryLoop<float, Isa, function, Accuracy::F32>;
  table.unaryDouble[index] = unaryLoop<double, Isa, function, Accuracy::F64>;
}

template <typename Isa>
constexpr void fillArrayMath(KernelTable &table) {
  fillUnary<Isa, UnaryFunction::Exp>(table);
  fillUnary<Isa, UnaryFunction::Log>(table);
  fillUnary<Isa, UnaryFunction::Erf>(table);
  fillUnary<Isa, UnaryFunction::Tanh>(table);
  fillUnary<Isa, UnaryFunction::Sigmoid>(table);
  fillUnary<Isa, UnaryFunction::Silu>(table);
  fillUnary<Isa, UnaryFunction::GeluErf>(table);
  fillUnary<Isa, UnaryFunction::GeluTanh>(table);
  fillUnary<Isa, UnaryFunction::Rsqrt>(table);
  fillUnary<Isa, UnaryFunction::Sqrt>(table);
  table.fmaFloat = fmaLoop<float, Isa>;
  table.fmaDouble = fmaLoop<double, Isa>;
}

} // namespace epifold::numerics::detail

#endif // EPIFOLD_IR_NUMERICS_ARRAYMATHKERNELS_H
