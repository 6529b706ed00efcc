// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A routed block in kernel ops against the same block in graph ops, and what
// routing launches refuse.

#include "tests/unit/reference/TestSupport.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace epifold::reference;
using namespace epifold::reference::test;

namespace {

const char *graphText = R"(
!routing = !graph.routing<experts = 5, topk = 2>
func.func @f(%x: tensor<?x24x$T> {graph.input = "x"}, %p: tensor<?x5x$C> {graph.input = "p"}, %w: tensor<5x17x24x$T> {graph.param = "w"}) -> (tensor<?x17x$T> {graph.result = "y"}, tensor<5xi64> {graph.result = "n"}) {
  %v, %i = graph.top_k %p {k = 2} : tensor<?x5x$C> -> tensor<?x2x$C>, tensor<?x2xi32>
  %r, %n = graph.route %i : tensor<?x2xi32> -> !routing, tensor<5xi64>
  %xs = graph.dispatch %x, %r : (tensor<?x24x$T>, !routing) -> !graph.ragged<5x?x24x$T>
  %ws = graph.dispatch_slot %v, %r : (tensor<?x2x$C>, !routing) -> !graph.ragged<5x?x1x$C>
  %h = graph.expert_matmul %xs, %w : (!graph.ragged<5x?x24x$T>, tensor<5x17x24x$T>) -> !graph.ragged<5x?x17x$C>
  %m = graph.mul %h, %ws : (!graph.ragged<5x?x17x$C>, !graph.ragged<5x?x1x$C>) -> !graph.ragged<5x?x17x$C>
  %b = graph.cast %m : !graph.ragged<5x?x17x$C> -> !graph.ragged<5x?x17x$T>
  %y = graph.combine %r, %b : (!routing, !graph.ragged<5x?x17x$T>) -> tensor<?x17x$T>
  return %y, %n : tensor<?x17x$T>, tensor<5xi64>
})";

const char *routeText = R"(
#id = affine_map<(g, r, n) -> (r, n)>
func.func @f(%x: tensor<?x24x$T> {graph.input = "x"}, %p: tensor<?x5x$C> {graph.input = "p"}, %w: tensor<5x17x24x$T> {graph.param = "w"}) -> (tensor<?x17x$T> {graph.result = "y"}, tensor<5xi64> {graph.result = "n"}) attributes {kernel.symbols = [[0, 0]]} {
  %v0 = kernel.empty affine_map<()[s0] -> (s0, 2)> : tensor<?x2x$C>
  %i0 = kernel.empty affine_map<()[s0] -> (s0, 2)> : tensor<?x2xi32>
  %v, %i = kernel.top_k ins(%p : tensor<?x5x$C>) outs(%v0, %i0 : tensor<?x2x$C>, tensor<?x2xi32>) -> tensor<?x2x$C>, tensor<?x2xi32>
  %s = kernel.view %i at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (s0 * 2)> : tensor<?x2xi32> -> tensor<?xi32>
  %vs = kernel.view %v at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (s0 * 2, 1)> : tensor<?x2x$C> -> tensor<?x1x$C>
  %h0 = kernel.empty affine_map<()[s0] -> ((s0 * 2) ceildiv 1024, 5)> : tensor<?x5xi32>
  %h = kernel.route_histogram ins(%s : tensor<?xi32>) outs(%h0 : tensor<?x5xi32>) -> tensor<?x5xi32>
  %f0 = kernel.empty affine_map<()[s0] -> ((s0 * 2) ceildiv 1024, 5)> : tensor<?x5xi32>
  %o0 = kernel.empty affine_map<() -> (6)> : tensor<6xi64>
  %n0 = kernel.empty affine_map<() -> (5)> : tensor<5xi64>
  %f, %n = kernel.route_scan ins(%h : tensor<?x5xi32>) outs(%f0, %n0 : tensor<?x5xi32>, tensor<5xi64>) -> tensor<?x5xi32>, tensor<5xi64>
  %a0 = kernel.empty affine_map<()[s0] -> (s0 * 2)> : tensor<?xi32>
  %b0 = kernel.empty affine_map<()[s0] -> (s0 * 2)> : tensor<?xi32>
  %slot, %row, %off = kernel.route_scatter ins(%s, %f, %n : tensor<?xi32>, tensor<?x5xi32>, tensor<5xi64>) outs(%a0, %b0, %o0 : tensor<?xi32>, tensor<?xi32>, tensor<6xi64>) -> tensor<?xi32>, tensor<?xi32>, tensor<6xi64>
)";

/// Every expert in one launch: rows gathered by the product, weights by a
/// launch of their own.
const char *foldedText = R"(
  %ws0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 1)> : tensor<?x1x$C>
  %ws = kernel.gather_rows src(%vs : tensor<?x1x$C>) index(%slot : tensor<?xi32>) offsets(%off : tensor<6xi64>) outs(%ws0 : tensor<?x1x$C>) -> tensor<?x1x$C>
  %m0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 17)> : tensor<?x17x$T>
  %m = kernel.gemm a(%x : tensor<?x24x$T>) b(%w : tensor<5x17x24x$T>) gather(%slot : tensor<?xi32>) offsets(%off : tensor<6xi64>)
      extras(%ws : tensor<?x1x$C>) outs(%m0 : tensor<?x17x$T>)
      attributes {indexing_maps = [affine_map<(g, r, n) -> (r, 0)>, #id], gather_divisor = 2 : i64} {
    ^bb0(%acc: $C, %weight: $C):
      %z = arith.mulf %acc, %weight : $C
      ROUND
      kernel.yield %t : $T
  } -> tensor<?x17x$T>
)";

/// One launch for each expert, each writing its part of the buffers.
std::string writeBranches() {
  std::string text = R"(
  %x_0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 24)> : tensor<?x24x$T>
  %h_0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 17)> : tensor<?x17x$C>
  %m_0 = kernel.empty affine_map<()[s0] -> (s0 * 2, 17)> : tensor<?x17x$T>
)";
  for (int e = 0; e < 5; ++e)
    text += llvm::formatv(R"(
  %x_{1} = kernel.gather_rows src(%x : tensor<?x24x$T>) index(%slot : tensor<?xi32>) offsets(%off : tensor<6xi64>) outs(%x_{0} : tensor<?x24x$T>) {{divisor = 2 : i64, group = {0} : i64} -> tensor<?x24x$T>
  %w_{1} = kernel.view %w at affine_map<() -> ({2})> as affine_map<() -> (17, 24)> : tensor<5x17x24x$T> -> tensor<17x24x$T>
  %h_{1} = kernel.gemm a(%x_{1} : tensor<?x24x$T>) b(%w_{1} : tensor<17x24x$T>) offsets(%off : tensor<6xi64>) outs(%h_{0} : tensor<?x17x$C>)
      attributes {{indexing_maps = [#id], group = {0} : i64} {{
    ^bb0(%acc: $C):
      kernel.yield %acc : $C
  } -> tensor<?x17x$C>
  %m_{1} = kernel.map ins(%h_{1}, %slot : tensor<?x17x$C>, tensor<?xi32>) offsets(%off : tensor<6xi64>) outs(%m_{0} : tensor<?x17x$T>)
      attributes {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], domain = 0 : i64, group = {0} : i64} {{
    ^bb0(%acc: $C, %unused: i32):
      %one = arith.constant 1.0 : $C
      %z = arith.mulf %acc, %one : $C
      ROUND
      kernel.yield %t : $T
  } -> tensor<?x17x$T>
)",
                          e, e + 1, e * 17 * 24)
                .str();
  return text + "  %m = kernel.view %m_5 at affine_map<() -> (0)> as "
                "affine_map<()[s0] -> (s0 * 2, 17)> : tensor<?x17x$T> -> "
                "tensor<?x17x$T>\n";
}

const char *combineText = R"(
  %y0 = kernel.empty affine_map<()[s0] -> (s0, 17)> : tensor<?x17x$T>
  %y = kernel.combine ins(%m, %row : tensor<?x17x$T>, tensor<?xi32>) outs(%y0 : tensor<?x17x$T>) {slots = 2 : i64} -> tensor<?x17x$T>
  return %y, %n : tensor<?x17x$T>, tensor<5xi64>
})";

std::string finish(std::string text, ElementType type) {
  bool isNarrow = type == ElementType::BF16 || type == ElementType::F16;
  std::string round =
      isNarrow
          ? "%t = arith.truncf %z : $C to $T"
          : "%true = arith.constant true\n%t = arith.select %true, %z, %z : $T";
  for (size_t at = 0; (at = text.find("ROUND", at)) != std::string::npos;)
    text.replace(at, 5, round);
  return withTypes(text, type);
}

class RoutedTest : public testing::TestWithParam<ElementType> {
protected:
  /// 300 tokens (two chunks and a part), none of which chooses expert 3; token
  /// 41 is in error when asked.
  Tensors makeInputs(bool withError) {
    ElementType compute =
        GetParam() == ElementType::F64 ? ElementType::F64 : ElementType::F32;
    std::vector<double> scores = toDoubles(makeRandom(compute, {300, 5}, 7));
    for (int64_t token = 0; token < 300; ++token) {
      scores[token * 5 + 3] = -100;
      scores[token * 5 + 1] = scores[token * 5 + 2]; // ties
    }
    if (withError)
      scores[41 * 5] = NAN;
    return {{"x", makeRandom(GetParam(), {300, 24}, 1)},
            {"w", makeRandom(GetParam(), {5, 17, 24}, 2)},
            {"p", makeTensor(compute, {300, 5}, scores)}};
  }
};
INSTANTIATE_TEST_SUITE_P(Types, RoutedTest,
                         testing::Values(ElementType::F64, ElementType::F32,
                                         ElementType::BF16, ElementType::F16));

TEST_P(RoutedTest, foldedLaunchesAgreeWithTheGraph) {
  for (bool withError : {false, true}) {
    Tensors inputs = makeInputs(withError);
    Status graphStatus, kernelStatus;
    Tensors expected =
        run(withTypes(graphText, GetParam()), inputs, &graphStatus);
    Tensors observed = run(
        finish(std::string(routeText) + foldedText + combineText, GetParam()),
        inputs, &kernelStatus);
    ASSERT_EQ(observed.size(), 2u);
    EXPECT_TRUE(areEqual(expected.at("y"), observed.at("y")));
    EXPECT_TRUE(areEqual(expected.at("n"), observed.at("n")));
    EXPECT_EQ(toIntegers(observed.at("n"))[3], 0);
    EXPECT_EQ(graphStatus.nanLogitsRow, withError ? 41 : -1);
    EXPECT_EQ(kernelStatus.nanLogitsRow, graphStatus.nanLogitsRow);
  }
}

TEST_P(RoutedTest, oneLaunchAnExpertAgreesWithTheGraph) {
  Tensors inputs = makeInputs(false);
  std::string graph = graphText;
  size_t mul = graph.find("  %m = graph.mul"),
         cast = graph.find("graph.cast %m");
  graph.replace(cast, 13, "graph.cast %h");
  graph.erase(mul, graph.find('\n', mul) - mul);
  Tensors expected = run(withTypes(graph, GetParam()), inputs);
  Tensors observed = run(
      finish(routeText + writeBranches() + combineText, GetParam()), inputs);
  ASSERT_EQ(observed.size(), 2u);
  EXPECT_TRUE(areEqual(expected.at("y"), observed.at("y")));
}

TEST(RoutingLaunches, refuseWhatLeavesTheirBuffers) {
  const char *text =
      R"(func.func @f(%x: tensor<4x2xf32> {graph.input = "x"}, %i: tensor<4xi32> {graph.input = "i"}, %o: tensor<3xi64> {graph.input = "o"}) -> (tensor<4x2xf32> {graph.result = "y"}) {
  %y0 = kernel.empty affine_map<() -> (4, 2)> : tensor<4x2xf32>
  %y = kernel.gather_rows src(%x : tensor<4x2xf32>) index(%i : tensor<4xi32>) offsets(%o : tensor<3xi64>) outs(%y0 : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32> })";
  Tensors inputs = {{"x", makeRandom(ElementType::F32, {4, 2}, 1)},
                    {"i", makeIndices(ElementType::I32, 4, {0, 1, 4, 2})},
                    {"o", makeIndices(ElementType::I64, 3, {0, 2, 4})}};
  EXPECT_NE(runError(text, inputs).find("gathers row 4"), std::string::npos);
  inputs["o"] = makeIndices(ElementType::I64, 3, {0, 2, 5});
  EXPECT_NE(runError(text, inputs)
                .find("offsets 2 … 5 for expert 1 in buffers of 4 rows"),
            std::string::npos);
}

TEST(RoutingLaunches, embeddingReportsIndicesOutside) {
  Status status;
  Tensors results = run(
      R"(func.func @f(%x: tensor<2x2xf32> {graph.param = "x"}, %i: tensor<3xi64> {graph.input = "i"}) -> (tensor<3x2xf32> {graph.result = "y"}) {
  %y0 = kernel.empty affine_map<() -> (3, 2)> : tensor<3x2xf32>
  %y = kernel.gather_rows src(%x : tensor<2x2xf32>) index(%i : tensor<3xi64>) outs(%y0 : tensor<3x2xf32>) {report} -> tensor<3x2xf32>
  return %y : tensor<3x2xf32> })",
      {{"x", makeTensor(ElementType::F32, {2, 2}, {1, 2, 3, 4})},
       {"i", makeIndices(ElementType::I64, 3, {1, -7, 0})}},
      &status);
  EXPECT_TRUE(areEqual(results.at("y"), makeTensor(ElementType::F32, {3, 2},
                                                   {3, 4, NAN, NAN, 1, 2})));
  EXPECT_EQ(status.indexErrorRow, 1);
}

TEST(MapLaunch, refusesMapsThatLeaveTheirOperand) {
  EXPECT_NE(
      runError(
          R"(func.func @f(%x: tensor<4xf32> {graph.input = "x"}) -> (tensor<4xf32> {graph.result = "y"}) {
  %y0 = kernel.empty affine_map<() -> (4)> : tensor<4xf32>
  %y = kernel.map ins(%x : tensor<4xf32>) outs(%y0 : tensor<4xf32>) attributes {indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>], domain = 1 : i64} {
    ^bb0(%a: f32):
      kernel.yield %a : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32> })",
          {{"x", makeRandom(ElementType::F32, 4, 1)}})
          .find("indexes 1 … 4 of dimension 0 of 4xf32"),
      std::string::npos);
}

TEST(Arguments, mustHaveTheSizesOfEachOther) {
  const char *text =
      R"(func.func @f(%x: tensor<?xf32> {graph.input = "x", kernel.sizes = affine_map<()[s0] -> (s0)>}, %y: tensor<?xf32> {graph.input = "y", kernel.sizes = affine_map<()[s0] -> (s0 + 1)>}) -> (tensor<?xf32> {graph.result = "r"}) attributes {kernel.symbols = [[0, 0]]} {
  return %y : tensor<?xf32> })";
  Tensors inputs = {{"x", makeRandom(ElementType::F32, 4, 1)},
                    {"y", makeRandom(ElementType::F32, 5, 2)}};
  EXPECT_EQ(run(text, inputs).size(), 1u);
  inputs["y"] = makeRandom(ElementType::F32, 4, 2);
  EXPECT_NE(runError(text, inputs)
                .find("tensor 'y' is 4xf32, but its dimension 0 must be 5"),
            std::string::npos);
}

TEST(MapLaunch, knowsTheExpertOfARow) {
  Tensors results = run(
      R"(func.func @f(%x: tensor<5xf32> {graph.input = "x"}, %b: tensor<3xf32> {graph.param = "b"}, %o: tensor<4xi64> {graph.input = "o"}) -> (tensor<5xf32> {graph.result = "y"}) {
  %y = kernel.map ins(%b : tensor<3xf32>) offsets(%o : tensor<4xi64>) outs(%x : tensor<5xf32>) attributes {indexing_maps = [affine_map<(i)[s0] -> (s0)>, affine_map<(i) -> (i)>], domain = 1 : i64} {
    ^bb0(%a: f32):
      kernel.yield %a : f32
  } -> tensor<5xf32>
  return %y : tensor<5xf32> })",
      {{"x", makeTensor(ElementType::F32, 5, {1, 2, 3, 4, 5})},
       {"b", makeTensor(ElementType::F32, 3, {10, 20, 30})},
       {"o", makeIndices(ElementType::I64, 4, {0, 2, 2, 4})}});
  EXPECT_EQ(toDoubles(results.at("y")),
            std::vector<double>({10, 10, 30, 30, 5}));
}

} // namespace
