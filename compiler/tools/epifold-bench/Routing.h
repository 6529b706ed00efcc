// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses experts for tokens: evenly, at random, or far from evenly.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_ROUTING_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_ROUTING_H

#include "epifold/runtime/Tensor.h"

#include <cstdint>
#include <string>

namespace epifold::tools {

/// How tokens are spread over experts.
struct Skew {
  enum class Kind {
    Random, ///< Every choice is as likely.
    Even,   ///< As equal as it can be.
    Zipf,   ///< Expert e is chosen with a weight of 1 / (e + 1).
    One,    ///< All tokens choose the same experts, the others have no rows.
    Sizes   ///< As a file says.
  };
  Kind kind = Kind::Random;
  std::string file; ///< Of Sizes: one number of rows an expert, in order.
};

/// "random", "even", "zipf" and "one"; anything else is the name of a file.
Skew parseSkew(const std::string &text);
std::string describe(const Skew &skew);

/// i32 [tokens, topk]: the experts of each token, all different, in an order of
/// tokens that does not follow the experts. Errors: topk above experts; a file
/// that cannot be read, or whose numbers are not one an expert that add up to
/// the tokens; a file with topk above 1.
Expected<runtime::HostTensor> chooseExperts(int64_t tokens, int64_t topk,
                                            int64_t experts, const Skew &skew,
                                            uint64_t seed);

/// How many experts of `choices` have a token.
int64_t countChosen(const runtime::HostTensor &choices, int64_t experts);

/// The leading columns of tokens and of a router's weights that make its top-k
/// choose by `skew`. Experts are taken in groups of `topk`, the last of which
/// may share some with the first; a token's columns name its group.
struct RouterColumns {
  runtime::HostTensor tokens; ///< [tokens, groups]
  runtime::HostTensor router; ///< [experts, groups]
};

/// Errors: fewer columns than groups of experts; a skew from a file.
Expected<RouterColumns> routerColumns(int64_t tokens, int64_t topk,
                                      int64_t experts, int64_t width,
                                      DataType type, const Skew &skew,
                                      uint64_t seed);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_ROUTING_H
