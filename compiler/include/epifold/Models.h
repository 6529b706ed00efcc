// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graphs of the built-in models, written naively: one branch per expert.

#ifndef EPIFOLD_MODELS_H
#define EPIFOLD_MODELS_H

#include "epifold/Graph.h"

namespace epifold {

/// Which tensors a model's graph returns.
enum class ModelResults {
  All, ///< Every intermediate that the model names.
  Min, ///< The model's own result alone.
};

/// `y[e,t,o] = b[e,o] + Σ_ci Σ_k W[e,o,ci,k] · x[t − dilation·(kernel−1−k),
/// ci]`: `experts` causal convolutions of one input. Input `in.x` [tokens,
/// width]; parameters `w.conv` [experts, width, width, kernel], `w.bias`
/// [experts, width]; result `out.y`.
struct ExpertConvFoldModel {
  int64_t experts = 4, tokens = 24, width = 8, kernel = 3, dilation = 1;
  DataType type = DataType::F32;
  ModelResults results = ModelResults::All;
};
Expected<Graph> buildModel(const ExpertConvFoldModel &model);

/// A routed convolutional language model's block: embedding, two causal
/// convolutions with a normalised residual, a dense mixture of `experts`
/// convolutions, readout and mean next-token cross entropy. Input `in.tokens`
/// [batch, tokens + 1]; results `out.loss` and, with All, `out.xt`,
/// `out.router`, `out.moe`, `out.logits`.
struct ClmConvMoeModel {
  int64_t batch = 1, tokens = 16, width = 8, experts = 4, vocab = 256,
          dilation = 1;
  DataType type = DataType::F32;
  ModelResults results = ModelResults::All;
};
Expected<Graph> buildModel(const ClmConvMoeModel &model);

/// The top-k mixture of SwiGLU experts: p = softmax(x·W_rᵀ), top-k, `y[t] = Σ_k
/// w[t,k] · W_down[e]·(silu(W_gate[e]·x) ⊙ W_up[e]·x)`. Input `in.x` [tokens,
/// width]; parameters `w.router.w` [experts, width], `w.gate_up.w` [experts,
/// 2·hidden, width] (gate rows first), `w.down.w` [experts, width, hidden];
/// results `out.y` and, with All, `out.topk_weight`, `out.topk_index`,
/// `out.tokens_per_expert`.
struct MoeSwigluModel {
  int64_t tokens = 16, width = 64, hidden = 32, experts = 8, topk = 2;
  bool renormalise = true; ///< Divides the chosen weights by their sum.
  DataType type = DataType::F32;
  ModelResults results = ModelResults::All;
};
Expected<Graph> buildModel(const MoeSwigluModel &model);

} // namespace epifold

#endif // EPIFOLD_MODELS_H
