// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Controls and observations of the fake CUDA driver.

#ifndef EPIFOLD_TESTS_UNIT_RUNTIME_FAKEDRIVER_H
#define EPIFOLD_TESTS_UNIT_RUNTIME_FAKEDRIVER_H

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace epifold::test {

/// A kernel that was launched, in order of execution.
struct FakeLaunch {
  std::string kernel;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned sharedBytes;
  bool overlaps;    ///< It may have started before the launch before it ended.
  bool cooperative; ///< All its blocks were on the device at once.
};

/// A tensor map that was encoded. Kernels see its address in place of a pointer
/// argument.
struct FakeTensorMap {
  int type;
  size_t address;
  std::vector<size_t> sizes;
  std::vector<size_t> strides;
  std::vector<unsigned> box;
  int swizzle;
};

/// The state of the fake driver in this process. It works on host memory and
/// runs each call at once. These kernels exist; PTX must name one as its entry:
///   double_f32(in, out, n)      out[i] = 2 in[i]
///   add_f32(a, b, out, n)       out[i] = a[i] + b[i]
///   flag_nan(in, status, n)     reports NaN elements as rows of NaN logits
struct FakeCuda {
  // What the driver pretends to be.
  int driverVersion = 13000;
  int major = 9;
  int minor = 0;
  int deviceCount = 1;
  size_t totalBytes = size_t(1) << 30;
  int blocksPerProcessor = 2; ///< Of any kernel, on 4 multiprocessors.
  std::string missingEntry;   ///< Not resolvable, by its plain name.
  std::string failingCall;    ///< Returns error 719 (launch failed).

  // What was done to it.
  std::vector<FakeLaunch> launches;
  std::vector<FakeTensorMap> tensorMaps;
  size_t usedBytes = 0;
  int allocations = 0;
  int compilations = 0;
  int graphLaunches = 0;
  int captures = 0;
  int liveObjects = 0; ///< Streams, events, modules, links, graphs.
};

/// The state inside the loaded fake (exported as `epifoldFakeCuda`).
using FakeCudaFunction = FakeCuda *(*)();

} // namespace epifold::test

#endif // EPIFOLD_TESTS_UNIT_RUNTIME_FAKEDRIVER_H
