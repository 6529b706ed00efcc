// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Puts the fake driver in the place of the system's for a test.

#ifndef EPIFOLD_TESTS_UNIT_RUNTIME_FAKEDEVICE_H
#define EPIFOLD_TESTS_UNIT_RUNTIME_FAKEDEVICE_H

#include "FakeDriver.h"
#include "TestExecutable.h"
#include "epifold/runtime/Device.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Tensor.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace epifold::test {

/// A folder that is removed with its content at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string path =
        (std::filesystem::temp_directory_path() / "epifold-test-XXXXXX")
            .string();
    path_ = mkdtemp(path.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string &name) const {
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

/// The state of the fake, loaded on the first call.
inline FakeCuda &fakeCuda() {
  void *library = dlopen(EPIFOLD_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  auto state =
      reinterpret_cast<FakeCudaFunction>(dlsym(library, "epifoldFakeCuda"));
  return *state();
}

/// Puts the fake driver in the system's place, in its initial state, and checks
/// at the end that everything was given back.
class FakeDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    setenv("EPIFOLD_CUDA_DRIVER", EPIFOLD_FAKE_DRIVER, 1);
    fakeCuda() = FakeCuda();
  }
  void TearDown() override {
    EXPECT_EQ(fakeCuda().usedBytes, 0u) << "device memory leaked";
    EXPECT_EQ(fakeCuda().liveObjects, 0) << "driver objects leaked";
  }
  TemporaryFolder folder;
};

} // namespace epifold::test

#endif // EPIFOLD_TESTS_UNIT_RUNTIME_FAKEDEVICE_H
