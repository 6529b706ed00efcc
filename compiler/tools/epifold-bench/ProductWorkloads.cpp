// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds the graphs of products as a model author would, one branch a batch
// entry or an expert.

#include "ProductWorkloads.h"

#include <algorithm>
#include <cmath>

namespace epifold::tools {
namespace {

DataType computeType(DataType type) {
  return type == DataType::F64 ? DataType::F64 : DataType::F32;
}

/// 16-bit results need no more than their own accuracy.
std::optional<MathAccuracy> accuracyFor(DataType type) {
  return type == DataType::BF16 ? std::optional(MathAccuracy::BF16)
                                : std::nullopt;
}

/// silu and the product in the compute type, one rounding.
GraphValue swiglu(GraphBuilder &b, GraphValue gate, GraphValue up,
                  DataType type, std::optional<MathAccuracy> accuracy) {
  DataType compute = computeType(type);
  GraphValue activated = b.silu(b.cast(gate, compute), accuracy);
  return b.cast(b.mul(activated, b.cast(up, compute)), type);
}

/// The sizes' product as an element count that memory could hold.
std::optional<Error>
checkSizes(std::initializer_list<std::vector<int64_t>> shapes) {
  constexpr int64_t kMost = int64_t(1) << 40;
  for (const std::vector<int64_t> &shape : shapes) {
    Expected<int64_t> elements = runtime::elementCount(shape);
    if (!elements || *elements > kMost)
      return Error(ErrorCode::InvalidArgument,
                   "a tensor of " + runtime::describe(DataType::F32, shape) +
                       " does not fit any memory");
  }
  return std::nullopt;
}

Expected<Workload>
finish(GraphBuilder &b, std::string name, nlohmann::ordered_json shape,
       DataType type, double flops,
       std::initializer_list<std::string_view> convolutions = {}) {
  Expected<Graph> graph = b.finish();
  if (!graph)
    return graph.error();
  std::vector<WorkloadArgument> arguments =
      argumentsOf(*graph, 0, 0, convolutions);
  Workload workload{std::move(name),   std::move(shape),     type,
                    std::move(*graph), std::move(arguments), flops};
  workload.leastBytes = bytesOfSignature(workload, 0);
  return workload;
}

/// Sets of weights of `bytes` each that together are four times the largest L2
/// of today, so that none is still there when its turn comes again.
int64_t copiesFor(double bytes) {
  constexpr double kBytes = 4 * 50e6;
  return std::max<int64_t>(
      2, static_cast<int64_t>(std::ceil(kBytes / std::max(bytes, 1.0))));
}

/// Each expert's rows of a set of tokens. Those that the product is not to
/// gather get another sign on the way: a launch of its own writes them.
std::vector<GraphValue> expertRows(GraphBuilder &b, const GroupedProduct &p,
                                   GraphValue routing,
                                   const std::string &number) {
  GraphValue x = b.input("in.x" + number, p.type, {p.tokens, p.k});
  std::vector<GraphValue> rows;
  for (int64_t e = 0; e < p.experts; ++e) {
    GraphValue gathered = b.dispatch(x, routing, e);
    rows.push_back(p.gather ? gathered : b.neg(gathered));
  }
  return rows;
}

/// One expert's rows times its weights.
GraphValue expertProduct(GraphBuilder &b, const GroupedProduct &p,
                         GraphValue rows, GraphValue weight) {
  if (p.products == 1)
    return b.matmul(rows, weight);
  return swiglu(b, b.matmul(rows, b.slice(weight, 0, 0, p.n)),
                b.matmul(rows, b.slice(weight, 0, p.n)), p.type,
                accuracyFor(p.type));
}

} // namespace

Expected<Workload> makeWorkload(const GemmProduct &p) {
  bool gated = p.epilogue == Epilogue::Swiglu;
  int64_t columns = gated ? 2 * p.n : p.n;
  if (auto error = checkSizes({{p.batch, p.m, p.k},
                               {p.batch, columns, p.k},
                               {p.batch, p.m, columns}}))
    return *error;
  DataType compute = computeType(p.type);
  auto accuracy = p.accuracy ? p.accuracy : accuracyFor(p.type);
  GraphBuilder b;
  bool batched = p.batch > 1;
  auto shaped = [&](std::vector<int64_t> shape) {
    if (batched)
      shape.insert(shape.begin(), p.batch);
    return shape;
  };
  GraphValue x = b.input("in.x", p.type, shaped({p.m, p.k}));
  GraphValue w = b.parameter("w.w", p.type, shaped({columns, p.k}));
  GraphValue bias;
  if (p.epilogue == Epilogue::BiasGelu)
    bias = b.parameter("w.bias", p.type, {p.n});
  std::vector<GraphValue> results;
  for (int64_t i = 0; i < p.batch; ++i) {
    GraphValue rows = batched ? b.select(x, 0, i) : x;
    GraphValue weight = batched ? b.select(w, 0, i) : w;
    switch (p.epilogue) {
    case Epilogue::None:
      results.push_back(b.matmul(rows, weight));
      break;
    case Epilogue::BiasGelu: {
      GraphValue sum =
          b.add(b.matmul(rows, weight, compute), b.cast(bias, compute));
      results.push_back(b.cast(b.gelu(sum, accuracy), p.type));
      break;
    }
    case Epilogue::Swiglu:
      results.push_back(swiglu(b, b.matmul(rows, b.slice(weight, 0, 0, p.n)),
                               b.matmul(rows, b.slice(weight, 0, p.n)), p.type,
                               accuracy));
      break;
    }
  }
  b.result("out.y", batched ? b.stack(results) : results.front());
  nlohmann::ordered_json shape = {
      {"m", p.m}, {"n", p.n}, {"k", p.k}, {"batch", p.batch}};
  if (p.epilogue != Epilogue::None)
    shape["epilogue"] = gated ? "swiglu" : "bias-gelu";
  return finish(b, "gemm", std::move(shape), p.type,
                2 * productOf({p.batch, p.m, columns, p.k}));
}

Expected<Workload> makeWorkload(const ConvProduct &p) {
  if (auto error = checkSizes({{p.batch, p.tokens, p.width},
                               {p.experts, p.width, p.width, p.kernel},
                               {p.experts, p.batch, p.tokens, p.width}}))
    return *error;
  GraphBuilder b;
  GraphValue x = b.input("in.x", p.type, {p.batch, p.tokens, p.width});
  GraphValue w =
      b.parameter("w.conv", p.type, {p.experts, p.width, p.width, p.kernel});
  std::vector<GraphValue> results;
  for (int64_t e = 0; e < p.experts; ++e)
    results.push_back(b.causalConv1d(x, b.select(w, 0, e), p.dilation));
  b.result("out.y", b.stack(results));
  return finish(
      b, "conv",
      {{"batch", p.batch},
       {"tokens", p.tokens},
       {"width", p.width},
       {"experts", p.experts},
       {"kernel", p.kernel},
       {"dilation", p.dilation}},
      p.type,
      2 * productOf({p.experts, p.batch, p.tokens, p.width, p.width, p.kernel}),
      {"w.conv"});
}

Expected<Workload> makeWorkload(const GroupedProduct &p) {
  int64_t columns = p.products * p.n;
  if (auto error = checkSizes({{p.tokens, p.topk, std::max(p.k, columns)},
                               {p.experts, columns, p.k}}))
    return *error;
  Expected<runtime::HostTensor> choices =
      chooseExperts(p.tokens, p.topk, p.experts, p.skew, p.seed);
  if (!choices)
    return choices.error();
  auto elementBytes = static_cast<double>(byteSize(p.type));
  int64_t chosen = countChosen(*choices, p.experts);
  double weightBytes = productOf({chosen, columns, p.k}) * elementBytes;
  int64_t copies = p.copies ? p.copies : copiesFor(weightBytes);

  GraphBuilder b;
  GraphValue index = b.input("in.index", DataType::I32, {p.tokens, p.topk});
  GraphValue routing = b.route(index, p.experts).routing;
  // All rows, then all products, then all that follows: what is timed is one
  // stretch of launches.
  std::vector<std::vector<GraphValue>> rows, products;
  for (int64_t i = 0; i < copies; ++i)
    rows.push_back(i == 0 || p.gather
                       ? expertRows(b, p, routing, std::to_string(i))
                       : rows.front());
  for (int64_t i = 0; i < copies; ++i) {
    GraphValue w = b.parameter("w.w" + std::to_string(i), p.type,
                               {p.experts, columns, p.k});
    std::vector<GraphValue> &ofExperts = products.emplace_back();
    for (int64_t e = 0; const GraphValue &row : rows[static_cast<size_t>(i)])
      ofExperts.push_back(expertProduct(b, p, row, b.select(w, 0, e++)));
  }
  for (int64_t i = 0; i < copies; ++i)
    b.result("out.y" + std::to_string(i),
             b.combine(routing, products[static_cast<size_t>(i)]));

  Expected<Workload> workload =
      finish(b, p.name,
             {{"tokens", p.tokens},
              {"topk", p.topk},
              {"experts", p.experts},
              {"n", p.n},
              {"k", p.k},
              {"products", p.products},
              {"gather", p.gather},
              {"skew", describe(p.skew)},
              {"chosen", chosen}},
             p.type, 2 * productOf({p.tokens, p.topk, columns, p.k}));
  if (!workload)
    return workload;
  workload->copies = copies;
  workload->productsOnly = true;
  double rowsOfA = productOf({p.tokens, p.gather ? 1 : p.topk, p.k});
  workload->leastBytes =
      weightBytes +
      (rowsOfA + productOf({p.tokens, p.topk, p.n})) * elementBytes;
  find(*workload, "in.index").values = std::move(*choices);
  return workload;
}

Expected<Workload> makeCopyWorkload(int64_t bytes) {
  GraphBuilder b;
  // No values change but their signs: nothing to compute.
  b.result("out.y",
           b.neg(b.input("in.x", DataType::F32, {bytes / 4096, 1024})));
  return finish(b, "copy", {{"bytes", bytes}}, DataType::F32, 0);
}

} // namespace epifold::tools
