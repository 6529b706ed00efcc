// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graph ops on inputs small enough to know the answer.

#include "tests/unit/reference/TestSupport.h"

#include "ir/graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace epifold;
using namespace epifold::reference;
using namespace epifold::reference::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// Results of a function whose body is `body`, its arguments named in.a, in.b,
/// ….
Tensor evaluateBody(const std::string &arguments, const std::string &body,
                    const std::string &type, const Tensors &inputs,
                    Status *status = nullptr) {
  Tensors results = run("func.func @f(" + arguments + ") -> (" + type +
                            " {graph.result = \"out\"}) {\n" + body +
                            "\nreturn %y : " + type + " }",
                        inputs, status);
  return results.count("out") ? results.at("out") : Tensor();
}

Tensor evaluateUnary(const std::string &op, llvm::ArrayRef<double> values,
                     ElementType type = ElementType::F32) {
  std::string t = "tensor<" + std::to_string(values.size()) + "x" +
                  getName(type).str() + ">";
  return evaluateBody(
      "%a: " + t + " {graph.input = \"in.a\"}",
      "%y = " + op + " : " + t + " -> " + t, t,
      {{"in.a",
        makeTensor(type, static_cast<int64_t>(values.size()), values)}});
}

Tensor evaluateBinary(const std::string &op, llvm::ArrayRef<double> a,
                      llvm::ArrayRef<double> b) {
  auto size = static_cast<int64_t>(a.size());
  std::string t = "tensor<" + std::to_string(size) + "xf32>";
  return evaluateBody("%a: " + t + " {graph.input = \"in.a\"}, %b: " + t +
                          " {graph.input = \"in.b\"}",
                      "%y = " + op + " %a, %b : (" + t + ", " + t + ") -> " + t,
                      t,
                      {{"in.a", makeTensor(ElementType::F32, size, a)},
                       {"in.b", makeTensor(ElementType::F32, size, b)}});
}

TEST(Views, rearrangeElements) {
  Tensors inputs = {
      {"in.a", makeTensor(ElementType::F32, {2, 3}, {1, 2, 3, 4, 5, 6})}};
  std::string a = "%a: tensor<2x?xf32> {graph.input = \"in.a\"}";
  auto doubles = [&](const std::string &body, const std::string &type) {
    return toDoubles(evaluateBody(a, body, type, inputs));
  };
  using V = std::vector<double>;
  EXPECT_EQ(doubles("%y = graph.select %a {dim = 0, index = 1} : "
                    "tensor<2x?xf32> -> tensor<?xf32>",
                    "tensor<?xf32>"),
            V({4, 5, 6}));
  EXPECT_EQ(
      toDoubles(evaluateBody("%a: tensor<?x3xf32> {graph.input = \"in.a\"}",
                             "%y = graph.select %a {dim = 1, index = 2} : "
                             "tensor<?x3xf32> -> tensor<?xf32>",
                             "tensor<?xf32>", inputs)),
      V({3, 6}));
  EXPECT_EQ(doubles("%y = graph.slice %a {dim = 1, begin = 1} : "
                    "tensor<2x?xf32> -> tensor<2x?xf32>",
                    "tensor<2x?xf32>"),
            V({2, 3, 5, 6}));
  EXPECT_EQ(doubles("%y = graph.slice %a {dim = 1, end = -1} : tensor<2x?xf32> "
                    "-> tensor<2x?xf32>",
                    "tensor<2x?xf32>"),
            V({1, 2, 4, 5}));
  EXPECT_EQ(doubles("%y = graph.transpose %a {permutation = array<i64: 1, 0>} "
                    ": tensor<2x?xf32> -> tensor<?x2xf32>",
                    "tensor<?x2xf32>"),
            V({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(doubles("%y = graph.concat %a, %a {dim = 1} : (tensor<2x?xf32>, "
                    "tensor<2x?xf32>) -> tensor<2x?xf32>",
                    "tensor<2x?xf32>"),
            V({1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(doubles("%y = graph.stack %a, %a : (tensor<2x?xf32>, "
                    "tensor<2x?xf32>) -> tensor<2x2x?xf32>",
                    "tensor<2x2x?xf32>"),
            V({1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  Tensor reshaped = evaluateBody(
      a, "%y = graph.reshape %a : tensor<2x?xf32> -> tensor<?x2xf32>",
      "tensor<?x2xf32>", inputs);
  EXPECT_EQ(reshaped.getShape(), llvm::ArrayRef<int64_t>({3, 2}));
  EXPECT_EQ(toDoubles(reshaped), V({1, 2, 3, 4, 5, 6}));
}

TEST(Elementwise, keepsNanAndOrdersZeros) {
  EXPECT_TRUE(areEqual(evaluateUnary("graph.relu %a", {-1, -0.0, 2, NAN}),
                       makeTensor(ElementType::F32, 4, {0, 0, 2, NAN})));
  EXPECT_TRUE(
      areEqual(evaluateBinary("graph.max", {NAN, 1, 3, -0.0}, {1, NAN, 2, 0}),
               makeTensor(ElementType::F32, 4, {NAN, NAN, 3, 0})));
  EXPECT_TRUE(
      areEqual(evaluateBinary("graph.min", {NAN, 1, 3, 0}, {1, NAN, 2, -0.0}),
               makeTensor(ElementType::F32, 4, {NAN, NAN, 2, -0.0})));
  EXPECT_TRUE(areEqual(evaluateUnary("graph.abs %a", {-0.0, -inf}),
                       makeTensor(ElementType::F32, 2, {0, inf})));
  EXPECT_TRUE(areEqual(evaluateUnary("graph.neg %a", {0, NAN}),
                       makeTensor(ElementType::F32, 2, {-0.0, NAN})));
}

TEST(Elementwise, roundsOnce) {
  // 1 + 2^-8 + 2^-15 is exact in f32 and just above a tie of bf16.
  Tensor sum = evaluateBody(
      "%a: tensor<1xbf16> {graph.input = \"in.a\"}, %b: tensor<1xbf16> "
      "{graph.input = \"in.b\"}",
      "%y = graph.add %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> "
      "tensor<1xbf16>",
      "tensor<1xbf16>",
      {{"in.a", makeTensor(ElementType::BF16, 1, {1})},
       {"in.b", makeTensor(ElementType::BF16, 1, {0x1p-8 + 0x1p-15})}});
  EXPECT_EQ(toDoubles(sum), std::vector<double>({1 + 0x1p-7}));
  Tensor narrowed = evaluateBody(
      "%a: tensor<1xf64> {graph.input = \"in.a\"}",
      "%y = graph.cast %a : tensor<1xf64> -> tensor<1xbf16>", "tensor<1xbf16>",
      {{"in.a", makeTensor(ElementType::F64, 1, {1 + 0x1p-8 + 0x1p-40})}});
  // Through f32, as the op says: the last bit is gone before bf16 sees the tie.
  EXPECT_EQ(toDoubles(narrowed), std::vector<double>({1}));
}

TEST(Elementwise, broadcastsLikeNumPy) {
  Tensor y = evaluateBody(
      "%a: tensor<2x1x2xf32> {graph.input = \"in.a\"}, %b: tensor<?x1xf32> "
      "{graph.input = \"in.b\"}",
      "%y = graph.sub %a, %b : (tensor<2x1x2xf32>, tensor<?x1xf32>) -> "
      "tensor<2x?x2xf32>",
      "tensor<2x?x2xf32>",
      {{"in.a", makeTensor(ElementType::F32, {2, 1, 2}, {10, 20, 30, 40})},
       {"in.b", makeTensor(ElementType::F32, {3, 1}, {1, 2, 3})}});
  EXPECT_EQ(toDoubles(y),
            std::vector<double>({9, 19, 8, 18, 7, 17, 29, 39, 28, 38, 27, 37}));
}

TEST(Elementwise, transcendentalsAreAccurate) {
  for (ElementType type : {ElementType::F32, ElementType::F64}) {
    std::vector<double> x = {-6, -1.5, -0.25, 0.125, 1, 4.5};
    double tolerance = type == ElementType::F64 ? 1e-14 : 2e-6;
    auto check = [&](const char *op, auto function) {
      std::vector<double> y = toDoubles(evaluateUnary(op, x, type));
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(y[i], function(x[i]),
                    tolerance * std::max(1.0, std::fabs(function(x[i]))))
            << op << " " << x[i];
    };
    check("graph.exp %a", [](double v) { return std::exp(v); });
    check("graph.erf %a", [](double v) { return std::erf(v); });
    check("graph.tanh %a", [](double v) { return std::tanh(v); });
    check("graph.sigmoid %a", [](double v) { return 1 / (1 + std::exp(-v)); });
    check("graph.silu %a", [](double v) { return v / (1 + std::exp(-v)); });
    check("graph.gelu %a",
          [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  }
}

/// An elementwise op of another dialect: x² − x.
struct SquareMinusSelf
    : graph::ElementwiseOpInterface::ExternalModel<SquareMinusSelf,
                                                   mlir::math::RoundOp> {
  mlir::Value buildScalar(mlir::Operation *op, mlir::OpBuilder &builder,
                          mlir::ValueRange args) const {
    mlir::Value square =
        mlir::arith::MulFOp::create(builder, op->getLoc(), args[0], args[0]);
    return mlir::arith::SubFOp::create(builder, op->getLoc(), square, args[0]);
  }
};

TEST(Elementwise, evaluatesOpsOfOtherDialects) {
  Program program("func.func @f(%a: tensor<3xbf16> {graph.input = \"in.a\"}) "
                  "-> (tensor<3xbf16> {graph.result = "
                  "\"out\"}) { %y = math.round %a : tensor<3xbf16> return %y : "
                  "tensor<3xbf16> }",
                  [](mlir::MLIRContext &context) {
                    mlir::math::RoundOp::attachInterface<SquareMinusSelf>(
                        context);
                  });
  Result result = llvm::cantFail(program.evaluate(
      {{"in.a", makeTensor(ElementType::BF16, 3, {3, -2, 0.5})}}));
  EXPECT_EQ(toDoubles(result.results[0].second),
            std::vector<double>({6, 6, -0.25}));
}

TEST(Products, convolveFromTheOldestTap) {
  Tensor y = evaluateBody(
      "%a: tensor<?x1xf64> {graph.input = \"in.a\"}, %b: tensor<1x1x3xf64> "
      "{graph.param = \"w\"}",
      "%y = graph.causal_conv1d %a, %b {dilation = 2} : (tensor<?x1xf64>, "
      "tensor<1x1x3xf64>) -> "
      "tensor<?x1xf64>",
      "tensor<?x1xf64>",
      {{"in.a", makeTensor(ElementType::F64, {6, 1}, {1, 2, 3, 4, 5, 6})},
       {"w", makeTensor(ElementType::F64, {1, 1, 3}, {100, 10, 1})}});
  EXPECT_EQ(toDoubles(y), std::vector<double>({1, 2, 13, 24, 135, 246}));
}

TEST(Products, rowsBeforeTheStartTakePart) {
  Tensor y =
      evaluateBody("%a: tensor<?x1xf32> {graph.input = \"in.a\"}, %b: "
                   "tensor<1x1x2xf32> {graph.param = \"w\"}",
                   "%y = graph.causal_conv1d %a, %b : (tensor<?x1xf32>, "
                   "tensor<1x1x2xf32>) -> tensor<?x1xf32>",
                   "tensor<?x1xf32>",
                   {{"in.a", makeTensor(ElementType::F32, {2, 1}, {1, 1})},
                    {"w", makeTensor(ElementType::F32, {1, 1, 2}, {inf, 1})}});
  EXPECT_TRUE(areEqual(y, makeTensor(ElementType::F32, {2, 1},
                                     {NAN, inf}))); // 0 · ∞, then ∞ + 1
}

TEST(Rows, softmaxOfARowWithNanIsNan) {
  Tensor y = evaluateBody(
      "%a: tensor<3x2xf32> {graph.input = \"in.a\"}",
      "%y = graph.softmax %a : tensor<3x2xf32> -> tensor<3x2xf32>",
      "tensor<3x2xf32>",
      {{"in.a", makeTensor(ElementType::F32, {3, 2}, {1, 1, NAN, 1, 1, NAN})}});
  EXPECT_TRUE(areEqual(
      y, makeTensor(ElementType::F32, {3, 2}, {0.5, 0.5, NAN, NAN, NAN, NAN})));
}

TEST(Rows, ascendingSumBeginsWithElementZero) {
  Tensor y =
      evaluateBody("%a: tensor<3x2xf32> {graph.input = \"in.a\"}",
                   "%y = graph.reduce_sum %a order ascending {dim = 0} : "
                   "tensor<3x2xf32> -> tensor<2xf32>",
                   "tensor<2xf32>",
                   {{"in.a", makeTensor(ElementType::F32, {3, 2},
                                        {1e8, -0.0, 3, -0.0, -1e8, -0.0})}});
  EXPECT_TRUE(areEqual(
      y, makeTensor(ElementType::F32, 2, {0, -0.0}))); // 1e8 + 3 is 1e8
}

TEST(Rows, indicesOutsideAreReported) {
  Status status;
  Tensor y =
      evaluateBody("%a: tensor<4xi32> {graph.input = \"in.a\"}, %b: "
                   "tensor<2x2xf32> {graph.param = \"w\"}",
                   "%y = graph.embedding %a, %b : (tensor<4xi32>, "
                   "tensor<2x2xf32>) -> tensor<4x2xf32>",
                   "tensor<4x2xf32>",
                   {{"in.a", makeIndices(ElementType::I32, 4, {1, 2, 0, -1})},
                    {"w", makeTensor(ElementType::F32, {2, 2}, {1, 2, 3, 4})}},
                   &status);
  EXPECT_TRUE(areEqual(y, makeTensor(ElementType::F32, {4, 2},
                                     {3, 4, NAN, NAN, 1, 2, NAN, NAN})));
  EXPECT_EQ(status.indexErrorRow, 1);
  EXPECT_EQ(status.nanLogitsRow, -1);

  Tensor loss = evaluateBody(
      "%a: tensor<2x2xf32> {graph.input = \"in.a\"}, %b: tensor<2xi64> "
      "{graph.input = \"in.b\"}",
      "%y = graph.cross_entropy %a, %b : (tensor<2x2xf32>, tensor<2xi64>) -> "
      "tensor<f32>",
      "tensor<f32>",
      {{"in.a", makeTensor(ElementType::F32, {2, 2}, {1, 2, 3, 4})},
       {"in.b", makeIndices(ElementType::I64, 2, {0, 2})}},
      &status);
  EXPECT_TRUE(std::isnan(toDoubles(loss)[0]));
  EXPECT_EQ(status.indexErrorRow, 1);
}

TEST(Routing, topKBreaksTiesDownwards) {
  Status status;
  Tensor y = evaluateBody(
      "%a: tensor<3x4xf32> {graph.input = \"in.a\"}",
      "%v, %y = graph.top_k %a {k = 3} : tensor<3x4xf32> -> tensor<3x3xf32>, "
      "tensor<3x3xi32>",
      "tensor<3x3xi32>",
      {{"in.a", makeTensor(ElementType::F32, {3, 4},
                           {2, 7, 2, 7, 0, -0.0, 0, -1, 1, 2, NAN, 3})}},
      &status);
  EXPECT_EQ(toIntegers(y),
            std::vector<int64_t>({1, 3, 0, 0, 1, 2, -1, -1, -1}));
  EXPECT_EQ(status.nanLogitsRow, 2);
}

TEST(Routing, sendsRowsThereAndBack) {
  Status status;
  const char *text =
      R"(func.func @f(%x: tensor<?x1xf32> {graph.input = "in.x"}, %w: tensor<?x2xf32> {graph.input = "in.w"},
      %i: tensor<?x2xi32> {graph.input = "in.i"}) -> (tensor<?x1xf32> {graph.result = "y"}, tensor<3xi64> {graph.result = "n"}) {
    %r, %n = graph.route %i : tensor<?x2xi32> -> !graph.routing<experts = 3, topk = 2>, tensor<3xi64>
    %xs = graph.dispatch %x, %r : (tensor<?x1xf32>, !graph.routing<experts = 3, topk = 2>) -> !graph.ragged<3x?x1xf32>
    %ws = graph.dispatch_slot %w, %r : (tensor<?x2xf32>, !graph.routing<experts = 3, topk = 2>) -> !graph.ragged<3x?x1xf32>
    %s = graph.constant dense<[[[1.0]], [[10.0]], [[100.0]]]> : tensor<3x1x1xf32>
    %p = graph.mul %xs, %ws : (!graph.ragged<3x?x1xf32>, !graph.ragged<3x?x1xf32>) -> !graph.ragged<3x?x1xf32>
    %q = graph.mul %p, %s : (!graph.ragged<3x?x1xf32>, tensor<3x1x1xf32>) -> !graph.ragged<3x?x1xf32>
    %y = graph.combine %r, %q : (!graph.routing<experts = 3, topk = 2>, !graph.ragged<3x?x1xf32>) -> tensor<?x1xf32>
    return %y, %n : tensor<?x1xf32>, tensor<3xi64> })";
  Tensors results = run(
      text,
      {{"in.x", makeTensor(ElementType::F32, {4, 1}, {1, 2, 3, 4})},
       {"in.w", makeTensor(ElementType::F32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
       {"in.i",
        makeIndices(ElementType::I32, {4, 2}, {2, 0, 0, 2, -1, -1, 0, 9})}},
      &status);
  EXPECT_EQ(toIntegers(results.at("n")), std::vector<int64_t>({3, 0, 2}));
  EXPECT_TRUE(areEqual(results.at("y"), makeTensor(ElementType::F32, {4, 1},
                                                   {102, 806, NAN, NAN})));
  EXPECT_EQ(status.indexErrorRow, 7); // slot 1 of token 3
}

TEST(Evaluate, acceptsNoTokens) {
  Tensor y = evaluateBody(
      "%a: tensor<?x2xbf16> {graph.input = \"in.a\"}, %w: tensor<3x2xbf16> "
      "{graph.param = \"w\"}",
      "%m = graph.matmul %a, %w : (tensor<?x2xbf16>, tensor<3x2xbf16>) -> "
      "tensor<?x3xbf16>\n"
      "%y = graph.softmax %m : tensor<?x3xbf16> -> tensor<?x3xbf16>",
      "tensor<?x3xbf16>",
      {{"in.a", makeTensor(ElementType::BF16, {0, 2}, {})},
       {"w", makeTensor(ElementType::BF16, {3, 2}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(y.getShape(), llvm::ArrayRef<int64_t>({0, 3}));
}

TEST(Evaluate, namesWhatIsWrong) {
  const std::string text =
      "func.func @f(%a: tensor<?x2xf32> {graph.input = \"in.a\"}, %b: "
      "tensor<?x2xf32> {graph.param = \"w.b\"}) -> "
      "tensor<?x2xf32> { %y = graph.add %a, %b : (tensor<?x2xf32>, "
      "tensor<?x2xf32>) -> tensor<?x2xf32> return %y : "
      "tensor<?x2xf32> }";
  Tensor two = makeTensor(ElementType::F32, {2, 2}, {1, 2, 3, 4});
  Tensor three = makeTensor(ElementType::F32, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(runError(text, {{"in.a", two}}).find("no tensor 'w.b'"),
            std::string::npos);
  EXPECT_NE(
      runError(text,
               {{"in.a", two},
                {"w.b", makeTensor(ElementType::F64, {2, 2}, {1, 2, 3, 4})}})
          .find("tensor 'w.b' is 2x2xf64 where 'f' takes tensor<?x2xf32>"),
      std::string::npos);
  EXPECT_NE(runError(text, {{"in.a", two}, {"w.b", three}})
                .find("'graph.add' dimension 0 of"),
            std::string::npos);
}

TEST(TensorValue, copiesOnWriteOnly) {
  Tensor a = makeTensor(ElementType::F32, 2, {1, 2});
  const std::byte *bytes = a.getBytes();
  a.getMutableBytes();
  EXPECT_EQ(a.getBytes(), bytes);
  Tensor b = a.view(1, 1);
  b.getMutableElements<float>()[0] = 5;
  EXPECT_EQ(toDoubles(a), std::vector<double>({1, 2}));
  EXPECT_EQ(toDoubles(b), std::vector<double>({5}));
}

} // namespace
