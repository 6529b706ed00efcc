// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The scalar code of a region, compiled once and run over whole arrays.

#ifndef EPIFOLD_BACKENDS_REFERENCE_SCALARPROGRAM_H
#define EPIFOLD_BACKENDS_REFERENCE_SCALARPROGRAM_H

#include "backends/reference/Tensor.h"

#include "ir/graph/GraphDialect.h"
#include "mlir/IR/Block.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace epifold::reference {

/// Straight-line code over registers, one instruction per op. Each instruction
/// runs over all elements before the next one starts, so its cost is that of a
/// loop and not of an interpreter.
class ScalarProgram {
public:
  /// Compiles a block of `arith`, `math` and `kernel.math` ops whose
  /// terminator's operands are the outputs. Fails with the op that has no
  /// meaning here.
  static llvm::Expected<ScalarProgram> compile(mlir::Block &block);

  /// Compiles what an elementwise op says of itself, its arguments being f64 or
  /// f32.
  static llvm::Expected<ScalarProgram> build(graph::ElementwiseOpInterface op,
                                             bool isDouble);

  /// A thread's registers for chunks of at most `capacity` elements.
  class Scratch {
  public:
    Scratch(const ScalarProgram &program, size_t capacity);

  private:
    friend class ScalarProgram;
    std::vector<Tensor> owned;
    std::vector<void *> registers; // an input's is its caller's
  };

  /// Computes `count` elements: `inputs` one array for each block argument,
  /// `outputs` one for each yielded value, in their storage types. Outputs must
  /// not overlap inputs.
  void run(size_t count, llvm::ArrayRef<const void *> inputs,
           llvm::ArrayRef<void *> outputs, Scratch &scratch) const;

  llvm::ArrayRef<ElementType> getInputTypes() const {
    return llvm::ArrayRef(types).take_front(numInputs);
  }

private:
  enum class Code : uint8_t {
    Convert,
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Abs,
    Fma,
    Maximum,
    Minimum,
    Math,
    Compare,
    And,
    Or,
    Xor,
    Select
  };

  struct Instruction {
    Code code;
    /// Which relations a comparison accepts (see `Relation`), or the function
    /// and accuracy of `Math`.
    uint8_t detail = 0, accuracy = 0;
    unsigned result = 0;
    unsigned operands[3] = {};
  };

  struct Constant {
    unsigned target;
    uint64_t bits;
  };

  class Compiler;

  template <typename T>
  void runFloat(const Instruction &instruction, size_t count,
                void *const *registers) const;
  template <typename T>
  void runInteger(const Instruction &instruction, size_t count,
                  void *const *registers) const;

  unsigned numInputs = 0;
  std::vector<ElementType> types; // of all registers, the inputs' first
  std::vector<Constant> constants;
  std::vector<Instruction> instructions;
  std::vector<unsigned> outputs;
};

} // namespace epifold::reference

#endif
