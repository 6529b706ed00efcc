// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the dynamic dimensions from the tensors that a caller passes.

#ifndef EPIFOLD_RUNTIME_SRC_SHAPEBINDING_H
#define EPIFOLD_RUNTIME_SRC_SHAPEBINDING_H

#include "epifold/runtime/ExecutableBuilder.h"
#include "epifold/runtime/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epifold::runtime {

/// Collects the shapes of inputs and parameters and checks them against the
/// executable. Observe every tensor, then call `finish`.
class ShapeBinding {
public:
  explicit ShapeBinding(const ExecutableDesc &desc);

  /// Takes the actual type and shape of `tensor`. Errors: a type, rank or size
  /// that does not fit; two tensors that disagree about a dimension are both
  /// named.
  Expected<void> observe(const TensorDesc &tensor, DataType type,
                         const Shape &shape);

  /// Checks the sizes that are computed from dimensions. Returns the value of
  /// each symbol. Errors: a size that does not fit, or an unbound dimension.
  Expected<std::vector<int64_t>> finish();

private:
  struct Symbol {
    int64_t value = -1; // unbound
    std::string tensor; // that bound it
    size_t dimension = 0;
  };
  struct Computed {
    const TensorDesc *tensor;
    size_t dimension;
    int64_t size;
  };

  const ExecutableDesc &desc_;
  std::vector<Symbol> symbols_;
  std::vector<Computed> computed_;
};

/// The shape of a tensor for those values of the symbols. Errors: a size that
/// is negative or out of range.
Expected<Shape> evaluateShape(const ExecutableDesc &desc,
                              const TensorDesc &tensor,
                              const std::vector<int64_t> &symbols);

/// The declared shape in words: "bf16[tokens, 64]".
std::string describeDeclared(const ExecutableDesc &desc,
                             const TensorDesc &tensor);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_SHAPEBINDING_H
