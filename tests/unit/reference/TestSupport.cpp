// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Support of the reference's tests.

#include "tests/unit/reference/TestSupport.h"

#include "backends/reference/Elements.h"
#include "ir/graph/GraphDialect.h"
#include "ir/kernel/KernelDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace epifold::reference;
using namespace epifold::reference::test;

Program::Program(const std::string &text,
                 llvm::function_ref<void(mlir::MLIRContext &)> prepare) {
  context.loadDialect<epifold::graph::GraphDialect,
                      epifold::kernel::KernelDialect, mlir::func::FuncDialect,
                      mlir::arith::ArithDialect, mlir::math::MathDialect>();
  if (prepare)
    prepare(context);
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &diagnostic) {
        std::string text;
        llvm::raw_string_ostream(text)
            << diagnostic.getLocation() << ": " << diagnostic;
        ADD_FAILURE() << text;
      });
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
}

mlir::func::FuncOp Program::getFunction() {
  return *module->getOps<mlir::func::FuncOp>().begin();
}

llvm::Expected<Result> Program::evaluate(const Tensors &inputs,
                                         const Options &options) {
  return epifold::reference::evaluate(getFunction(), inputs, options);
}

Tensors epifold::reference::test::run(const std::string &text,
                                      const Tensors &inputs, Status *status) {
  Program program(text);
  if (!program)
    return {};
  llvm::Expected<Result> result = program.evaluate(inputs);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  if (status)
    *status = result->status;
  else
    EXPECT_TRUE(result->status.isClean());
  return {result->results.begin(), result->results.end()};
}

std::string epifold::reference::test::withTypes(std::string text,
                                                ElementType type) {
  bool isDouble = type == ElementType::F64;
  const std::pair<llvm::StringRef, llvm::StringRef> replacements[] = {
      {"$T", getName(type)},
      {"$C", isDouble ? "f64" : "f32"},
      {"$A", isDouble ? "2 : i32" : "1 : i32"}};
  for (auto [from, to] : replacements)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

std::string epifold::reference::test::runError(const std::string &text,
                                               const Tensors &inputs) {
  Program program(text);
  if (!program)
    return {};
  llvm::Expected<Result> result = program.evaluate(inputs);
  EXPECT_FALSE(static_cast<bool>(result)) << "expected an error";
  return result ? std::string() : llvm::toString(result.takeError());
}

Tensor epifold::reference::test::makeTensor(ElementType type,
                                            llvm::ArrayRef<int64_t> shape,
                                            llvm::ArrayRef<double> values) {
  Tensor tensor = Tensor::zeros(type, shape);
  EXPECT_EQ(tensor.getNumElements(), static_cast<int64_t>(values.size()));
  store<double>(values, Elements(tensor), 0);
  return tensor;
}

Tensor epifold::reference::test::makeIndices(ElementType type,
                                             llvm::ArrayRef<int64_t> shape,
                                             llvm::ArrayRef<int64_t> values) {
  return makeIntegers(type, shape, values);
}

Tensor epifold::reference::test::makeRandom(ElementType type,
                                            llvm::ArrayRef<int64_t> shape,
                                            unsigned seed) {
  Tensor tensor = Tensor::zeros(type, shape);
  std::vector<double> values;
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double sum = -2;
    for (int term = 0; term < 4; ++term) { // nearly normal
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      sum += static_cast<double>(state >> 11) * 0x1p-53;
    }
    values.push_back(sum * 1.7);
  }
  store<double>(values, Elements(tensor), 0);
  return tensor;
}

std::vector<double> epifold::reference::test::toDoubles(const Tensor &tensor) {
  std::vector<double> values(tensor.getNumElements());
  load<double>(ConstElements(tensor), 0, 1, values);
  return values;
}

std::vector<int64_t>
epifold::reference::test::toIntegers(const Tensor &tensor) {
  return loadIntegers(tensor);
}

testing::AssertionResult epifold::reference::test::areEqual(const Tensor &a,
                                                            const Tensor &b) {
  if (a.getElementType() != b.getElementType() || a.getShape() != b.getShape())
    return testing::AssertionFailure()
           << a.describe() << " and " << b.describe();
  int64_t size = getByteSize(a.getElementType()), differing = 0, first = -1;
  std::vector<double> x, y;
  if (isFloat(a.getElementType())) {
    x = toDoubles(a);
    y = toDoubles(b);
  }
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    bool isSame = std::memcmp(a.getBytes() + i * size, b.getBytes() + i * size,
                              size) == 0;
    if (isSame || (!x.empty() && std::isnan(x[i]) && std::isnan(y[i])))
      continue;
    first = differing++ == 0 ? i : first;
  }
  if (differing == 0)
    return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure()
                 << differing << " of " << a.getNumElements()
                 << " elements differ, first " << first;
  return x.empty() ? failure
                   : failure << ": " << x[first] << " and " << y[first];
}

std::string epifold::reference::test::getVectorsFolder() {
  const char *folder = std::getenv("EPIFOLD_VECTORS_DIR");
  return folder ? folder : "";
}

Vectors epifold::reference::test::readVectors(const std::string &name) {
  Vectors vectors;
  auto file = llvm::MemoryBuffer::getFile(getVectorsFolder() + "/" + name);
  if (!file) {
    ADD_FAILURE() << "cannot read " << name
                  << " in EPIFOLD_VECTORS_DIR=" << getVectorsFolder();
    return vectors;
  }
  llvm::StringRef bytes = (*file)->getBuffer();
  uint64_t headerSize;
  std::memcpy(&headerSize, bytes.data(), 8);
  llvm::Expected<llvm::json::Value> header =
      llvm::json::parse(bytes.substr(8, headerSize));
  if (!header) {
    ADD_FAILURE() << llvm::toString(header.takeError());
    return vectors;
  }
  for (const auto &[key, value] : *header->getAsObject()) {
    const llvm::json::Object &entry = *value.getAsObject();
    if (key == "__metadata__") {
      vectors.caseText = entry.getString("case")->str();
      continue;
    }
    static const std::map<std::string, ElementType> types = {
        {"F64", ElementType::F64},   {"F32", ElementType::F32},
        {"BF16", ElementType::BF16}, {"F16", ElementType::F16},
        {"I64", ElementType::I64},   {"I32", ElementType::I32}};
    Tensor::Shape shape;
    for (const llvm::json::Value &size : *entry.getArray("shape"))
      shape.push_back(*size.getAsInteger());
    int64_t begin = *(*entry.getArray("data_offsets"))[0].getAsInteger();
    vectors.tensors[key.str()] =
        Tensor::copyOf(types.at(entry.getString("dtype")->str()), shape,
                       bytes.data() + 8 + headerSize + begin);
  }
  return vectors;
}
