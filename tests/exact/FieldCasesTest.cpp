// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What has broken mixture-of-experts code in the field, under every set of
// fusions: experts without tokens, an expert with all of them, odd sizes, ties,
// tokens in error, memory that nothing wrote.

#include "tests/exact/Check.h"
#include "tests/exact/RandomTensors.h"
#include "tests/exact/Rows.h"

#include "epifold/Compiler.h"
#include "epifold/Models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace epifold;
using namespace epifold::exact;
using runtime::HostTensor;
using runtime::TensorMap;

namespace {

/// Changes an f64 tensor of shape [rows, columns].
using Edit = std::function<void(double *, int64_t rows, int64_t columns)>;

struct Layer {
  Graph graph;
  TensorMap inputs;
};

/// A mixture of experts with random inputs, of which `edits` change some.
Layer makeLayer(const MoeSwigluModel &model,
                const std::map<std::string, Edit> &edits = {}) {
  auto graph = buildModel(model);
  EXPECT_TRUE(graph) << graph.error().message();
  TensorMap inputs;
  for (const TensorSignature &entry : graph->signature()) {
    if (entry.kind == TensorSignature::Kind::Result)
      continue;
    RandomSpec spec;
    if (entry.kind == TensorSignature::Kind::Parameter)
      spec.scale = 1 / std::sqrt(static_cast<double>(entry.shape.back()));
    runtime::Shape shape = entry.shape;
    for (int64_t &size : shape)
      size = size == kDynamic ? 45 : size;
    auto tensor = randomTensor(entry.name, DataType::F64, shape, spec);
    EXPECT_TRUE(tensor);
    if (auto edit = edits.find(entry.name); edit != edits.end())
      edit->second(reinterpret_cast<double *>(tensor->mutableData()),
                   tensor->elements() / shape.back(), shape.back());
    inputs.emplace(entry.name, *castTensor(*tensor, entry.type));
  }
  return {std::move(*graph), std::move(inputs)};
}

/// Holds every fusion set to the bits of the reference, whose results it
/// returns.
TensorMap expectExact(const Layer &layer) {
  auto report = checkGraph(layer.graph, layer.inputs, fusionSets(fusionNames()),
                           Evaluator());
  EXPECT_TRUE(report) << report.error().message();
  if (!report)
    return {};
  if (const SetOutcome *fault = report->findFault())
    ADD_FAILURE() << "fusion " << fault->label << ": " << fault->message;
  return report->reference;
}

std::vector<double> valuesOf(const HostTensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    values.push_back(elementAsDouble(tensor, i));
  return values;
}

void expectNoNan(const HostTensor &tensor) {
  for (double value : valuesOf(tensor))
    ASSERT_FALSE(std::isnan(value));
}

/// Makes the logits of every token the same: `logits[e]` for expert e.
std::map<std::string, Edit> withLogits(const std::vector<double> &logits) {
  return {{"in.x",
           [](double *x, int64_t rows, int64_t columns) {
             for (int64_t row = 0; row < rows; ++row)
               x[row * columns] = 1;
           }},
          {"w.router.w", [logits](double *w, int64_t rows, int64_t columns) {
             std::fill(w, w + rows * columns, 0.0);
             for (int64_t expert = 0; expert < rows; ++expert)
               w[expert * columns] = logits[expert];
           }}};
}

class FieldCases : public testing::TestWithParam<DataType> {
protected:
  static MoeSwigluModel model(int64_t tokens = 45) {
    return {.tokens = tokens, .width = 33, .hidden = 31, .type = GetParam()};
  }
};

TEST_P(FieldCases, ExpertsWithoutTokens) {
  TensorMap results =
      expectExact(makeLayer(model(), withLogits({0, 0, 0, 3, 0, 0, 2, 0})));
  EXPECT_EQ(valuesOf(results.at("out.tokens_per_expert")),
            std::vector<double>({0, 0, 0, 45, 0, 0, 45, 0}));
  expectNoNan(results.at("out.y"));
}

TEST_P(FieldCases, OneExpertTakesAllTokens) {
  MoeSwigluModel one = model();
  one.topk = 1;
  TensorMap results =
      expectExact(makeLayer(one, withLogits({0, 0, 0, 0, 0, 0, 0, 9})));
  EXPECT_EQ(valuesOf(results.at("out.tokens_per_expert")),
            std::vector<double>({0, 0, 0, 0, 0, 0, 0, 45}));
  expectNoNan(results.at("out.y"));
}

TEST_P(FieldCases, TiesGoToTheLowerExpert) {
  TensorMap results =
      expectExact(makeLayer(model(5), withLogits({1, 2, 2, 1, 2, 2, 1, 1})));
  EXPECT_EQ(valuesOf(results.at("out.topk_index")),
            std::vector<double>({1, 2, 1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_P(FieldCases, TokenCountsThatNoTileDivides) {
  for (int64_t tokens : {1, 2, 45, 129})
    expectNoNan(expectExact(makeLayer(model(tokens))).at("out.y"));
}

TEST_P(FieldCases, NoTokenAtAll) {
  MoeSwigluModel any = model(kDynamic);
  Layer layer = makeLayer(any);
  layer.inputs.at("in.x") = *HostTensor::allocate(GetParam(), {0, 33});
  TensorMap results = expectExact(layer);
  EXPECT_EQ(results.at("out.y").shape(), runtime::Shape({0, 33}));
  EXPECT_EQ(valuesOf(results.at("out.tokens_per_expert")),
            std::vector<double>(8, 0));
}

TEST_P(FieldCases, MoreExpertsThanTokensAndThanAByteNumbers) {
  TensorMap results = expectExact(makeLayer({.tokens = 7,
                                             .width = 12,
                                             .hidden = 5,
                                             .experts = 512,
                                             .topk = 10,
                                             .type = GetParam()}));
  expectNoNan(results.at("out.y"));
  double largest = 0;
  for (double index : valuesOf(results.at("out.topk_index")))
    largest = std::max(largest, index);
  EXPECT_GT(largest, 255);
}

TEST_P(FieldCases, RowsOfNoPieceOf16Bytes) {
  for (auto [width, hidden] : {std::pair(1, 1), std::pair(7, 3),
                               std::pair(65, 66), std::pair(100, 36)})
    expectNoNan(expectExact(makeLayer({.tokens = 13,
                                       .width = width,
                                       .hidden = hidden,
                                       .type = GetParam()}))
                    .at("out.y"));
}

// The token in error has no rows, so that those past the last expert's are
// never written; nothing of them may reach another token.
TEST_P(FieldCases, TokenInErrorLeavesItsNeighboursBits) {
  constexpr int64_t wrong = 7;
  const TensorMap clean = expectExact(makeLayer(model()));
  Layer layer =
      makeLayer(model(), {{"in.x", [](double *x, int64_t, int64_t columns) {
                             x[wrong * columns + 2] =
                                 std::numeric_limits<double>::quiet_NaN();
                           }}});
  const TensorMap results = expectExact(layer);
  auto reference = evaluate(layer.graph, layer.inputs);
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->status.firstNanRow, wrong);
  const std::vector<double> before = valuesOf(clean.at("out.y")),
                            after = valuesOf(results.at("out.y"));
  for (size_t i = 0; i < after.size(); ++i) {
    if (static_cast<int64_t>(i) / 33 == wrong)
      EXPECT_TRUE(std::isnan(after[i])) << i;
    else
      EXPECT_EQ(after[i], before[i]) << i;
  }
}

// A row has the bits that it has alone, wherever in the batch it stands.
TEST_P(FieldCases, RowsAloneAreRowsInTheBatch) {
  Layer batch = makeLayer(model());
  const TensorMap whole = expectExact(batch);
  for (int64_t rows : {1, 3}) {
    Layer alone = makeLayer(model(rows));
    alone.inputs.at("in.x") = *sampleRows(batch.inputs.at("in.x"), {rows, 33});
    const TensorMap part = expectExact(alone);
    for (const char *name : {"out.y", "out.topk_weight", "out.topk_index"}) {
      auto found =
          compare({{name, part.at(name)}},
                  {{name, *sampleRows(whole.at(name), part.at(name).shape())}});
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->equal()) << name << " of " << rows << " rows";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FieldCases,
                         testing::Values(DataType::F32, DataType::BF16,
                                         DataType::F16, DataType::F64),
                         [](const auto &info) {
                           return std::string(name(info.param));
                         });

} // namespace
