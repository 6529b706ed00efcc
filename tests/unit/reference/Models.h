// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The workloads as graph text, one branch per expert, written for these tests
// alone.

#ifndef EPIFOLD_TESTS_UNIT_REFERENCE_MODELS_H
#define EPIFOLD_TESTS_UNIT_REFERENCE_MODELS_H

#include <cstdint>
#include <string>

namespace epifold::reference::test {

/// Element types: of activations and weights, and of what they are computed in.
struct Types {
  std::string element, compute;
};

std::string writeFold(const Types &types, int64_t experts, int64_t width,
                      int64_t dilation);
std::string writeClm(const Types &types, int64_t batch, int64_t width,
                     int64_t experts, int64_t vocab, int64_t dilation);
std::string writeMoe(const Types &types, int64_t width, int64_t hidden,
                     int64_t experts, int64_t topk, bool renormalise);

} // namespace epifold::reference::test

#endif
