// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tuning files: what is read, refused and written, and what a compilation makes
// of one.

#include "epifold/Compiler.h"
#include "epifold/Models.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace epifold;

namespace {

TuningEntry entry(const std::string &product, int64_t rows) {
  return {product, "sm_90a", rows, "a schedule", 1.5, 2, "a \"chip\""};
}

TEST(TuningTest, TextIsSortedAndReadBack) {
  Tuning tuning;
  tuning.add(entry("b", 7));
  tuning.add(entry("a", 9));
  tuning.add(entry("a", 8));
  std::string text = tuning.toText();
  Expected<Tuning> read = Tuning::parse(text, "t.json");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->entries.size(), 3u);
  EXPECT_EQ(read->entries[0].product, "a");
  EXPECT_EQ(read->entries[0].rows, 8);
  EXPECT_EQ(read->entries[2].product, "b");
  EXPECT_EQ(read->entries[2].schedule, "a schedule");
  EXPECT_EQ(read->entries[2].ms, 1.5);
  EXPECT_EQ(read->entries[2].defaultMs, 2);
  EXPECT_EQ(read->entries[2].device, "a \"chip\"");
  EXPECT_EQ(read->toText(), text);
}

TEST(TuningTest, AnEntryTakesThePlaceOfItsLike) {
  Tuning tuning;
  tuning.add(entry("a", 8));
  TuningEntry later = entry("a", 8);
  later.schedule = "another";
  tuning.add(later);
  ASSERT_EQ(tuning.entries.size(), 1u);
  EXPECT_EQ(tuning.entries[0].schedule, "another");
}

TEST(TuningTest, RefusalsSayWhy) {
  auto refusal = [](const char *text) {
    Expected<Tuning> read = Tuning::parse(text, "t.json");
    return read ? "read" : read.error().message();
  };
  EXPECT_EQ(refusal("[1"), "t.json: is not a JSON object");
  EXPECT_EQ(refusal("{}"),
            "t.json: is no tuning file: it has no \"epifold_tuning\"");
  EXPECT_EQ(refusal(R"({"epifold_tuning": 99, "schedules": []})"),
            "t.json: has version 99 of tuning files, and this compiler reads "
            "version 1: tune again");
  EXPECT_EQ(refusal(R"({"epifold_tuning": 1})"),
            "t.json: has no list \"schedules\"");
  EXPECT_EQ(refusal(R"({"epifold_tuning": 1, "schedules": [3]})"),
            "t.json: entry 0 is not an object");
  EXPECT_EQ(
      refusal(
          R"({"epifold_tuning": 1, "schedules": [{"product": 3, "target": ""}]})"),
      "t.json: entry 0 lacks \"product\", \"target\" or \"schedule\", which "
      "are strings");
  EXPECT_EQ(
      refusal(
          R"({"epifold_tuning": 1, "schedules": [{"product": "p", "target": "t", "schedule": "s", "rows": 0}]})"),
      "t.json: entry 0 lacks \"rows\", a number of at least 1");
}

/// A layer whose two products have rows of experts, and a router.
Graph layer() {
  MoeSwigluModel model;
  model.type = DataType::BF16;
  model.results = ModelResults::Min;
  return *buildModel(model);
}

TEST(TuningTest, ProductsHaveRowsLaunchesAndSchedules) {
  CompileOptions options;
  options.targets = {"sm_90a", "sm_80"};
  options.fusion = "all,-fuse-small-launches"; // The router's stays a launch.
  Graph graph = layer();
  Expected<std::vector<ProductReport>> products = listProducts(graph, options);
  ASSERT_TRUE(products) << products.error().message();
  ASSERT_EQ(products->size(), 6u); // router, gate and up, down; two targets
  EXPECT_EQ((*products)[0].rows, 16);
  EXPECT_EQ((*products)[0].launches, (std::vector<size_t>{0}));
  EXPECT_EQ((*products)[2].rows, 32);
  for (const ProductReport &product : *products) {
    ASSERT_EQ(product.schedules.size(), 1u);
    EXPECT_FALSE(product.schedules[0].isTuned);
    EXPECT_TRUE(
        std::ranges::count(product.candidates, product.schedules[0].schedule));
  }
}

TEST(TuningTest, CompilationsTakeMeasuredSchedules) {
  CompileOptions options;
  options.targets = {"sm_80"};
  Graph graph = layer();
  ProductReport down = listProducts(graph, options)->back();
  Expected<CompiledGraph> byDefault = compile(graph, options);
  for (const std::string &candidate : down.candidates) {
    options.tuning = Tuning();
    options.tuning.add({down.product, "sm_80", *down.rows, candidate});
    Expected<std::vector<ProductReport>> tuned = listProducts(graph, options);
    ASSERT_TRUE(tuned) << tuned.error().message();
    EXPECT_EQ(tuned->back().schedules[0].schedule, candidate);
    EXPECT_TRUE(tuned->back().schedules[0].isTuned);
    Expected<CompiledGraph> compiled = compile(graph, options);
    ASSERT_TRUE(compiled) << compiled.error().message();
    EXPECT_EQ(compiled->executable == byDefault->executable,
              candidate == down.schedules[0].schedule);
  }
}

TEST(TuningTest, CompilationsRefuseSchedulesThatDoNotFit) {
  CompileOptions options;
  options.targets = {"sm_80"};
  Graph graph = layer();
  ProductReport down = listProducts(graph, options)->back();
  options.tuning.add({down.product, "sm_80", *down.rows,
                      "mma 128x64x32 stages=99 raster=8 warps=2x4"});
  Expected<CompiledGraph> compiled = compile(graph, options);
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().message().find("does not fit the product"),
            std::string::npos)
      << compiled.error().message();
}

} // namespace
