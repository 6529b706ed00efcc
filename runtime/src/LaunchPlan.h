// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An executable's plan with all sizes known: what one step does, in numbers.

#ifndef EPIFOLD_RUNTIME_SRC_LAUNCHPLAN_H
#define EPIFOLD_RUNTIME_SRC_LAUNCHPLAN_H

#include "LaunchSupport.h"
#include "epifold/runtime/ExecutableBuilder.h"
#include "epifold/runtime/Tensor.h"

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace epifold::runtime {

/// Alignment of every buffer.
inline constexpr int64_t kBufferAlignment = 256;

/// A byte in a buffer.
struct BoundPointer {
  BufferIndex buffer = 0;
  int64_t offset = 0;
};

/// A TensorMapArg with numbers, all within what tensor maps can express; the
/// whole tensor lies in its buffer.
struct BoundTensorMap {
  BoundPointer base;
  DataType type = DataType::F32;
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box;
};

/// A kernel parameter.
using BoundArg = std::variant<BoundPointer, int64_t, BoundTensorMap>;

/// One launch with numbers for expressions. What it is follows from the
/// executable's launch of the same index.
struct BoundLaunch {
  bool skipped = false; ///< A grid size or byte count is zero.
  uint32_t variant = 0; ///< Of a kernel: the one to launch.
  std::array<unsigned, 3> grid = {0, 0, 0};
  std::vector<BoundArg> args; ///< Of a kernel; empty when it is skipped.
  BoundPointer target;        ///< Of a memset or copy.
  BoundPointer source;        ///< Of a copy.
  int64_t size = 0;           ///< Of a memset or copy.
  int64_t flops = 0;
  int64_t bytes = 0;
};

/// A step for one set of dimensions.
struct LaunchPlan {
  std::vector<int64_t> symbols;
  std::vector<int64_t> bufferBytes; ///< By buffer.
  /// Place of each Scratch, Input and Result buffer in the session's memory;
  /// -1 for the others.
  std::vector<int64_t> placement;
  int64_t arenaBytes = 0;          ///< Of Scratch buffers.
  int64_t totalBytes = 0;          ///< Of all placed buffers.
  std::vector<Shape> tensorShapes; ///< By tensor.
  std::vector<BoundLaunch> launches;
};

/// Evaluates every size for those symbols, chooses the kernels' variants, and
/// checks all that a launch could get wrong: negative sizes, buffers smaller
/// than their tensors, offsets and tensor maps past a buffer's end, grids past
/// the device's limits. Errors: InvalidArgument, naming the launch or tensor.
Expected<LaunchPlan> bindLaunchPlan(const ExecutableDesc &desc,
                                    const LaunchSupport &support,
                                    std::vector<int64_t> symbols);

} // namespace epifold::runtime

#endif // EPIFOLD_RUNTIME_SRC_LAUNCHPLAN_H
