// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gathers rows that are spread over a tensor.

#include "tests/exact/Rows.h"

#include <cstring>
#include <optional>

namespace epifold::exact {

using runtime::HostTensor;
using runtime::Shape;

/// The one dimension in which `shape` is shorter than `whole`; the rank when
/// they are equal; nothing when they differ otherwise.
static std::optional<size_t> shorterDimension(const Shape &shape,
                                              const Shape &whole) {
  if (shape.size() != whole.size())
    return std::nullopt;
  size_t found = shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == whole[d])
      continue;
    if (found != shape.size() || shape[d] > whole[d] || shape[d] < 1)
      return std::nullopt;
    found = d;
  }
  return found;
}

Expected<HostTensor> sampleRows(const HostTensor &whole, const Shape &shape) {
  auto dimension = shorterDimension(shape, whole.shape());
  if (!dimension)
    return Error(ErrorCode::InvalidArgument,
                 runtime::describe(whole.type(), shape) + " is no part of " +
                     runtime::describe(whole.type(), whole.shape()));
  if (*dimension == shape.size())
    return whole;
  auto part = HostTensor::allocate(whole.type(), shape);
  if (!part)
    return part.error();
  int64_t outer = 1;
  for (size_t d = 0; d < *dimension; ++d)
    outer *= shape[d];
  const int64_t rows = shape[*dimension], all = whole.shape()[*dimension];
  const size_t rowBytes = part->bytes() / static_cast<size_t>(outer * rows);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t from = rows == 1 ? all - 1 : r * (all - 1) / (rows - 1);
      std::memcpy(part->mutableData() + (o * rows + r) * rowBytes,
                  whole.data() + (o * all + from) * rowBytes, rowBytes);
    }
  return part;
}

} // namespace epifold::exact
