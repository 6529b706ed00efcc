// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds graphs from C++, one call an op.

#ifndef EPIFOLD_GRAPHBUILDER_H
#define EPIFOLD_GRAPHBUILDER_H

#include "epifold/Graph.h"

#include <optional>

namespace epifold {

/// A value of the graph under construction; valid until `finish`.
class GraphValue {
public:
  GraphValue() = default;
  explicit GraphValue(const void *handle) : handle_(handle) {}
  const void *handle() const { return handle_; }

private:
  const void *handle_ = nullptr;
};

/// How accurate a portable transcendental is.
enum class MathAccuracy { BF16, F32, F64 };

/// Builds one graph. Types and shapes of results follow from the operands; what
/// does not fit is reported by `finish`, with the op and what it found.
///
/// ```
/// GraphBuilder b;
/// GraphValue x = b.input("in.x", DataType::BF16, {kDynamic, 64});
/// GraphValue w = b.parameter("w.proj", DataType::BF16, {32, 64});
/// b.result("out.y", b.silu(b.matmul(x, w)));
/// Expected<Graph> graph = b.finish();
/// ```
class GraphBuilder {
public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder &) = delete;
  GraphBuilder &operator=(const GraphBuilder &) = delete;

  GraphValue input(const std::string &name, DataType type,
                   const std::vector<int64_t> &shape);
  GraphValue parameter(const std::string &name, DataType type,
                       const std::vector<int64_t> &shape);
  void result(const std::string &name, GraphValue value);

  /// A scalar, which broadcasts.
  GraphValue scalar(double value, DataType type);

  // Views.
  GraphValue select(GraphValue x, int64_t dim, int64_t index);
  GraphValue slice(GraphValue x, int64_t dim, int64_t begin,
                   std::optional<int64_t> end = std::nullopt);
  GraphValue reshape(GraphValue x, const std::vector<int64_t> &shape);
  GraphValue transpose(GraphValue x, const std::vector<int64_t> &permutation);
  GraphValue stack(const std::vector<GraphValue> &values);
  GraphValue concat(const std::vector<GraphValue> &values, int64_t dim);

  // Elementwise; operands broadcast as in NumPy.
  GraphValue cast(GraphValue x,
                  DataType type); ///< Returns x itself when it has the type.
  GraphValue add(GraphValue a, GraphValue b);
  GraphValue sub(GraphValue a, GraphValue b);
  GraphValue mul(GraphValue a, GraphValue b);
  GraphValue div(GraphValue a, GraphValue b);
  GraphValue max(GraphValue a, GraphValue b);
  GraphValue min(GraphValue a, GraphValue b);
  GraphValue neg(GraphValue x);
  GraphValue relu(GraphValue x);
  GraphValue exp(GraphValue x,
                 std::optional<MathAccuracy> accuracy = std::nullopt);
  GraphValue tanh(GraphValue x,
                  std::optional<MathAccuracy> accuracy = std::nullopt);
  GraphValue sigmoid(GraphValue x,
                     std::optional<MathAccuracy> accuracy = std::nullopt);
  GraphValue silu(GraphValue x,
                  std::optional<MathAccuracy> accuracy = std::nullopt);
  GraphValue gelu(GraphValue x,
                  std::optional<MathAccuracy> accuracy = std::nullopt);

  // Products; `type` is the result's element type, the operands' by default.
  GraphValue matmul(GraphValue x, GraphValue w,
                    std::optional<DataType> type = std::nullopt);
  GraphValue causalConv1d(GraphValue x, GraphValue w, int64_t dilation,
                          std::optional<DataType> type = std::nullopt);

  // Rows, norms, losses.
  GraphValue embedding(GraphValue indices, GraphValue table);
  GraphValue softmax(GraphValue x);
  GraphValue reduceSum(GraphValue x, int64_t dim, bool keepDim,
                       bool ascending = false);
  GraphValue groupNorm(GraphValue x, GraphValue scale, GraphValue bias,
                       int64_t groups = 1, double epsilon = 1e-5);
  GraphValue layerNorm(GraphValue x, GraphValue scale, GraphValue bias,
                       double epsilon = 1e-5);
  GraphValue rmsNorm(GraphValue x, GraphValue scale, double epsilon = 1e-6);
  GraphValue crossEntropy(GraphValue logits, GraphValue targets);

  // Routing.
  struct TopK {
    GraphValue values, indices;
  };
  TopK topK(GraphValue x, int64_t k);
  struct Routing {
    GraphValue routing, counts;
  };
  Routing route(GraphValue indices, int64_t experts);
  GraphValue dispatch(GraphValue x, GraphValue routing,
                      std::optional<int64_t> expert = std::nullopt);
  GraphValue dispatchSlot(GraphValue x, GraphValue routing,
                          std::optional<int64_t> expert = std::nullopt);
  GraphValue combine(GraphValue routing, const std::vector<GraphValue> &rows);

  /// Verifies and returns the graph; the builder is then empty.
  Expected<Graph> finish();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace epifold

#endif // EPIFOLD_GRAPHBUILDER_H
