// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Packs parameters into the memory order that kernels stream, and back.

#ifndef EPIFOLD_RUNTIME_SRC_PARAMETERLAYOUT_H
#define EPIFOLD_RUNTIME_SRC_PARAMETERLAYOUT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace epifold::runtime {

/// True when packing by `layout` leaves every element in place: it is empty, or
/// moves only dimensions of size one.
bool layoutIsIdentity(std::span<const int64_t> shape,
                      std::span<const uint32_t> layout);

/// Copies a row-major tensor of `shape` to `target` with dimension layout[i] as
/// the i-th in memory. `elementBytes` is 1, 2, 4 or 8; `layout` is a
/// permutation of the dimensions; the tensors do not overlap. 0 threads means
/// all cores.
void packParameter(const std::byte *source, std::byte *target,
                   size_t elementBytes, std::span<const int64_t> shape,
                   std::span<const uint32_t> layout, unsigned threads);

/// The inverse of packParameter, with the same `shape` (the unpacked one).
void unpackParameter(const std::byte *source, std::byte *target,
                     size_t elementBytes, std::span<const int64_t> shape,
                     std::span<const uint32_t> layout, unsigned threads);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_PARAMETERLAYOUT_H
