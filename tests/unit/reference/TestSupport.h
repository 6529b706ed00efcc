// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses and evaluates small functions, reads vectors, makes and compares
// tensors.

#ifndef EPIFOLD_TESTS_UNIT_REFERENCE_TESTSUPPORT_H
#define EPIFOLD_TESTS_UNIT_REFERENCE_TESTSUPPORT_H

#include "backends/reference/Reference.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

namespace epifold::reference::test {

using Tensors = std::map<std::string, Tensor>;

/// A parsed module and the context it lives in.
class Program {
public:
  /// Parses and verifies; the test fails with the diagnostics otherwise.
  /// `prepare` may change the context first.
  explicit Program(const std::string &text,
                   llvm::function_ref<void(mlir::MLIRContext &)> prepare = {});

  explicit operator bool() const { return static_cast<bool>(module); }
  mlir::func::FuncOp getFunction();
  mlir::ModuleOp getModule() { return *module; }

  /// Evaluates the module's only function.
  llvm::Expected<Result> evaluate(const Tensors &inputs,
                                  const Options &options = {});

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Evaluates `text` and returns the results by name; an error fails the test.
Tensors run(const std::string &text, const Tensors &inputs,
            Status *status = nullptr);

/// `text` with `$T` replaced by an element type's name, `$C` by that of its
/// compute type and `$A` by the compute type's accuracy as a number.
std::string withTypes(std::string text, ElementType type);

/// The message of the error that evaluating `text` gives; an empty one and a
/// failed test when there is none.
std::string runError(const std::string &text, const Tensors &inputs);

/// A float tensor of `values`, rounded.
Tensor makeTensor(ElementType type, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<double> values);
Tensor makeIndices(ElementType type, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> values);

/// Numbers about one in size, the same ones for every seed on every machine.
Tensor makeRandom(ElementType type, llvm::ArrayRef<int64_t> shape,
                  unsigned seed);

/// All elements, widened.
std::vector<double> toDoubles(const Tensor &tensor);
std::vector<int64_t> toIntegers(const Tensor &tensor);

/// Same type, shape and bits, save that any NaN equals any NaN.
testing::AssertionResult areEqual(const Tensor &a, const Tensor &b);

/// Folder of the float64 vectors.
std::string getVectorsFolder();

/// All tensors of a safetensors file, and the JSON of its case.
struct Vectors {
  Tensors tensors;
  std::string caseText;
};
Vectors readVectors(const std::string &name);

} // namespace epifold::reference::test

#endif
