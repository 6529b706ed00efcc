// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sessions over the fake driver, and what they compute.

#ifndef EPIFOLD_TESTS_UNIT_RUNTIME_FAKESESSION_H
#define EPIFOLD_TESTS_UNIT_RUNTIME_FAKESESSION_H

#include "FakeDevice.h"
#include "epifold/runtime/Session.h"

namespace epifold::test {

/// A tensor of first, first + 1, …
inline runtime::HostTensor floats(runtime::Shape shape, float first = 0) {
  runtime::HostTensor tensor =
      *runtime::HostTensor::allocate(DataType::F32, std::move(shape));
  auto *values = reinterpret_cast<float *>(tensor.mutableData());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    values[i] = first + static_cast<float>(i);
  return tensor;
}

/// Sessions on the fake device, with a cubin cache of their own.
class FakeSessionTest : public FakeDeviceTest {
protected:
  Expected<runtime::Session> open(const runtime::ExecutableDesc &desc,
                                  runtime::SessionOptions options = {}) {
    auto executable = runtime::Executable::load(runtime::serialize(desc));
    if (!executable)
      return executable.error();
    options.cacheDir = folder.path();
    return runtime::Session::create(*runtime::Device::open(), *executable,
                                    options);
  }

  /// A session of makeDoubleAdd(rows) with its parameter bound.
  runtime::Session ready(int64_t rows = 8) {
    auto session = open(makeDoubleAdd(rows));
    EXPECT_TRUE(session) << session.error().message();
    EXPECT_TRUE(session->bindParameters({{"w.m", floats({2, 4})}}));
    return std::move(*session);
  }
};

/// Checks what makeDoubleAdd computes of x.
inline void expectResults(const runtime::TensorMap &results,
                          const runtime::HostTensor &x) {
  const runtime::HostTensor &y = results.at("out.y");
  const runtime::HostTensor &t = results.at("out.t");
  ASSERT_EQ(y.shape(), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    EXPECT_EQ(t.dataAs<float>()[i], 2 * x.dataAs<float>()[i]);
    EXPECT_EQ(y.dataAs<float>()[i], 2 * x.dataAs<float>()[i] + 0.5f);
  }
}

} // namespace epifold::test

#endif // EPIFOLD_TESTS_UNIT_RUNTIME_FAKESESSION_H
