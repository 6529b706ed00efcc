// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Workloads of products alone: dense, grouped by expert, convolutions.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_PRODUCTWORKLOADS_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_PRODUCTWORKLOADS_H

#include "Routing.h"
#include "Workload.h"
#include "epifold/GraphBuilder.h"

namespace epifold::tools {

/// What follows a product in the same launch when it is fused.
enum class Epilogue {
  None,
  BiasGelu, ///< gelu(x·wᵀ + bias)
  Swiglu,   ///< silu(x·gateᵀ) · (x·upᵀ), which are two products
};

/// `y[b] = epilogue(x[b]·w[b]ᵀ)` with x [batch, m, k] and w [batch, n, k].
struct GemmProduct {
  int64_t m = 4096, n = 4096, k = 4096, batch = 1;
  Epilogue epilogue = Epilogue::None;
  /// Of the epilogue's function; empty: of the element type.
  std::optional<MathAccuracy> accuracy;
  DataType type = DataType::F32;
};

/// `experts` causal convolutions of x [batch, tokens, width], to as many
/// channels.
struct ConvProduct {
  int64_t batch = 1, tokens = 512, width = 1536, experts = 1, kernel = 3,
          dilation = 1;
  DataType type = DataType::F32;
};

/// Each token's row times the weights of its `topk` experts [n, k]; with two
/// `products` those of gate and up, joined by SwiGLU.
struct GroupedProduct {
  std::string name = "grouped"; ///< Of the workload.
  int64_t tokens = 8192, topk = 1, experts = 8, n = 4096, k = 4096,
          products = 1;
  /// Whether the product finds its rows among the tokens, or in order.
  bool gather = false;
  Skew skew;
  uint64_t seed = 0;
  /// Sets of weights that take turns; 0: as many as the L2 cannot hold the
  /// chosen experts of.
  int64_t copies = 1;
  DataType type = DataType::F32;
};

/// Errors: sizes that do not fit each other or overflow, and those of
/// `chooseExperts`. Of a grouped product the products are timed, not the
/// routing before nor the combination of rows after them.
Expected<Workload> makeWorkload(const GemmProduct &product);
Expected<Workload> makeWorkload(const ConvProduct &product);
Expected<Workload> makeWorkload(const GroupedProduct &product);

/// Reads and writes a tensor of `bytes` bytes once each: what memory can do.
Expected<Workload> makeCopyWorkload(int64_t bytes);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_PRODUCTWORKLOADS_H
