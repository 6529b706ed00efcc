// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes the built-in models as a model author would: one branch per expert.

#include "epifold/Models.h"

#include "epifold/GraphBuilder.h"

namespace epifold {
namespace {

/// f64 graphs compute in f64, all others in f32.
DataType computeType(DataType type) {
  return type == DataType::F64 ? DataType::F64 : DataType::F32;
}

/// 16-bit results need no more than their own accuracy.
std::optional<MathAccuracy> accuracyFor(DataType type) {
  if (type == DataType::BF16)
    return MathAccuracy::BF16;
  return std::nullopt;
}

/// A graph has a branch for each expert; more would not be read by anyone.
constexpr int64_t kMaxExperts = 1 << 16;
/// Of any other size. The products of sizes are the graph's to check.
constexpr int64_t kMaxSize = int64_t(1) << 40;

Error tooLarge(const char *name, int64_t size, int64_t limit) {
  return Error(ErrorCode::InvalidArgument,
               std::string(name) + " must be at most " + std::to_string(limit) +
                   ", got " + std::to_string(size));
}

std::optional<Error>
checkSizes(std::initializer_list<std::pair<const char *, int64_t>> sizes,
           int64_t tokens) {
  for (auto [name, size] : sizes) {
    if (size < 1)
      return Error(ErrorCode::InvalidArgument, std::string(name) +
                                                   " must be at least 1, got " +
                                                   std::to_string(size));
    int64_t limit =
        name == std::string_view("experts") ? kMaxExperts : kMaxSize;
    if (size > limit)
      return tooLarge(name, size, limit);
  }
  if (tokens != kDynamic && tokens < 1)
    return Error(ErrorCode::InvalidArgument,
                 "tokens must be at least 1 or '?', got " +
                     std::to_string(tokens));
  if (tokens > kMaxSize)
    return tooLarge("tokens", tokens, kMaxSize);
  return std::nullopt;
}

std::optional<Error> checkFloat(DataType type) {
  if (type == DataType::F64 || type == DataType::F32 ||
      type == DataType::BF16 || type == DataType::F16)
    return std::nullopt;
  return Error(ErrorCode::InvalidArgument,
               "dtype must be f64, f32, bf16 or f16, got " +
                   std::string(name(type)));
}

/// Adds a bias to a finished accumulator, in the compute type, then rounds
/// once.
GraphValue addBias(GraphBuilder &b, GraphValue accumulator, GraphValue bias,
                   DataType type) {
  return b.cast(b.add(accumulator, b.cast(bias, computeType(type))), type);
}

} // namespace

Expected<Graph> buildModel(const ExpertConvFoldModel &m) {
  if (auto error = checkSizes({{"experts", m.experts},
                               {"width", m.width},
                               {"kernel", m.kernel},
                               {"dilation", m.dilation}},
                              m.tokens))
    return *error;
  if (auto error = checkFloat(m.type))
    return *error;
  DataType compute = computeType(m.type);
  GraphBuilder b;
  GraphValue x = b.input("in.x", m.type, {m.tokens, m.width});
  GraphValue conv =
      b.parameter("w.conv", m.type, {m.experts, m.width, m.width, m.kernel});
  GraphValue bias = b.parameter("w.bias", m.type, {m.experts, m.width});
  std::vector<GraphValue> outputs;
  for (int64_t e = 0; e < m.experts; ++e) {
    GraphValue accumulator =
        b.causalConv1d(x, b.select(conv, 0, e), m.dilation, compute);
    outputs.push_back(addBias(b, accumulator, b.select(bias, 0, e), m.type));
  }
  b.result("out.y", b.stack(outputs));
  return b.finish();
}

Expected<Graph> buildModel(const ClmConvMoeModel &m) {
  if (auto error = checkSizes({{"batch", m.batch},
                               {"width", m.width},
                               {"experts", m.experts},
                               {"vocab", m.vocab},
                               {"dilation", m.dilation}},
                              m.tokens))
    return *error;
  if (auto error = checkFloat(m.type))
    return *error;
  DataType type = m.type, compute = computeType(type);
  auto accuracy = accuracyFor(type);
  const int64_t d = m.width, kernel = 3;
  GraphBuilder b;
  GraphValue tokens =
      b.input("in.tokens", DataType::I64,
              {m.batch, m.tokens == kDynamic ? kDynamic : m.tokens + 1});
  GraphValue inputs = b.slice(tokens, 1, 0, -1),
             targets = b.slice(tokens, 1, 1);

  auto conv = [&](GraphValue x, const std::string &name) {
    GraphValue weight = b.parameter("w." + name + ".w", type, {d, d, kernel});
    GraphValue bias = b.parameter("w." + name + ".b", type, {d});
    return addBias(b, b.causalConv1d(x, weight, m.dilation, compute), bias,
                   type);
  };
  auto norm = [&](GraphValue x, const std::string &name) {
    GraphValue scale = b.parameter("w." + name + ".g", type, {d});
    return b.groupNorm(x, scale, b.parameter("w." + name + ".b", type, {d}));
  };

  GraphValue embedded =
      b.embedding(inputs, b.parameter("w.emb", type, {m.vocab, d}));
  GraphValue convolved = conv(embedded, "c0");
  GraphValue normalised = norm(conv(convolved, "c1"), "gn1");
  // The residual: gelu and sum in the compute type, one rounding.
  GraphValue activated = b.gelu(b.cast(normalised, compute), accuracy);
  GraphValue xt = b.cast(b.add(b.cast(convolved, compute), activated), type);

  GraphValue routerWeight = b.parameter("w.router.w", type, {m.experts, d});
  GraphValue routerBias = b.parameter("w.router.b", type, {m.experts});
  GraphValue gates = b.softmax(
      b.add(b.matmul(xt, routerWeight, compute), b.cast(routerBias, compute)));

  GraphValue expertWeight =
      b.parameter("w.expert.w", type, {m.experts, d, d, kernel});
  GraphValue expertBias = b.parameter("w.expert.b", type, {m.experts, d});
  GraphValue sum;
  for (int64_t e = 0; e < m.experts; ++e) {
    GraphValue accumulator =
        b.causalConv1d(xt, b.select(expertWeight, 0, e), m.dilation, compute);
    GraphValue h = addBias(b, accumulator, b.select(expertBias, 0, e), type);
    GraphValue gate = b.slice(gates, 2, e, e + 1);
    GraphValue term =
        b.cast(b.mul(gate, b.gelu(b.cast(h, compute), accuracy)), type);
    sum = e == 0 ? b.cast(term, compute) : b.add(sum, b.cast(term, compute));
  }
  GraphValue y = b.cast(sum, type);

  GraphValue readoutWeight = b.parameter("w.readout.w", type, {m.vocab, d});
  GraphValue readoutBias = b.parameter("w.readout.b", type, {m.vocab});
  GraphValue logits = addBias(
      b, b.matmul(norm(y, "gn2"), readoutWeight, compute), readoutBias, type);
  if (m.results == ModelResults::All) {
    b.result("out.xt", xt);
    b.result("out.router", gates);
    b.result("out.moe", y);
    b.result("out.logits", logits);
  }
  b.result("out.loss", b.crossEntropy(logits, targets));
  return b.finish();
}

Expected<Graph> buildModel(const MoeSwigluModel &m) {
  if (auto error = checkSizes({{"width", m.width},
                               {"hidden", m.hidden},
                               {"experts", m.experts},
                               {"topk", m.topk}},
                              m.tokens))
    return *error;
  if (auto error = checkFloat(m.type))
    return *error;
  if (m.topk > m.experts)
    return Error(ErrorCode::InvalidArgument,
                 "topk = " + std::to_string(m.topk) +
                     " is larger than experts = " + std::to_string(m.experts));
  DataType type = m.type, compute = computeType(type);
  GraphBuilder b;
  GraphValue x = b.input("in.x", type, {m.tokens, m.width});
  GraphValue router = b.parameter("w.router.w", type, {m.experts, m.width});
  GraphValue gateUp =
      b.parameter("w.gate_up.w", type, {m.experts, 2 * m.hidden, m.width});
  GraphValue down =
      b.parameter("w.down.w", type, {m.experts, m.width, m.hidden});

  GraphBuilder::TopK chosen =
      b.topK(b.softmax(b.matmul(x, router, compute)), m.topk);
  GraphValue weights =
      m.renormalise ? b.div(chosen.values,
                            b.reduceSum(chosen.values, 1, /*keepDim=*/true))
                    : chosen.values;
  GraphBuilder::Routing routing = b.route(chosen.indices, m.experts);

  std::vector<GraphValue> outputs;
  for (int64_t e = 0; e < m.experts; ++e) {
    GraphValue rows = b.dispatch(x, routing.routing, e);
    GraphValue weight = b.select(gateUp, 0, e);
    GraphValue gate = b.matmul(rows, b.slice(weight, 0, 0, m.hidden));
    GraphValue up = b.matmul(rows, b.slice(weight, 0, m.hidden));
    // silu and the product in the compute type, one rounding.
    GraphValue activated = b.silu(b.cast(gate, compute), accuracyFor(type));
    GraphValue hidden = b.cast(b.mul(activated, b.cast(up, compute)), type);
    GraphValue product = b.matmul(hidden, b.select(down, 0, e), compute);
    GraphValue scaled =
        b.mul(product, b.dispatchSlot(weights, routing.routing, e));
    outputs.push_back(b.cast(scaled, type));
  }
  if (m.results == ModelResults::All) {
    b.result("out.topk_weight", weights);
    b.result("out.topk_index", chosen.indices);
    b.result("out.tokens_per_expert", routing.counts);
  }
  b.result("out.y", b.combine(routing.routing, outputs));
  return b.finish();
}

} // namespace epifold
