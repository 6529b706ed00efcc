// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Skewed routing: how many rows each expert gets, from the choice itself and
// from a router that reads the marks.

#include "compiler/tools/epifold-bench/Routing.h"
#include "compiler/tools/epifold-bench/Workload.h"
#include "epifold/Compiler.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace epifold;
using namespace epifold::tools;

namespace {

std::vector<int64_t> sizesOf(const runtime::HostTensor &choices,
                             int64_t experts) {
  std::vector<int64_t> sizes(static_cast<size_t>(experts));
  for (int64_t i = 0; i < choices.elements(); ++i)
    ++sizes[static_cast<size_t>(choices.dataAs<int32_t>()[i])];
  return sizes;
}

runtime::HostTensor choose(int64_t tokens, int64_t topk, int64_t experts,
                           Skew::Kind kind) {
  auto choices = chooseExperts(tokens, topk, experts, {kind, {}}, /*seed=*/3);
  EXPECT_TRUE(choices) << choices.error().message();
  return *choices;
}

TEST(BenchRoutingTest, EvenSizesDifferByOneAtMost) {
  auto sizes = sizesOf(choose(50, 3, 8, Skew::Kind::Even), 8);
  auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  EXPECT_LE(*most - *least, 1);
}

TEST(BenchRoutingTest, OneLeavesTheOthersEmpty) {
  EXPECT_EQ(sizesOf(choose(50, 2, 4, Skew::Kind::One), 4),
            (std::vector<int64_t>{50, 50, 0, 0}));
}

TEST(BenchRoutingTest, ZipfFavoursTheFirst) {
  auto sizes = sizesOf(choose(4000, 1, 4, Skew::Kind::Zipf), 4);
  // 12/25, 6/25, 4/25, 3/25 of 4000.
  EXPECT_NEAR(double(sizes[0]), 1920, 150);
  EXPECT_NEAR(double(sizes[3]), 480, 100);
}

TEST(BenchRoutingTest, ATokensExpertsDiffer) {
  runtime::HostTensor choices = choose(100, 3, 4, Skew::Kind::Random);
  for (int64_t t = 0; t < 100; ++t) {
    const int32_t *row = choices.dataAs<int32_t>() + 3 * t;
    EXPECT_EQ(std::set<int32_t>(row, row + 3).size(), 3u);
  }
}

TEST(BenchRoutingTest, TheSeedAloneDecides) {
  auto draw = [](uint64_t seed) {
    auto choices = chooseExperts(64, 1, 8, {}, seed);
    const auto *first = choices->dataAs<int32_t>();
    return std::vector<int32_t>(first, first + 64);
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

/// What the layer's own router makes of the columns.
std::vector<int64_t> routedSizes(Skew::Kind kind) {
  SkewedMoeSwiglu model;
  model.tokens = 60, model.experts = 8, model.topk = 2;
  model.type = DataType::BF16;
  model.skew.kind = kind;
  auto workload = makeWorkload(model, /*dynamic=*/false);
  EXPECT_TRUE(workload) << workload.error().message();
  auto graph = buildModel(static_cast<const MoeSwigluModel &>(model));
  auto evaluated = evaluate(*graph, *drawArguments(*workload));
  EXPECT_TRUE(evaluated) << evaluated.error().message();
  for (const auto &[name, tensor] : evaluated->results)
    if (name == "out.tokens_per_expert")
      return {tensor.dataAs<int64_t>(), tensor.dataAs<int64_t>() + 8};
  ADD_FAILURE() << "no counts";
  return {};
}

TEST(BenchRoutingTest, ARouterFollowsItsColumns) {
  EXPECT_EQ(routedSizes(Skew::Kind::Even), std::vector<int64_t>(8, 15));
  EXPECT_EQ(routedSizes(Skew::Kind::One),
            (std::vector<int64_t>{60, 60, 0, 0, 0, 0, 0, 0}));
  auto zipf = routedSizes(Skew::Kind::Zipf);
  EXPECT_EQ(zipf[0], zipf[1]);
  EXPECT_GT(zipf[0], 2 * zipf[6]);
}

} // namespace
