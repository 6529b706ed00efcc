// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kernel ops written by hand against graph ops of the same meaning, to the bit.

#include "tests/unit/reference/TestSupport.h"

#include <cmath>

using namespace epifold::reference;
using namespace epifold::reference::test;

namespace {

class KernelTest : public testing::TestWithParam<ElementType> {
protected:
  static ElementType compute() {
    return GetParam() == ElementType::F64 ? ElementType::F64 : ElementType::F32;
  }
  Tensor random(llvm::ArrayRef<int64_t> shape) {
    return makeRandom(GetParam(), shape, ++seed);
  }

  /// Both functions give every result the same bits.
  void expectSame(const std::string &graph, const std::string &kernel,
                  const Tensors &inputs) {
    Tensors expected = run(withTypes(graph, GetParam()), inputs);
    Tensors observed = run(withTypes(kernel, GetParam()), inputs);
    ASSERT_FALSE(expected.empty());
    for (const auto &[name, tensor] : expected) {
      ASSERT_TRUE(observed.count(name)) << name;
      EXPECT_TRUE(areEqual(tensor, observed.at(name))) << name;
    }
  }

private:
  unsigned seed = 0;
};
INSTANTIATE_TEST_SUITE_P(Types, KernelTest,
                         testing::Values(ElementType::F64, ElementType::F32,
                                         ElementType::BF16, ElementType::F16));

/// Scalar code that extends a `$T` to `$C`, or rounds it back; nothing but a
/// copy where they are the same.
std::string convert(ElementType type, const std::string &to,
                    const std::string &from, bool isRounding) {
  if (type != ElementType::BF16 && type != ElementType::F16)
    return to + " = arith.select %true, " + from + ", " + from + " : $T\n";
  return to + (isRounding ? " = arith.truncf " + from + " : $C to $T\n"
                          : " = arith.extf " + from + " : $T to $C\n");
}

TEST_P(KernelTest, mapBroadcastsPermutesAndSlices) {
  ElementType type = GetParam();
  std::string kernel =
      R"(func.func @f(%a: tensor<?x70x9x$T> {graph.input = "a"}, %b: tensor<5x?x$T> {graph.input = "b"}) -> (tensor<?x70x5x$T> {graph.result = "y"}) {
    %o = kernel.empty affine_map<()[s0] -> (s0, 70, 5)> : tensor<?x70x5x$T>
    %y = kernel.map ins(%a, %b : tensor<?x70x9x$T>, tensor<5x?x$T>) outs(%o : tensor<?x70x5x$T>)
        attributes {indexing_maps = [affine_map<(i, j, k) -> (i, j, k + 3)>, affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (i, j, k)>], domain = 2 : i64} {
      ^bb0(%p: $T, %q: $T):
        %true = arith.constant true
)";
  kernel +=
      convert(type, "%pc", "%p", false) + convert(type, "%qc", "%q", false);
  kernel += "%m = arith.mulf %pc, %qc : $C\n";
  kernel +=
      convert(type, "%mr", "%m", true) + convert(type, "%mc", "%mr", false);
  kernel += "%s = kernel.math silu $C %mc : $C\n";
  kernel += convert(type, "%r", "%s", true);
  kernel += R"(kernel.yield %r : $T
    } -> tensor<?x70x5x$T>
    return %y : tensor<?x70x5x$T> })";
  expectSame(
      R"(func.func @f(%a: tensor<?x70x9x$T> {graph.input = "a"}, %b: tensor<5x?x$T> {graph.input = "b"}) -> (tensor<?x70x5x$T> {graph.result = "y"}) {
    %s = graph.slice %a {dim = 2, begin = 3, end = 8} : tensor<?x70x9x$T> -> tensor<?x70x5x$T>
    %t = graph.transpose %b {permutation = array<i64: 1, 0>} : tensor<5x?x$T> -> tensor<?x5x$T>
    %r = graph.reshape %t : tensor<?x5x$T> -> tensor<?x1x5x$T>
    %m = graph.mul %s, %r : (tensor<?x70x5x$T>, tensor<?x1x5x$T>) -> tensor<?x70x5x$T>
    %y = graph.silu %m : tensor<?x70x5x$T> -> tensor<?x70x5x$T>
    return %y : tensor<?x70x5x$T> })",
      kernel, {{"a", random({11, 70, 9})}, {"b", random({5, 11})}});
}

TEST_P(KernelTest, gemmSharesAAndAddsBias) {
  expectSame(
      R"(func.func @f(%x: tensor<?x37x$T> {graph.input = "x"}, %v: tensor<21x37x$T> {graph.param = "v"}, %w: tensor<21x37x$T> {graph.param = "w"}, %b: tensor<21x$C> {graph.param = "b"}) -> (tensor<?x21x$C> {graph.result = "y"}) {
    %g = graph.matmul %x, %v : (tensor<?x37x$T>, tensor<21x37x$T>) -> tensor<?x21x$C>
    %u = graph.matmul %x, %w : (tensor<?x37x$T>, tensor<21x37x$T>) -> tensor<?x21x$C>
    %p = graph.mul %g, %u : (tensor<?x21x$C>, tensor<?x21x$C>) -> tensor<?x21x$C>
    %y = graph.add %p, %b : (tensor<?x21x$C>, tensor<21x$C>) -> tensor<?x21x$C>
    return %y : tensor<?x21x$C> })",
      R"(func.func @f(%x: tensor<?x37x$T> {graph.input = "x"}, %v: tensor<21x37x$T> {graph.param = "v"}, %w: tensor<21x37x$T> {graph.param = "w"}, %b: tensor<21x$C> {graph.param = "b"}) -> (tensor<?x21x$C> {graph.result = "y"}) attributes {kernel.symbols = [[0, 0]]} {
    %o = kernel.empty affine_map<()[s0] -> (s0, 21)> : tensor<?x21x$C>
    %y = kernel.gemm a(%x : tensor<?x37x$T>) b(%v, %w : tensor<21x37x$T>, tensor<21x37x$T>) extras(%b : tensor<21x$C>) outs(%o : tensor<?x21x$C>)
        attributes {indexing_maps = [affine_map<(g, r, n) -> (n)>, affine_map<(g, r, n) -> (r, n)>]} {
      ^bb0(%p: $C, %q: $C, %c: $C):
        %m = arith.mulf %p, %q : $C
        %s = arith.addf %m, %c : $C
        kernel.yield %s : $C
    } -> tensor<?x21x$C>
    return %y : tensor<?x21x$C> })",
      {{"x", random({45, 37})},
       {"v", random({21, 37})},
       {"w", random({21, 37})},
       {"b", makeRandom(compute(), 21, 9)}});
}

TEST_P(KernelTest, gemmConvolvesPackedWeights) {
  expectSame(
      R"(func.func @f(%x: tensor<2x?x18x$T> {graph.input = "x"}, %w: tensor<3x20x18x3x$T> {graph.param = "w"}) -> (tensor<3x2x?x20x$C> {graph.result = "y"}) {
    %y = graph.expert_causal_conv1d %x, %w {dilation = 2} : (tensor<2x?x18x$T>, tensor<3x20x18x3x$T>) -> tensor<3x2x?x20x$C>
    return %y : tensor<3x2x?x20x$C> })",
      R"(func.func @f(%x: tensor<2x?x18x$T> {graph.input = "x"}, %w: tensor<3x3x20x18x$T> {graph.param = "w", kernel.layout = array<i64: 0, 3, 1, 2>}) -> (tensor<3x2x?x20x$C> {graph.result = "y"}) {
    %o = kernel.empty affine_map<()[s0] -> (3, s0 * 2, 20)> : tensor<3x?x20x$C>
    %c = kernel.gemm a(%x : tensor<2x?x18x$T>) b(%w : tensor<3x3x20x18x$T>) outs(%o : tensor<3x?x20x$C>)
        attributes {indexing_maps = [affine_map<(g, r, n) -> (g, r, n)>], dilation = 2 : i64} {
      ^bb0(%p: $C):
        kernel.yield %p : $C
    } -> tensor<3x?x20x$C>
    %y = kernel.view %c at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (3, 2, s0, 20)> : tensor<3x?x20x$C> -> tensor<3x2x?x20x$C>
    return %y : tensor<3x2x?x20x$C> })",
      {{"x", random({2, 19, 18})}, {"w", random({3, 20, 18, 3})}});
}

TEST_P(KernelTest, rowLaunches) {
  expectSame(
      R"(func.func @f(%x: tensor<?x130x$T> {graph.input = "x"}, %t: tensor<?xi64> {graph.input = "t"}) -> (tensor<?x130x$T> {graph.result = "softmax"}, tensor<?x$T> {graph.result = "sum"}, tensor<$C> {graph.result = "loss"}) {
    %p = graph.softmax %x : tensor<?x130x$T> -> tensor<?x130x$T>
    %s = graph.reduce_sum %x {dim = 1} : tensor<?x130x$T> -> tensor<?x$T>
    %l = graph.cross_entropy %x, %t : (tensor<?x130x$T>, tensor<?xi64>) -> tensor<$C>
    return %p, %s, %l : tensor<?x130x$T>, tensor<?x$T>, tensor<$C> })",
      R"(func.func @f(%x: tensor<?x130x$T> {graph.input = "x"}, %t: tensor<?xi64> {graph.input = "t"}) -> (tensor<?x130x$T> {graph.result = "softmax"}, tensor<?x$T> {graph.result = "sum"}, tensor<$C> {graph.result = "loss"}) {
    %o = kernel.empty affine_map<()[s0] -> (s0, 130)> : tensor<?x130x$T>
    %p = kernel.softmax ins(%x : tensor<?x130x$T>) outs(%o : tensor<?x130x$T>) {accuracy = $A} -> tensor<?x130x$T>
    %o2 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?x$T>
    %s = kernel.row_reduce ins(%x : tensor<?x130x$T>) outs(%o2 : tensor<?x$T>) -> tensor<?x$T>
    %o3 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?x$C>
    %n = kernel.row_nll ins(%x, %t : tensor<?x130x$T>, tensor<?xi64>) outs(%o3 : tensor<?x$C>) {accuracy = $A} -> tensor<?x$C>
    %one = kernel.view %n at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (1, s0)> : tensor<?x$C> -> tensor<1x?x$C>
    %o4 = kernel.empty affine_map<() -> (1)> : tensor<1x$C>
    %m = kernel.row_reduce ins(%one : tensor<1x?x$C>) outs(%o4 : tensor<1x$C>) {mean} -> tensor<1x$C>
    %l = kernel.view %m at affine_map<() -> (0)> as affine_map<() -> ()> : tensor<1x$C> -> tensor<$C>
    return %p, %s, %l : tensor<?x130x$T>, tensor<?x$T>, tensor<$C> })",
      {{"x", random({9, 130})},
       {"t",
        makeIndices(ElementType::I64, 9, {0, 129, 5, 64, 63, 7, 8, 100, 1})}});
}

TEST_P(KernelTest, leafStatisticsMergeToGroupNorm) {
  expectSame(
      R"(func.func @f(%x: tensor<2x?x144x$C> {graph.input = "x"}, %s: tensor<144x$C> {graph.param = "s"}, %b: tensor<144x$C> {graph.param = "b"}) -> (tensor<2x?x144x$C> {graph.result = "y"}) {
    %y = graph.group_norm %x, %s, %b {groups = 2, epsilon = 1.0e-3} : (tensor<2x?x144x$C>, tensor<144x$C>, tensor<144x$C>) -> tensor<2x?x144x$C>
    return %y : tensor<2x?x144x$C> })",
      R"(func.func @f(%x: tensor<2x?x144x$C> {graph.input = "x"}, %s: tensor<144x$C> {graph.param = "s"}, %b: tensor<144x$C> {graph.param = "b"}) -> (tensor<2x?x144x$C> {graph.result = "y"}) {
    %l0 = kernel.empty affine_map<()[s0] -> (2, 2, s0 ceildiv 64, 2, 3)> : tensor<2x2x?x2x3x$C>
    %l = kernel.leaf_stats ins(%x : tensor<2x?x144x$C>) outs(%l0 : tensor<2x2x?x2x3x$C>) {groups = 2 : i64} -> tensor<2x2x?x2x3x$C>
    %m0 = kernel.empty affine_map<() -> (2, 2, 2)> : tensor<2x2x2x$C>
    %m = kernel.merge_stats ins(%l : tensor<2x2x?x2x3x$C>) outs(%m0 : tensor<2x2x2x$C>) {epsilon = 1.0e-3} -> tensor<2x2x2x$C>
    %o = kernel.empty affine_map<()[s0] -> (2, s0, 144)> : tensor<2x?x144x$C>
    %y = kernel.map ins(%x, %m, %m, %s, %b : tensor<2x?x144x$C>, tensor<2x2x2x$C>, tensor<2x2x2x$C>, tensor<144x$C>, tensor<144x$C>) outs(%o : tensor<2x?x144x$C>)
        attributes {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k floordiv 72, 0)>, affine_map<(i, j, k) -> (i, k floordiv 72, 1)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>], domain = 5 : i64} {
      ^bb0(%p: $C, %mean: $C, %r: $C, %scale: $C, %bias: $C):
        %d = arith.subf %p, %mean : $C
        %e = arith.mulf %d, %r : $C
        %g = arith.mulf %e, %scale : $C
        %h = arith.addf %g, %bias : $C
        kernel.yield %h : $C
    } -> tensor<2x?x144x$C>
    return %y : tensor<2x?x144x$C> })",
      {{"x", makeRandom(compute(), {2, 101, 144}, 1)},
       {"s", makeRandom(compute(), 144, 2)},
       {"b", makeRandom(compute(), 144, 3)}});
}

TEST_P(KernelTest, rowStatisticsMakeLayerAndRmsNorm) {
  expectSame(
      R"(func.func @f(%x: tensor<?x200x$C> {graph.input = "x"}, %s: tensor<200x$C> {graph.param = "s"}, %b: tensor<200x$C> {graph.param = "b"}) -> (tensor<?x200x$C> {graph.result = "layer"}, tensor<?x200x$C> {graph.result = "rms"}) {
    %l = graph.layer_norm %x, %s, %b : (tensor<?x200x$C>, tensor<200x$C>, tensor<200x$C>) -> tensor<?x200x$C>
    %r = graph.rms_norm %x, %s : (tensor<?x200x$C>, tensor<200x$C>) -> tensor<?x200x$C>
    return %l, %r : tensor<?x200x$C>, tensor<?x200x$C> })",
      R"(#x = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @f(%x: tensor<?x200x$C> {graph.input = "x"}, %s: tensor<200x$C> {graph.param = "s"}, %b: tensor<200x$C> {graph.param = "b"}) -> (tensor<?x200x$C> {graph.result = "layer"}, tensor<?x200x$C> {graph.result = "rms"}) {
    %m0 = kernel.empty affine_map<()[s0] -> (s0, 2)> : tensor<?x2x$C>
    %m = kernel.row_stats ins(%x : tensor<?x200x$C>) outs(%m0 : tensor<?x2x$C>) {epsilon = 1.0e-5} -> tensor<?x2x$C>
    %o = kernel.empty affine_map<()[s0] -> (s0, 200)> : tensor<?x200x$C>
    %l = kernel.map ins(%x, %m, %m, %s, %b : tensor<?x200x$C>, tensor<?x2x$C>, tensor<?x2x$C>, tensor<200x$C>, tensor<200x$C>) outs(%o : tensor<?x200x$C>)
        attributes {indexing_maps = [#x, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, 1)>, #column, #column, #x], domain = 0 : i64} {
      ^bb0(%p: $C, %mean: $C, %r: $C, %scale: $C, %bias: $C):
        %d = arith.subf %p, %mean : $C
        %e = arith.mulf %d, %r : $C
        %g = arith.mulf %e, %scale : $C
        %h = arith.addf %g, %bias : $C
        kernel.yield %h : $C
    } -> tensor<?x200x$C>
    %q0 = kernel.empty affine_map<()[s0] -> (s0)> : tensor<?x$C>
    %q = kernel.row_reduce ins(%x : tensor<?x200x$C>) outs(%q0 : tensor<?x$C>) {square, mean} -> tensor<?x$C>
    %o2 = kernel.empty affine_map<()[s0] -> (s0, 200)> : tensor<?x200x$C>
    %r = kernel.map ins(%x, %q, %s : tensor<?x200x$C>, tensor<?x$C>, tensor<200x$C>) outs(%o2 : tensor<?x200x$C>)
        attributes {indexing_maps = [#x, #row, #column, #x], domain = 3 : i64} {
      ^bb0(%p: $C, %meanSquare: $C, %scale: $C):
        %eps = arith.constant 1.0e-6 : $C
        %one = arith.constant 1.0 : $C
        %v = arith.addf %meanSquare, %eps : $C
        %root = kernel.math sqrt $C %v : $C
        %i = arith.divf %one, %root : $C
        %e = arith.mulf %p, %i : $C
        %h = arith.mulf %e, %scale : $C
        kernel.yield %h : $C
    } -> tensor<?x200x$C>
    return %l, %r : tensor<?x200x$C>, tensor<?x200x$C> })",
      {{"x", makeRandom(compute(), {7, 200}, 1)},
       {"s", makeRandom(compute(), 200, 2)},
       {"b", makeRandom(compute(), 200, 3)}});
}

TEST_P(KernelTest, orderedSumOfExperts) {
  expectSame(
      R"(func.func @f(%x: tensor<4x?x12x$T> {graph.input = "x"}) -> (tensor<?x12x$T> {graph.result = "y"}) {
    %y = graph.reduce_sum %x order ascending {dim = 0} : tensor<4x?x12x$T> -> tensor<?x12x$T>
    return %y : tensor<?x12x$T> })",
      R"(func.func @f(%x: tensor<4x?x12x$T> {graph.input = "x"}) -> (tensor<?x12x$T> {graph.result = "y"}) {
    %v = kernel.view %x at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (1, 4, s0 * 12)> : tensor<4x?x12x$T> -> tensor<1x4x?x$T>
    %o = kernel.empty affine_map<()[s0] -> (1, s0 * 12)> : tensor<1x?x$T>
    %s = kernel.ordered_sum ins(%v : tensor<1x4x?x$T>) outs(%o : tensor<1x?x$T>) -> tensor<1x?x$T>
    %y = kernel.view %s at affine_map<()[s0] -> (0)> as affine_map<()[s0] -> (s0, 12)> : tensor<1x?x$T> -> tensor<?x12x$T>
    return %y : tensor<?x12x$T> })",
      {{"x", random({4, 33, 12})}});
}

} // namespace
