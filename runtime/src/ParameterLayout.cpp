// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Packs parameters into the memory order that kernels stream, and back.

#include "ParameterLayout.h"

#include "Parallel.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace epifold::runtime {
namespace {

/// One loop of a copy: its length and what one step moves either side by, in
/// elements.
struct Loop {
  int64_t size = 1;
  int64_t sourceStride = 0;
  int64_t targetStride = 0;
};

/// The loops of a permuted copy in the target's order, outermost first. Loops
/// of one step are left out, and neighbours that walk on together are merged,
/// so that the innermost loop is as long as the permutation lets it be.
std::vector<Loop> makeLoops(std::span<const int64_t> shape,
                            std::span<const uint32_t> layout) {
  std::vector<int64_t> sourceStrides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    sourceStrides[i] = stride;
    stride *= shape[i];
  }
  std::vector<Loop> loops;
  for (uint32_t dimension : layout) {
    Loop loop{shape[dimension], sourceStrides[dimension], 0};
    if (loop.size == 1)
      continue;
    if (!loops.empty() &&
        loops.back().sourceStride == loop.size * loop.sourceStride) {
      loops.back().size *= loop.size;
      loops.back().sourceStride = loop.sourceStride;
    } else {
      loops.push_back(loop);
    }
  }
  stride = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].targetStride = stride;
    stride *= loops[i].size;
  }
  return loops;
}

/// A square of this side in both tensors stays in the first-level cache.
constexpr int64_t kTile = 32;

/// Copies the `rows` x `columns` matrix of one position of the outer loops.
template <typename T>
void copyMatrix(const T *source, T *target, const Loop &rows,
                const Loop &columns, int64_t rowBegin, int64_t rowEnd) {
  for (int64_t c0 = 0; c0 < columns.size; c0 += kTile)
    for (int64_t r = rowBegin; r < rowEnd; ++r)
      for (int64_t c = c0; c < std::min(c0 + kTile, columns.size); ++c)
        target[r * rows.targetStride + c * columns.targetStride] =
            source[r * rows.sourceStride + c * columns.sourceStride];
}

template <typename T>
void permute(const T *source, T *target, std::vector<Loop> loops,
             unsigned threads) {
  if (loops.empty())
    loops.push_back({1, 1, 1});
  if (loops.size() == 1)
    loops.insert(loops.begin(), {1, 0, 0});
  // Both sides are walked in tiles of the two loops that are innermost in one
  // of them: the target's last, and the source's last among the others.
  Loop columns = loops.back();
  loops.pop_back();
  auto rowsAt = std::min_element(loops.begin(), loops.end(),
                                 [](const Loop &a, const Loop &b) {
                                   return a.sourceStride < b.sourceStride;
                                 });
  Loop rows = *rowsAt;
  loops.erase(rowsAt);

  int64_t outer = 1;
  for (const Loop &loop : loops)
    outer *= loop.size;
  int64_t rowTiles = (rows.size + kTile - 1) / kTile;
  parallelFor(static_cast<size_t>(outer * rowTiles), threads, [&](size_t i) {
    int64_t position = static_cast<int64_t>(i) / rowTiles;
    int64_t rowBegin = static_cast<int64_t>(i) % rowTiles * kTile;
    const T *from = source;
    T *to = target;
    for (size_t k = loops.size(); k-- > 0;) {
      int64_t step = position % loops[k].size;
      position /= loops[k].size;
      from += step * loops[k].sourceStride;
      to += step * loops[k].targetStride;
    }
    copyMatrix(from, to, rows, columns, rowBegin,
               std::min(rowBegin + kTile, rows.size));
  });
}

} // namespace

bool layoutIsIdentity(std::span<const int64_t> shape,
                      std::span<const uint32_t> layout) {
  uint32_t last = 0;
  for (uint32_t dimension : layout) {
    if (shape[dimension] == 1)
      continue;
    if (dimension < last)
      return false;
    last = dimension;
  }
  return true;
}

void packParameter(const std::byte *source, std::byte *target,
                   size_t elementBytes, std::span<const int64_t> shape,
                   std::span<const uint32_t> layout, unsigned threads) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return;
  auto run = [&]<typename T>(T) {
    permute(reinterpret_cast<const T *>(source), reinterpret_cast<T *>(target),
            makeLoops(shape, layout), threads);
  };
  switch (elementBytes) {
  case 1:
    return run(uint8_t());
  case 2:
    return run(uint16_t());
  case 4:
    return run(uint32_t());
  default:
    return run(uint64_t());
  }
}

void unpackParameter(const std::byte *source, std::byte *target,
                     size_t elementBytes, std::span<const int64_t> shape,
                     std::span<const uint32_t> layout, unsigned threads) {
  std::vector<int64_t> packedShape;
  std::vector<uint32_t> inverse(layout.size());
  for (uint32_t i = 0; i < layout.size(); ++i) {
    packedShape.push_back(shape[layout[i]]);
    inverse[layout[i]] = i;
  }
  packParameter(source, target, elementBytes, packedShape, inverse, threads);
}

} // namespace epifold::runtime
