// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reports: every key with its value, and null for what is unknown.

#include "compiler/tools/epifold-bench/Report.h"

#include <gtest/gtest.h>

using namespace epifold;
using namespace epifold::tools;

namespace {

class BenchReportTest : public testing::Test {
protected:
  BenchReportTest() {
    measurement.device = "cuda:1";
    measurement.deviceName = "a \"chip\"";
    measurement.ms = {4, 1, 2, 3};
    measurement.launches = 6;
    measurement.bytes = 1 << 21;
    measurement.flops = 1e9;
    measurement.peakBytes = 3 << 20;
    options.launch = runtime::LaunchMode::Graph;
  }

  nlohmann::json json() const {
    std::string line = jsonLine(workload, options, measurement);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    return nlohmann::json::parse(line);
  }

  Workload workload = *makeWorkload(SkewedMoeSwiglu(), /*dynamic=*/false);
  MeasureOptions options;
  Measurement measurement;
};

TEST_F(BenchReportTest, JsonHasEveryKey) {
  workload.flops = 5e9;
  workload.leastBytes = 1e6;
  measurement.roof = {8, 2};
  EXPECT_EQ(json(), nlohmann::json::parse(R"({
    "workload": "moe_swiglu",
    "shape": {"tokens": 16, "width": 64, "hidden": 32, "experts": 8, "topk": 2},
    "dtype": "f32", "copies": 1, "fusion": "all",
    "math": "portable", "launch": "graph",
    "device": "cuda:1", "device_name": "a \"chip\"",
    "ms": 2.5, "ms_min": 1.0,
    "tflops": 2.0, "peak_tflops": 8.0, "peak_share": 0.25,
    "gbs": 0.4, "copy_gbs": 2.0, "copy_share": 0.2,
    "launches": 6, "bytes": 2097152, "least_bytes": 1000000,
    "peak_bytes": 3145728})"));
}

TEST_F(BenchReportTest, TheCompilersCountStandsInForTheWorkloads) {
  workload.flops.reset();
  EXPECT_EQ(json()["tflops"], 0.4);
}

TEST_F(BenchReportTest, TheUnknownIsNull) {
  workload.flops.reset();
  measurement.flops.reset();
  measurement.bytes.reset();
  workload.leastBytes.reset();
  measurement.device = "reference";
  nlohmann::json line = json();
  for (const char *key :
       {"tflops", "peak_tflops", "peak_share", "gbs", "copy_gbs", "copy_share",
        "bytes", "least_bytes", "launch"}) {
    ASSERT_TRUE(line.contains(key)) << key;
    EXPECT_TRUE(line[key].is_null()) << key;
  }
}

TEST_F(BenchReportTest, TableNamesTheWorkAndItsCost) {
  workload.flops = 5e9;
  std::string text = tableText(workload, options, measurement);
  for (const char *words :
       {"moe_swiglu tokens=16 width=64", "on cuda:1 (a \"chip\"), 4 runs",
        " graph ", " 2.5000 ", " 1.0000 ", " 2 ", " 6 ", " 2.0 ", " 3.0\n"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

TEST(BenchMedianTest, OddAndEvenCounts) {
  EXPECT_EQ(median({5, 1, 2}), 2);
  EXPECT_EQ(median({5, 1, 2, 4}), 3);
  EXPECT_EQ(median({7}), 7);
}

} // namespace
