// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Workloads: what they count as work, and what they are given.

#include "compiler/tools/epifold-bench/Workload.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

using namespace epifold;
using namespace epifold::tools;

namespace {

const WorkloadArgument &argument(const Workload &workload, const char *name) {
  for (const WorkloadArgument &entry : workload.arguments)
    if (entry.name == name)
      return entry;
  ADD_FAILURE() << "no argument " << name;
  return workload.arguments.front();
}

double deviation(const Workload &workload, const char *name) {
  return argument(workload, name).distribution.deviation;
}

TEST(BenchWorkloadTest, MoeSwiglu) {
  SkewedMoeSwiglu model;
  model.tokens = 5, model.width = 16, model.hidden = 4, model.experts = 3,
  model.topk = 2;
  Expected<Workload> workload = makeWorkload(model, /*dynamic=*/false);
  ASSERT_TRUE(workload) << workload.error().message();
  EXPECT_EQ(*workload->flops, 6 * 5 * 2 * 4 * 16 + 2 * 5 * 16 * 3);
  EXPECT_EQ(workload->shape.dump(),
            R"({"tokens":5,"width":16,"hidden":4,"experts":3,"topk":2})");
  EXPECT_EQ(deviation(*workload, "in.x"), 1);
  EXPECT_EQ(deviation(*workload, "w.router.w"), 0.25);
  EXPECT_EQ(deviation(*workload, "w.gate_up.w"), 0.25);
  EXPECT_EQ(deviation(*workload, "w.down.w"), 0.5);
  EXPECT_EQ(*workload->leastBytes,
            4 * (5 * 16 + 3 * 16 + 3 * 8 * 16 + 3 * 16 * 4 + 5 * 16));
}

TEST(BenchWorkloadTest, ExpertConvFold) {
  ExpertConvFoldModel model;
  model.experts = 2, model.tokens = 7, model.width = 3, model.kernel = 5;
  Expected<Workload> workload = makeWorkload(model, /*dynamic=*/false);
  ASSERT_TRUE(workload) << workload.error().message();
  EXPECT_EQ(*workload->flops, 2 * 2 * 7 * 3 * 3 * 5);
  EXPECT_EQ(deviation(*workload, "w.conv"), 1 / std::sqrt(15.0));
}

TEST(BenchWorkloadTest, ClmConvMoe) {
  ClmConvMoeModel model;
  model.batch = 2, model.tokens = 5, model.width = 4, model.experts = 3,
  model.vocab = 11;
  Expected<Workload> workload = makeWorkload(model, /*dynamic=*/false);
  ASSERT_TRUE(workload) << workload.error().message();
  // Five convolutions of three taps, the router and the readout.
  EXPECT_EQ(*workload->flops, 2 * 10 * (5 * 3 * 4 * 4 + 4 * 3 + 4 * 11));
  EXPECT_EQ(argument(*workload, "in.tokens").shape, (runtime::Shape{2, 6}));
  EXPECT_EQ(argument(*workload, "in.tokens").distribution.limit, 11);
  EXPECT_EQ(deviation(*workload, "w.expert.w"), 1 / std::sqrt(12.0));
  EXPECT_EQ(deviation(*workload, "w.emb"), 1);
  EXPECT_EQ(argument(*workload, "w.gn2.g").distribution.mean, 1);
}

TEST(BenchWorkloadTest, DynamicGraphsRunWithTheSameShapes) {
  Expected<Workload> fixed = makeWorkload(ClmConvMoeModel(), false);
  Expected<Workload> open = makeWorkload(ClmConvMoeModel(), true);
  ASSERT_TRUE(fixed && open);
  EXPECT_EQ(fixed->graph.signature()[0].shape, (runtime::Shape{1, 17}));
  EXPECT_EQ(open->graph.signature()[0].shape, (runtime::Shape{1, kDynamic}));
  EXPECT_EQ(argument(*open, "in.tokens").shape,
            argument(*fixed, "in.tokens").shape);
  EXPECT_EQ(open->flops, fixed->flops);
}

TEST(BenchWorkloadTest, GraphFilesNeedSizesForDynamicDimensions) {
  std::string path = testing::TempDir() + "bench-workload.mlir";
  Expected<Workload> model = makeWorkload(SkewedMoeSwiglu(), true);
  ASSERT_TRUE(model);
  std::ofstream(path) << model->graph.toText();

  Expected<Workload> unsized = makeWorkload(GraphFile{path});
  ASSERT_FALSE(unsized);
  EXPECT_NE(unsized.error().message().find("'in.x'"), std::string::npos);

  Expected<Workload> sized = makeWorkload(GraphFile{path, 9});
  ASSERT_TRUE(sized) << sized.error().message();
  EXPECT_EQ(sized->shape.dump(), R"({"in.x":[9,64]})");
  EXPECT_FALSE(sized->flops);
  std::remove(path.c_str());
  EXPECT_FALSE(makeWorkload(GraphFile{path, 9}));
}

TEST(BenchWorkloadTest, ArgumentsAreDrawnToTheirShapes) {
  Expected<Workload> workload = makeWorkload(ClmConvMoeModel(), false);
  ASSERT_TRUE(workload);
  Expected<runtime::TensorMap> tensors = drawArguments(*workload);
  ASSERT_TRUE(tensors);
  ASSERT_EQ(tensors->size(), workload->arguments.size());
  for (const WorkloadArgument &entry : workload->arguments) {
    EXPECT_EQ(tensors->at(entry.name).shape(), entry.shape);
    EXPECT_EQ(tensors->at(entry.name).type(), entry.type);
  }
  // Each has numbers of its own.
  EXPECT_NE(elementAsDouble(tensors->at("w.c0.w"), 0),
            elementAsDouble(tensors->at("w.c1.w"), 0));
}

} // namespace
