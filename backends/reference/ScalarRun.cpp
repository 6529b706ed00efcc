// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs scalar programs: one loop over the elements per instruction.

#include "backends/reference/ScalarProgram.h"

#include "backends/reference/Elements.h"
#include "backends/reference/Relation.h"
#include "ir/numerics/ArrayMath.h"
#include "ir/numerics/Float16.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <cstring>

using namespace epifold;
using namespace epifold::reference;

ScalarProgram::Scratch::Scratch(const ScalarProgram &program, size_t capacity)
    : registers(program.types.size(), nullptr) {
  for (size_t i = program.numInputs; i < program.types.size(); ++i) {
    owned.push_back(
        Tensor::zeros(program.types[i], static_cast<int64_t>(capacity)));
    registers[i] = owned.back().getMutableBytes();
  }
  for (const Constant &constant : program.constants) {
    size_t size = getByteSize(program.types[constant.target]);
    auto *to = static_cast<std::byte *>(registers[constant.target]);
    for (size_t i = 0; i < capacity; ++i)
      std::memcpy(to + i * size, &constant.bits, size);
  }
}

namespace {

template <typename T>
constexpr bool isNarrow = std::is_same_v<T, numerics::BFloat16> ||
                          std::is_same_v<T, numerics::Float16>;

template <typename To, typename From>
void convert(const void *from, void *to, size_t count) {
  const auto *source = static_cast<const From *>(from);
  auto *target = static_cast<To *>(to);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (isNarrow<To> && isNarrow<From>)
      target[i] = To::fromFloat(source[i].toFloat());
    else if constexpr (isNarrow<To>)
      target[i] = To::fromFloat(static_cast<float>(source[i]));
    else if constexpr (isNarrow<From>)
      target[i] = static_cast<To>(source[i].toFloat());
    else
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): an i8 is a number.
      target[i] = static_cast<To>(source[i]);
  }
}

/// Calls `body` with a value of the storage type.
template <typename Body>
void withStorageType(ElementType type, Body body) {
  // NOLINTNEXTLINE(bugprone-branch-clone): the argument's type differs.
  switch (type) {
  case ElementType::F64:
    return body(double());
  case ElementType::F32:
    return body(float());
  case ElementType::BF16:
    return body(numerics::BFloat16());
  case ElementType::F16:
    return body(numerics::Float16());
  case ElementType::I64:
    return body(int64_t());
  case ElementType::I32:
    return body(int32_t());
  case ElementType::I8:
    return body(int8_t());
  case ElementType::I1:
    return body(uint8_t());
  }
}

/// `a` and `b` as IEEE 754-2019's maximum orders them: NaN stays, −0 is below
/// +0.
template <typename T>
T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  return a > b || (a == b && std::signbit(b)) ? a : b;
}

} // namespace

template <typename T>
void ScalarProgram::runFloat(const Instruction &instruction, size_t count,
                             void *const *registers) const {
  auto operand = [&](unsigned i) {
    return static_cast<const T *>(registers[instruction.operands[i]]);
  };
  auto *to = static_cast<T *>(registers[instruction.result]);
  auto loop = [&](auto function) {
    const T *a = operand(0), *b = operand(1);
    for (size_t i = 0; i < count; ++i)
      to[i] = function(a[i], b[i]);
  };
  auto loopUnary = [&](auto function) {
    const T *a = operand(0);
    for (size_t i = 0; i < count; ++i)
      to[i] = function(a[i]);
  };
  auto span = [&](unsigned i) { return std::span<const T>(operand(i), count); };
  switch (instruction.code) {
  case Code::Add:
    return loop([](T a, T b) { return a + b; });
  case Code::Sub:
    return loop([](T a, T b) { return a - b; });
  case Code::Mul:
    return loop([](T a, T b) { return a * b; });
  case Code::Div:
    return loop([](T a, T b) { return a / b; });
  case Code::Maximum:
    return loop([](T a, T b) { return maximum(a, b); });
  case Code::Minimum:
    return loop([](T a, T b) { return -maximum(-a, -b); });
  case Code::Neg:
    return loopUnary([](T a) { return -a; });
  case Code::Abs:
    return loopUnary([](T a) { return std::fabs(a); });
  case Code::Fma:
    return numerics::fusedMultiplyAdd(span(0), span(1), span(2),
                                      std::span<T>(to, count));
  case Code::Math:
    return numerics::applyUnary(
        static_cast<numerics::UnaryFunction>(instruction.detail),
        static_cast<numerics::Accuracy>(instruction.accuracy), span(0),
        std::span<T>(to, count));
  default:
    llvm_unreachable("not an instruction on floats");
  }
}

template <typename T>
void ScalarProgram::runInteger(const Instruction &instruction, size_t count,
                               void *const *registers) const {
  using Unsigned = std::make_unsigned_t<T>; // wraps around
  const auto *a =
      static_cast<const Unsigned *>(registers[instruction.operands[0]]);
  const auto *b =
      static_cast<const Unsigned *>(registers[instruction.operands[1]]);
  auto *to = static_cast<Unsigned *>(registers[instruction.result]);
  auto loop = [&](auto function) {
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<Unsigned>(function(a[i], b[i]));
  };
  switch (instruction.code) {
  case Code::Add:
    return loop([](Unsigned a, Unsigned b) { return a + b; });
  case Code::Sub:
    return loop([](Unsigned a, Unsigned b) { return a - b; });
  case Code::Mul:
    return loop([](Unsigned a, Unsigned b) { return a * b; });
  case Code::And:
    return loop([](Unsigned a, Unsigned b) { return a & b; });
  case Code::Or:
    return loop([](Unsigned a, Unsigned b) { return a | b; });
  case Code::Xor:
    return loop([](Unsigned a, Unsigned b) { return a ^ b; });
  default:
    llvm_unreachable("not an instruction on integers");
  }
}

void ScalarProgram::run(size_t count, llvm::ArrayRef<const void *> inputs,
                        llvm::ArrayRef<void *> results,
                        Scratch &scratch) const {
  for (auto [i, input] : llvm::enumerate(inputs))
    scratch.registers[i] =
        const_cast<void *>(input); // never an instruction's result
  void *const *registers = scratch.registers.data();
  for (const Instruction &instruction : instructions) {
    ElementType from = types[instruction.operands[0]],
                to = types[instruction.result];
    const void *first = registers[instruction.operands[0]],
               *second = registers[instruction.operands[1]];
    void *result = registers[instruction.result];
    switch (instruction.code) {
    case Code::Convert:
      withStorageType(from, [&](auto source) {
        withStorageType(to, [&](auto target) {
          convert<decltype(target), decltype(source)>(first, result, count);
        });
      });
      break;
    case Code::Compare:
      withStorageType(from, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!isNarrow<T>)
          for (size_t i = 0; i < count; ++i)
            static_cast<uint8_t *>(result)[i] =
                (relate(static_cast<const T *>(first)[i],
                        static_cast<const T *>(second)[i]) &
                 instruction.detail) != 0;
      });
      break;
    case Code::Select:
      withStorageType(to, [&](auto zero) {
        using T = decltype(zero);
        const auto *condition = static_cast<const uint8_t *>(first);
        const auto *a = static_cast<const T *>(second);
        const auto *b =
            static_cast<const T *>(registers[instruction.operands[2]]);
        for (size_t i = 0; i < count; ++i)
          static_cast<T *>(result)[i] = condition[i] ? a[i] : b[i];
      });
      break;
    default:
      if (to == ElementType::F64)
        runFloat<double>(instruction, count, registers);
      else if (to == ElementType::F32)
        runFloat<float>(instruction, count, registers);
      else if (to == ElementType::I64)
        runInteger<int64_t>(instruction, count, registers);
      else if (to == ElementType::I32)
        runInteger<int32_t>(instruction, count, registers);
      else
        runInteger<uint8_t>(instruction, count, registers);
    }
  }
  for (auto [source, result] : llvm::zip(outputs, results))
    std::memcpy(result, registers[source], count * getByteSize(types[source]));
}
