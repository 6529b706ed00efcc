// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shows that the exactness table's comparison finds what differs, and that its
// random tensors are what they claim to be.

#include "tests/exact/Check.h"
#include "tests/exact/Compare.h"
#include "tests/exact/Motifs.h"
#include "tests/exact/RandomRun.h"
#include "tests/exact/RandomTensors.h"
#include "tests/exact/Rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace epifold;
using namespace epifold::exact;
using runtime::HostTensor;
using runtime::Shape;
using runtime::TensorMap;

namespace {

HostTensor tensorOf(Shape shape, std::vector<float> values) {
  auto tensor = HostTensor::allocate(DataType::F32, std::move(shape));
  EXPECT_TRUE(tensor);
  EXPECT_EQ(tensor->bytes(), values.size() * sizeof(float));
  std::memcpy(tensor->mutableData(), values.data(), tensor->bytes());
  return *tensor;
}

Comparison compareOne(const HostTensor &a, const HostTensor &b) {
  auto result = compare({{"y", a}}, {{"y", b}, {"extra", a}});
  EXPECT_TRUE(result);
  return *result;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Compare, EqualBitsAndAnyNanAreEqual) {
  Comparison found = compareOne(tensorOf({3}, {1, kNan, -0.0f}),
                                tensorOf({3}, {1, -kNan, -0.0f}));
  EXPECT_TRUE(found.equal());
  EXPECT_EQ(found.elements, 3);
}

TEST(Compare, SignedZerosDiffer) {
  Comparison found = compareOne(tensorOf({1}, {0.0f}), tensorOf({1}, {-0.0f}));
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.maxDifference, 0);
  EXPECT_EQ(found.worst, "y[0]");
}

TEST(Compare, ReportsTheWorstElement) {
  Comparison found =
      compareOne(tensorOf({3}, {1, 2, 3}), tensorOf({3}, {1.5, 2, 5}));
  EXPECT_EQ(found.different, 2);
  EXPECT_EQ(found.maxDifference, 2);
  EXPECT_EQ(found.worst, "y[2]");
}

TEST(Compare, OneSidedNanIsInfinitelyFar) {
  Comparison found = compareOne(tensorOf({1}, {kNan}), tensorOf({1}, {1}));
  EXPECT_TRUE(std::isinf(found.maxDifference));
}

TEST(Compare, NothingComparedIsNotEqual) {
  auto found = compare({}, {{"y", tensorOf({1}, {1})}});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->equal());
}

TEST(Compare, RefusesAbsentAndMisshapenTensors) {
  auto absent = compare({{"y", tensorOf({1}, {1})}}, {});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), ErrorCode::NotFound);
  auto misshapen =
      compare({{"y", tensorOf({1}, {1})}}, {{"y", tensorOf({2}, {1, 1})}});
  ASSERT_FALSE(misshapen);
  EXPECT_EQ(misshapen.error().code(), ErrorCode::InvalidArgument);
}

TEST(CompareWith, TellsOfStatusAndElements) {
  Outcome expected{{{"y", tensorOf({2}, {1, 2})}}, {}};
  Outcome run{{{"y", tensorOf({2}, {1, 3})}}, {}};
  SetOutcome elements;
  compareWith(expected, run, elements);
  EXPECT_EQ(elements.fault, Fault::Different);
  EXPECT_EQ(elements.message, "1 of 2 elements differ, by up to 1 at y[1]");

  run.status = {runtime::kStatusNanLogits, 7, runtime::kStatusNoRow};
  SetOutcome both;
  compareWith(expected, run, both);
  EXPECT_EQ(both.fault, Fault::Status);
  EXPECT_TRUE(both.message.starts_with("status '"));
  EXPECT_TRUE(both.message.ends_with("; " + elements.message)) << both.message;
}

TEST(Rows, AreSpreadFromTheFirstToTheLast) {
  HostTensor whole = tensorOf({2, 5, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto some = sampleRows(whole, {2, 3, 1});
  ASSERT_TRUE(some);
  EXPECT_TRUE(
      compareOne(*some, tensorOf({2, 3, 1}, {0, 2, 4, 5, 7, 9})).equal());
  auto last = sampleRows(whole, {2, 1, 1});
  ASSERT_TRUE(last);
  EXPECT_TRUE(compareOne(*last, tensorOf({2, 1, 1}, {4, 9})).equal());
}

TEST(Rows, RefusesWhatIsNoPart) {
  HostTensor whole = tensorOf({2, 2}, {1, 2, 3, 4});
  EXPECT_FALSE(sampleRows(whole, {1, 1}));
  EXPECT_FALSE(sampleRows(whole, {3, 2}));
  EXPECT_FALSE(sampleRows(whole, {2}));
}

TEST(RandomTensors, ElementsDoNotDependOnHowManyFollow) {
  auto shorter = randomTensor("in.x", DataType::F32, {1, 64}, {});
  auto longer = randomTensor("in.x", DataType::F32, {3001, 64}, {});
  ASSERT_TRUE(shorter && longer);
  EXPECT_EQ(std::memcmp(shorter->data(), longer->data(), shorter->bytes()), 0);
}

TEST(RandomTensors, NamesAndSeedsGiveOtherValues) {
  auto base = randomTensor("a", DataType::F32, {64}, {});
  auto named = randomTensor("b", DataType::F32, {64}, {});
  auto seeded = randomTensor("a", DataType::F32, {64}, {.seed = 2});
  ASSERT_TRUE(base && named && seeded);
  EXPECT_GT(compareOne(*base, *named).different, 60);
  EXPECT_GT(compareOne(*base, *seeded).different, 60);
}

TEST(RandomTensors, HaveTheMomentsAskedFor) {
  constexpr int64_t count = 1 << 16;
  auto tensor =
      randomTensor("x", DataType::F64, {count}, {.scale = 0.5, .mean = 1});
  ASSERT_TRUE(tensor);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = elementAsDouble(*tensor, i);
    sum += x;
    squares += (x - 1) * (x - 1);
  }
  EXPECT_NEAR(sum / count, 1, 0.01);
  EXPECT_NEAR(squares / count, 0.25, 0.01);
}

TEST(RandomTensors, IntegersStayBelowTheirBoundAndReachIt) {
  auto tensor =
      randomTensor("in.tokens", DataType::I64, {1000}, {.intBound = 7});
  ASSERT_TRUE(tensor);
  int64_t largest = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t token = tensor->dataAs<int64_t>()[i];
    EXPECT_GE(token, 0);
    largest = std::max(largest, token);
  }
  EXPECT_EQ(largest, 6);
}

TEST(FusionSets, SwitchEachOnAloneAndOffAlone) {
  std::vector<std::string> chosen;
  for (const FusionSet &set : fusionSets({"a", "b", "c"}))
    chosen.push_back(set.fusion);
  EXPECT_EQ(chosen, std::vector<std::string>({"none", "a", "b", "c", "all,-a",
                                              "all,-b", "all,-c", "all"}));
}

TEST(RandomGraphs, DependOnTheSeedAlone) {
  EXPECT_EQ(makeRandomGraph(7).text(), makeRandomGraph(7).text());
  EXPECT_NE(makeRandomGraph(7).text(), makeRandomGraph(8).text());
}

int64_t countOps(const GraphRecipe &recipe, std::string_view op) {
  return std::ranges::count(recipe.nodes, op, &GraphRecipe::Node::op);
}

// A "fault" that any softmax has: what is left is one softmax of an argument.
TEST(Minimize, LeavesTheOpThatFails) {
  uint64_t seed = 1;
  auto fails = [](const GraphRecipe &recipe) {
    return countOps(recipe, "graph.softmax") > 0;
  };
  GraphRecipe recipe;
  do {
    recipe = makeRandomGraph(seed++);
    recipe.prune();
  } while (!fails(recipe));
  ASSERT_GT(recipe.nodes.size(), 1U);
  const GraphRecipe small = minimize(recipe, fails);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small.results.size(), 1U);
  EXPECT_LT(small.nodes.size(), recipe.nodes.size());
  EXPECT_TRUE(Graph::parse(small.text()));
}

} // namespace
