// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The driver's absence, age and errors; device memory; the cubin cache.

#include "Driver.h"
#include "FakeDevice.h"
#include "ModuleCache.h"

#include <fstream>

using namespace epifold;
using namespace epifold::runtime;
using epifold::test::fakeCuda;

namespace {

class DeviceTest : public epifold::test::FakeDeviceTest {};

TEST_F(DeviceTest, NoDriverIsSaidClearly) {
  auto driver = driver::openDriver("/nowhere/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code(), ErrorCode::NoDevice);
  EXPECT_NE(driver.error().message().find("no CUDA driver"), std::string::npos);
  EXPECT_NE(driver.error().message().find("--device=reference"),
            std::string::npos);
}

TEST_F(DeviceTest, ALibraryThatIsNoDriverIsRefused) {
  auto driver = driver::openDriver("libc.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(driver.error().message().find("cuGetProcAddress"),
            std::string::npos);
}

TEST_F(DeviceTest, OldDriversAreToldWhatTheyLack) {
  fakeCuda().driverVersion = 6000;
  auto driver = driver::openDriver(EPIFOLD_FAKE_DRIVER);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(driver.error().message().find(
                "implements CUDA 6.0 and lacks cuDevicePrimaryCtxRetain"),
            std::string::npos)
      << driver.error().message();
}

TEST_F(DeviceTest, GraphsAreOptional) {
  fakeCuda().missingEntry = "cuLaunchKernel";
  EXPECT_FALSE(driver::openDriver(EPIFOLD_FAKE_DRIVER));
  fakeCuda().missingEntry = "cuGraphLaunch";
  auto driver = driver::openDriver(EPIFOLD_FAKE_DRIVER);
  ASSERT_TRUE(driver) << driver.error().message();
  EXPECT_FALSE((*driver)->hasGraphs());
  EXPECT_TRUE((*driver)->hasTensorMaps());
  EXPECT_TRUE((*driver)->hasOverlap(/*inGraph=*/true));
}

TEST_F(DeviceTest, NewerKindsOfLaunchesAreOptional) {
  fakeCuda().driverVersion = 11040;
  auto driver = driver::openDriver(EPIFOLD_FAKE_DRIVER);
  ASSERT_TRUE(driver) << driver.error().message();
  EXPECT_FALSE((*driver)->hasTensorMaps());
  EXPECT_FALSE((*driver)->hasOverlap(/*inGraph=*/false));
  fakeCuda().driverVersion = 12000;
  driver = driver::openDriver(EPIFOLD_FAKE_DRIVER);
  ASSERT_TRUE(driver) << driver.error().message();
  EXPECT_TRUE((*driver)->hasTensorMaps());
  EXPECT_TRUE((*driver)->hasOverlap(/*inGraph=*/false));
  EXPECT_FALSE((*driver)->hasOverlap(/*inGraph=*/true));
}

TEST_F(DeviceTest, AMachineWithoutDevicesHasNone) {
  fakeCuda().deviceCount = 0;
  auto driver = driver::openDriver(EPIFOLD_FAKE_DRIVER);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code(), ErrorCode::NoDevice);
}

TEST_F(DeviceTest, OpensAndDescribesADevice) {
  EXPECT_EQ(*Device::count(), 1);
  auto device = Device::open(0);
  ASSERT_TRUE(device) << device.error().message();
  EXPECT_EQ(device->info().name, "Fake GPU");
  EXPECT_EQ(device->info().major, 9);
  EXPECT_EQ(device->info().driverVersion, 13000);
  auto absent = Device::open(3);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message(),
            "no device cuda:3: the driver lists 1 device");
}

TEST_F(DeviceTest, MemoryIsReusedAndTrimmed) {
  Device device = *Device::open();
  uint64_t first;
  {
    auto buffer = device.allocate(100000, "a test");
    ASSERT_TRUE(buffer);
    first = buffer->address();
    EXPECT_EQ(first % 256, 0u);
    EXPECT_EQ(device.memory()->poolUsedBytes, 100352u); // to 512
  }
  auto again = device.allocate(100000, "a test");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->address(), first);
  EXPECT_EQ(fakeCuda().allocations, 1);
  // Half the size is not worth the block.
  auto other = device.allocate(50000, "a test");
  EXPECT_EQ(fakeCuda().allocations, 2);
  *again = DeviceBuffer();
  EXPECT_GT(device.memory()->poolCachedBytes, 0u);
  ASSERT_TRUE(device.trim());
  EXPECT_EQ(device.memory()->poolCachedBytes, 0u);
  EXPECT_GE(device.memory()->poolPeakBytes, 150000u);
}

TEST_F(DeviceTest, OutOfMemorySaysWhatWasAskedAndFree) {
  fakeCuda().totalBytes = 1 << 20;
  Device device = *Device::open();
  auto kept = device.allocate(512, "a test");
  auto buffer = device.allocate(2 << 20, "the step's memory");
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), ErrorCode::OutOfMemory);
  EXPECT_NE(buffer.error().message().find(
                "out of device memory: the step's memory needs 2097152 bytes, "
                "1048064 of 1048576 bytes are free and this process holds 512"),
            std::string::npos)
      << buffer.error().message();
  EXPECT_FALSE(device.allocate(SIZE_MAX - 5, "an absurd size"));
}

TEST_F(DeviceTest, CachedBlocksMakeRoomBeforeMemoryRunsOut) {
  fakeCuda().totalBytes = 1 << 20;
  Device device = *Device::open();
  (void)*device.allocate(600000, "first"); // cached at once
  auto buffer = device.allocate(900000, "second");
  EXPECT_TRUE(buffer);
}

TEST_F(DeviceTest, DriverErrorsNameCallAndWords) {
  Device device = *Device::open();
  auto buffer = device.allocate(64, "a test");
  fakeCuda().failingCall = "cuMemcpyHtoD";
  char data[64] = {};
  auto uploaded = device.upload(buffer->address(), data, sizeof(data));
  fakeCuda().failingCall.clear();
  ASSERT_FALSE(uploaded);
  EXPECT_EQ(uploaded.error().code(), ErrorCode::Driver);
  EXPECT_EQ(uploaded.error().message(),
            "cuMemcpyHtoD failed: words of the driver "
            "(CUDA_ERROR_LAUNCH_FAILED, error 719)");
}

TEST_F(DeviceTest, TheCacheKeepsCubinsApart) {
  ModuleCache cache(folder.path());
  std::vector<uint8_t> ptx = {'a', 'b'}, other = {'a', 'c'}, cubin = {1, 2, 3};
  ModuleKey key{ptx, 13000, 9, 0};
  EXPECT_FALSE(cache.find(key));
  ASSERT_TRUE(cache.store(key, cubin));
  EXPECT_EQ(cache.find(key), cubin);
  EXPECT_FALSE(cache.find({other, 13000, 9, 0}));
  EXPECT_FALSE(cache.find({ptx, 12090, 9, 0}));
  EXPECT_FALSE(cache.find({ptx, 13000, 8, 0}));
}

TEST_F(DeviceTest, DamagedCacheEntriesReadAsAbsent) {
  ModuleCache cache(folder.path());
  std::vector<uint8_t> ptx = {'a', 'b'}, cubin = {1, 2, 3, 4, 5};
  ModuleKey key{ptx, 13000, 9, 0};
  ASSERT_TRUE(cache.store(key, cubin));
  std::string path = cache.pathOf(key);
  std::ifstream stream(path, std::ios::binary);
  std::string good((std::istreambuf_iterator<char>(stream)), {});
  auto write = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 4;
    write(bad);
    EXPECT_FALSE(cache.find(key)) << "byte " << i;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    write(good.substr(0, size));
    EXPECT_FALSE(cache.find(key)) << size << " bytes";
  }
  write(good);
  EXPECT_TRUE(cache.find(key));
}

TEST_F(DeviceTest, AnUnwritableCacheOnlyFails) {
  std::ofstream(folder.file("file")) << "x";
  ModuleCache cache(folder.file("file") + "/below");
  std::vector<uint8_t> ptx = {1};
  EXPECT_FALSE(cache.store({ptx, 1, 1, 1}, ptx));
  EXPECT_FALSE(ModuleCache().store({ptx, 1, 1, 1}, ptx));
}

} // namespace
