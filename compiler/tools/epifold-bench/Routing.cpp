// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Draws choices of experts with a generator whose numbers are the same
// everywhere.

#include "Routing.h"

#include "compiler/tools/support/ToolSupport.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

namespace epifold::tools {
namespace {

using runtime::HostTensor;
using Generator = std::mt19937_64;

/// In (0, 1]. The distributions of the standard library differ between
/// implementations.
double uniform(Generator &generator) {
  return (static_cast<double>(generator() >> 11) + 1) * 0x1p-53;
}

template <typename T>
void shuffle(std::vector<T> &values, Generator &generator) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[generator() % i]);
}

/// `topk` different experts, each drawn with its weight: those whose
/// exponential clocks ring first.
void drawDistinct(const std::vector<double> &weights, int64_t topk,
                  Generator &generator, int32_t *chosen) {
  std::vector<std::pair<double, int32_t>> rings;
  for (size_t e = 0; e < weights.size(); ++e)
    rings.emplace_back(-std::log(uniform(generator)) / weights[e],
                       static_cast<int32_t>(e));
  std::partial_sort(rings.begin(), rings.begin() + topk, rings.end());
  for (int64_t j = 0; j < topk; ++j)
    chosen[j] = rings[static_cast<size_t>(j)].second;
}

std::vector<double> weightsOf(const Skew &skew, int64_t count) {
  std::vector<double> weights(static_cast<size_t>(count), 1.0);
  if (skew.kind == Skew::Kind::Zipf)
    for (size_t e = 0; e < weights.size(); ++e)
      weights[e] = 1.0 / static_cast<double>(e + 1);
  return weights;
}

/// The number of each expert, as often as the file says.
Expected<std::vector<int32_t>> readSizes(const std::string &path,
                                         int64_t tokens, int64_t experts) {
  Expected<std::string> text = readFile(path);
  if (!text)
    return text.error().withContext(
        "--skew is random, even, zipf, one or a file");
  auto bad = [&](const std::string &what) {
    return Error(ErrorCode::InvalidArgument, path + ": " + what);
  };
  std::istringstream stream(*text);
  std::vector<int32_t> experted;
  int32_t expert = 0;
  for (int64_t size = 0; stream >> size; ++expert) {
    if (size < 0 || size > tokens)
      return bad("expert " + std::to_string(expert) + " has " +
                 std::to_string(size) + " of " + std::to_string(tokens) +
                 " rows");
    experted.insert(experted.end(), static_cast<size_t>(size), expert);
  }
  if (!stream.eof())
    return bad("number " + std::to_string(expert + 1) +
               " is not a whole number");
  if (expert != experts)
    return bad("has " + std::to_string(expert) + " numbers for " +
               std::to_string(experts) + " experts");
  if (static_cast<int64_t>(experted.size()) != tokens)
    return bad("the numbers add up to " + std::to_string(experted.size()) +
               " and not to " + std::to_string(tokens) + " rows");
  return experted;
}

/// A row of experts for each token, by a skew that is none of a file.
std::vector<int32_t> drawRows(int64_t tokens, int64_t topk, int64_t experts,
                              const Skew &skew, Generator &generator) {
  std::vector<int64_t> order(static_cast<size_t>(tokens));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, generator);
  std::vector<double> weights = weightsOf(skew, experts);
  std::vector<int32_t> rows(static_cast<size_t>(tokens * topk));
  for (size_t t = 0; t < order.size(); ++t) {
    int32_t *row = rows.data() + t * static_cast<size_t>(topk);
    bool even = skew.kind == Skew::Kind::Even;
    if (even || skew.kind == Skew::Kind::One)
      for (int64_t j = 0; j < topk; ++j)
        row[j] =
            static_cast<int32_t>(((even ? order[t] * topk : 0) + j) % experts);
    else
      drawDistinct(weights, topk, generator, row);
  }
  return rows;
}

/// An f32 matrix of zeros.
Expected<HostTensor> zeros(int64_t rows, int64_t columns) {
  return HostTensor::allocate(DataType::F32, {rows, columns});
}

void mark(HostTensor &matrix, int64_t row, int64_t column) {
  // Products of 16 stand out of logits that are about normal.
  constexpr float kMark = 4;
  reinterpret_cast<float *>(
      matrix.mutableData())[row * matrix.shape()[1] + column] = kMark;
}

} // namespace

Skew parseSkew(const std::string &text) {
  for (Skew::Kind kind : {Skew::Kind::Random, Skew::Kind::Even,
                          Skew::Kind::Zipf, Skew::Kind::One})
    if (text == describe(Skew{kind, {}}))
      return {kind, {}};
  return {Skew::Kind::Sizes, text};
}

std::string describe(const Skew &skew) {
  switch (skew.kind) {
  case Skew::Kind::Random:
    return "random";
  case Skew::Kind::Even:
    return "even";
  case Skew::Kind::Zipf:
    return "zipf";
  case Skew::Kind::One:
    return "one";
  case Skew::Kind::Sizes:
    break;
  }
  return skew.file;
}

Expected<HostTensor> chooseExperts(int64_t tokens, int64_t topk,
                                   int64_t experts, const Skew &skew,
                                   uint64_t seed) {
  if (topk > experts)
    return Error(ErrorCode::InvalidArgument,
                 "topk = " + std::to_string(topk) +
                     " is larger than experts = " + std::to_string(experts));
  Expected<HostTensor> tensor =
      HostTensor::allocate(DataType::I32, {tokens, topk});
  if (!tensor)
    return tensor;
  Generator generator(seed);
  std::vector<int32_t> rows;
  if (skew.kind == Skew::Kind::Sizes) {
    if (topk != 1)
      return Error(ErrorCode::InvalidArgument,
                   "sizes from a file are for tokens with one expert each");
    auto sizes = readSizes(skew.file, tokens, experts);
    if (!sizes)
      return sizes.error();
    rows = std::move(*sizes);
    shuffle(rows, generator);
  } else {
    rows = drawRows(tokens, topk, experts, skew, generator);
  }
  std::copy(rows.begin(), rows.end(),
            reinterpret_cast<int32_t *>(tensor->mutableData()));
  return tensor;
}

int64_t countChosen(const HostTensor &choices, int64_t experts) {
  std::vector<bool> chosen(static_cast<size_t>(experts));
  for (int64_t i = 0; i < choices.elements(); ++i)
    chosen[static_cast<size_t>(choices.dataAs<int32_t>()[i])] = true;
  return std::count(chosen.begin(), chosen.end(), true);
}

Expected<RouterColumns> routerColumns(int64_t tokens, int64_t topk,
                                      int64_t experts, int64_t width,
                                      DataType type, const Skew &skew,
                                      uint64_t seed) {
  if (skew.kind == Skew::Kind::Sizes)
    return Error(ErrorCode::InvalidArgument,
                 "a router's choices can be random, even, zipf or one, not '" +
                     skew.file + "'");
  int64_t groups = (experts + topk - 1) / topk;
  if (groups > width)
    return Error(ErrorCode::InvalidArgument,
                 "skewed routing names " + std::to_string(groups) +
                     " groups of experts in as many columns of a token, which "
                     "has " +
                     std::to_string(width));
  Expected<HostTensor> group = chooseExperts(tokens, 1, groups, skew, seed);
  if (!group)
    return group.error();
  Expected<HostTensor> ofTokens = zeros(tokens, groups);
  if (!ofTokens)
    return ofTokens.error();
  Expected<HostTensor> ofRouter = zeros(experts, groups);
  if (!ofRouter)
    return ofRouter.error();
  for (int64_t t = 0; t < tokens; ++t)
    mark(*ofTokens, t, group->dataAs<int32_t>()[t]);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t j = 0; j < topk; ++j)
      mark(*ofRouter, (g * topk + j) % experts, g);
  for (HostTensor *matrix : {&*ofTokens, &*ofRouter}) {
    Expected<HostTensor> typed = runtime::castTensor(*matrix, type);
    if (!typed)
      return typed.error();
    *matrix = std::move(*typed);
  }
  return RouterColumns{std::move(*ofTokens), std::move(*ofRouter)};
}

} // namespace epifold::tools
