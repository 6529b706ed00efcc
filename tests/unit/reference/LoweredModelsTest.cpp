// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The workloads lowered to kernels, folded and not, against their graphs, to
// the bit.

#include "tests/unit/reference/Models.h"
#include "tests/unit/reference/TestSupport.h"

#include "passes/Pipeline.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace epifold::reference;
using namespace epifold::reference::test;

namespace {

class LoweredTest
    : public testing::TestWithParam<std::tuple<ElementType, const char *>> {
protected:
  static ElementType getType() { return std::get<0>(GetParam()); }
  static Types getTypes() {
    return {getName(getType()).str(),
            getType() == ElementType::F64 ? "f64" : "f32"};
  }

  /// Random tensors for a function's float arguments, `tokens` for a dynamic
  /// size.
  static Tensors makeInputs(mlir::func::FuncOp function, int64_t tokens) {
    Tensors inputs;
    for (mlir::BlockArgument argument : function.getArguments()) {
      auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
      Tensor::Shape shape(type.getShape());
      for (int64_t &size : shape)
        size = mlir::ShapedType::isDynamic(size) ? tokens : size;
      unsigned seed = argument.getArgNumber() + 1;
      for (const char *attribute : {"graph.input", "graph.param"})
        if (auto name = function.getArgAttrOfType<mlir::StringAttr>(seed - 1,
                                                                    attribute))
          if (llvm::isa<mlir::FloatType>(type.getElementType()))
            inputs[name.str()] = makeRandom(getType(), shape, seed);
    }
    return inputs;
  }

  /// Evaluates the graph and its lowering with the fusion set under test.
  static void
  expectSame(const std::string &text,
             const std::function<Tensors(mlir::func::FuncOp)> &makeTensors) {
    Program program(text);
    ASSERT_TRUE(static_cast<bool>(program));
    Tensors inputs = makeTensors(program.getFunction());
    Result expected = llvm::cantFail(program.evaluate(inputs));
    mlir::PassManager manager(program.getModule().getContext());
    std::optional<std::string> refusal =
        epifold::buildPipeline(manager, std::get<1>(GetParam()));
    ASSERT_FALSE(refusal) << *refusal;
    ASSERT_TRUE(mlir::succeeded(manager.run(program.getModule())));
    ASSERT_EQ(countOps(program.getFunction(), "graph"), 0);
    ASSERT_GT(countOps(program.getFunction(), "kernel"), 0);
    llvm::Expected<Result> observed = program.evaluate(inputs);
    ASSERT_TRUE(static_cast<bool>(observed))
        << llvm::toString(observed.takeError());
    ASSERT_EQ(observed->results.size(), expected.results.size());
    for (auto [a, b] : llvm::zip(expected.results, observed->results)) {
      EXPECT_EQ(a.first, b.first);
      EXPECT_TRUE(areEqual(a.second, b.second)) << a.first;
    }
    EXPECT_EQ(observed->status.nanLogitsRow, expected.status.nanLogitsRow);
    EXPECT_EQ(observed->status.indexErrorRow, expected.status.indexErrorRow);
  }

private:
  static int64_t countOps(mlir::func::FuncOp function,
                          llvm::StringRef dialect) {
    return llvm::count_if(function.getBody().front(), [&](mlir::Operation &op) {
      return op.getName().getDialectNamespace() == dialect;
    });
  }
};

TEST_P(LoweredTest, fold) {
  expectSame(writeFold(getTypes(), 5, 40, 2),
             [](mlir::func::FuncOp f) { return makeInputs(f, 70); });
}

TEST_P(LoweredTest, clm) {
  expectSame(writeClm(getTypes(), 2, 72, 3, 40, 2), [](mlir::func::FuncOp f) {
    Tensors inputs = makeInputs(f, 0);
    std::vector<int64_t> tokens;
    for (int64_t i = 0; i < 2 * 131; ++i)
      tokens.push_back(i * 17 % 40);
    inputs["in.tokens"] = makeIndices(ElementType::I64, {2, 131}, tokens);
    return inputs;
  });
}

TEST_P(LoweredTest, moe) {
  for (int64_t tokens : {1, 45, 300})
    expectSame(writeMoe(getTypes(), 40, 24, 6, 3, true),
               [&](mlir::func::FuncOp f) { return makeInputs(f, tokens); });
}

TEST_P(LoweredTest, moeWithTokensInError) {
  expectSame(writeMoe(getTypes(), 40, 24, 6, 3, false),
             [](mlir::func::FuncOp f) {
               Tensors inputs = makeInputs(f, 45);
               std::vector<double> x = toDoubles(inputs["in.x"]);
               x[44 * 40 + 7] = NAN;
               x[9 * 40] = NAN;
               inputs["in.x"] = makeTensor(getType(), {45, 40}, x);
               return inputs;
             });
}

INSTANTIATE_TEST_SUITE_P(
    Types, LoweredTest,
    testing::Combine(testing::Values(ElementType::F64, ElementType::F32,
                                     ElementType::BF16, ElementType::F16),
                     testing::Values("none", "all")));

} // namespace
