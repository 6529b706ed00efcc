// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels that the fake CUDA driver can run.

#ifndef EPIFOLD_TESTS_UNIT_RUNTIME_FAKEKERNELS_H
#define EPIFOLD_TESTS_UNIT_RUNTIME_FAKEKERNELS_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace epifold::test {

template <typename T>
T argument(const std::vector<uint64_t> &args, size_t i) {
  return reinterpret_cast<T>(args[i]);
}

inline void doubleF32(const std::vector<uint64_t> &args) {
  auto *in = argument<const float *>(args, 0);
  auto *out = argument<float *>(args, 1);
  for (uint64_t i = 0; i < args[2]; ++i)
    out[i] = 2 * in[i];
}

inline void addF32(const std::vector<uint64_t> &args) {
  auto *a = argument<const float *>(args, 0);
  auto *b = argument<const float *>(args, 1);
  auto *out = argument<float *>(args, 2);
  for (uint64_t i = 0; i < args[3]; ++i)
    out[i] = a[i] + b[i];
}

inline void flagNan(const std::vector<uint64_t> &args) {
  auto *in = argument<const float *>(args, 0);
  auto *status = argument<int64_t *>(args, 1);
  for (uint64_t i = 0; i < args[2]; ++i)
    if (std::isnan(in[i])) {
      status[0] |= 1;
      status[1] = std::min(status[1], static_cast<int64_t>(i));
    }
}

/// A kernel that runs on the host; its arguments take 8 bytes each.
struct FakeKernel {
  const char *name;
  size_t arguments;
  void (*run)(const std::vector<uint64_t> &);
};
inline constexpr FakeKernel kKernels[] = {{"double_f32", 3, doubleF32},
                                          {"add_f32", 4, addF32},
                                          {"flag_nan", 3, flagNan}};

/// Null when there is no kernel of that name.
inline const FakeKernel *findKernel(std::string_view name) {
  for (const FakeKernel &kernel : kKernels)
    if (name == kernel.name)
      return &kernel;
  return nullptr;
}

} // namespace epifold::test

#endif // EPIFOLD_TESTS_UNIT_RUNTIME_FAKEKERNELS_H
