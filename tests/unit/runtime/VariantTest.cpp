// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sessions of kernels with variants: which one is loaded and launched, tensor
// maps, and launches that overlap or whose blocks wait for one another.

#include "FakeSession.h"

using namespace epifold;
using namespace epifold::runtime;
using epifold::test::expectResults;
using epifold::test::fakeCuda;
using epifold::test::floats;
using epifold::test::makeDoubleAdd;
using epifold::test::makeVariants;

namespace {

class VariantTest : public epifold::test::FakeSessionTest {
protected:
  Session variants(const SessionOptions &options = {}) {
    auto session = open(makeVariants(100), options);
    EXPECT_TRUE(session) << session.error().message();
    EXPECT_TRUE(session->bindParameters({{"w.m", floats({2, 4})}}));
    return std::move(*session);
  }

  /// Whether each kernel of a step overlapped the launch before it.
  static std::vector<bool> overlaps(Session &session,
                                    const RunOptions &options = {}) {
    fakeCuda().launches.clear();
    auto report = session.step(options);
    EXPECT_TRUE(report) << report.error().message();
    std::vector<bool> seen;
    for (const test::FakeLaunch &launch : fakeCuda().launches)
      seen.push_back(launch.overlaps);
    return seen;
  }
};

TEST_F(VariantTest, TheSizesChooseTheVariant) {
  Session session = variants();
  for (auto [rows, threads] : {std::pair(8, 64u), {9, 96u}, {3, 64u}}) {
    fakeCuda().launches.clear();
    HostTensor x = floats({rows, 4});
    auto outcome = session.run({{"in.x", x}});
    ASSERT_TRUE(outcome) << outcome.error().message();
    expectResults(outcome->results, x);
    EXPECT_EQ(fakeCuda().launches[0].block[0], threads) << rows << " rows";
  }
}

TEST_F(VariantTest, ModulesAreLoadedWhenSizesNeedThem) {
  Session session = variants();
  // The first launch's kernel depends on the size.
  EXPECT_EQ(session.loadReport().modules, 2);
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  EXPECT_EQ(session.loadReport().modules, 3);
  ASSERT_TRUE(session.prepare({{"in.x", floats({9, 4})}}));
  EXPECT_EQ(session.loadReport().modules, 4);
  ASSERT_TRUE(session.prepare({{"in.x", floats({7, 4})}}));
  EXPECT_EQ(session.loadReport().modules, 4);
  EXPECT_EQ(session.loadReport().targets.size(), 4u);
  EXPECT_EQ(session.loadReport().compiled, 4);
}

TEST_F(VariantTest, AFailedLoadCanBeTriedAgain) {
  Session session = variants();
  fakeCuda().failingCall = "cuFuncSetAttribute";
  EXPECT_FALSE(session.prepare({{"in.x", floats({8, 4})}}));
  fakeCuda().failingCall.clear();
  HostTensor x = floats({8, 4});
  auto outcome = session.run({{"in.x", x}});
  ASSERT_TRUE(outcome) << outcome.error().message();
  expectResults(outcome->results, x);
}

TEST_F(VariantTest, OlderDevicesTakeTheirOwn) {
  fakeCuda().major = 8;
  Session session = variants();
  HostTensor x = floats({8, 4});
  auto outcome = session.run({{"in.x", x}});
  ASSERT_TRUE(outcome) << outcome.error().message();
  expectResults(outcome->results, x);
  EXPECT_EQ(fakeCuda().launches[0].block[0], 128u);
  EXPECT_TRUE(fakeCuda().tensorMaps.empty());
  EXPECT_EQ(overlaps(session), (std::vector<bool>{false, false, false}));
}

TEST_F(VariantTest, TensorMapsDescribeTheOperand) {
  Session session = variants();
  ASSERT_TRUE(session.prepare({{"in.x", floats({5, 4})}}));
  ASSERT_EQ(fakeCuda().tensorMaps.size(), 1u);
  const test::FakeTensorMap &map = fakeCuda().tensorMaps[0];
  EXPECT_EQ(map.type, 7); // f32
  EXPECT_EQ(map.sizes, (std::vector<size_t>{4, 5}));
  EXPECT_EQ(map.strides, std::vector<size_t>{16});
  EXPECT_EQ(map.box, (std::vector<unsigned>{4, 8}));
  EXPECT_EQ(map.swizzle, 3); // 128 bytes
}

TEST_F(VariantTest, TensorMapsFollowTheAddress) {
  Session session = variants();
  Device device = *Device::open();
  auto first = device.allocate(128, "x"), second = device.allocate(128, "x");
  ASSERT_TRUE(first && second);
  auto prepare = [&](const DeviceBuffer &x) {
    return session.prepare(
        DeviceTensorMap{{"in.x", {DataType::F32, {8, 4}, x.address()}}});
  };
  ASSERT_TRUE(prepare(*first));
  ASSERT_TRUE(prepare(*first));
  ASSERT_EQ(fakeCuda().tensorMaps.size(), 1u);
  EXPECT_EQ(fakeCuda().tensorMaps[0].address, first->address());
  ASSERT_TRUE(prepare(*second));
  ASSERT_EQ(fakeCuda().tensorMaps.size(), 2u);
  EXPECT_EQ(fakeCuda().tensorMaps[1].address, second->address());
}

TEST_F(VariantTest, NothingIsMappedForEmptyRuns) {
  Session session = variants();
  auto outcome = session.run({{"in.x", floats({0, 4})}});
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_TRUE(fakeCuda().tensorMaps.empty());
  EXPECT_EQ(outcome->report.launches, 0);
}

TEST_F(VariantTest, RefusedTensorMapsAreNamed) {
  Session session = variants();
  fakeCuda().failingCall = "cuTensorMapEncodeTiled";
  auto refused = session.prepare({{"in.x", floats({5, 4})}});
  ASSERT_FALSE(refused);
  std::string message = refused.error().message();
  EXPECT_NE(message.find("launch 0 ('double at m.mlir:1'), kernel 'double_f32' "
                         "for sm_90a: argument 0: a tensor map (f32, sizes 4 "
                         "5, strides 16, box 4 8, at 0x"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("cuTensorMapEncodeTiled failed"), std::string::npos)
      << message;
  fakeCuda().failingCall.clear();
  EXPECT_TRUE(session.run({{"in.x", floats({5, 4})}}));
}

TEST_F(VariantTest, TensorMapsStartAtWholePieces) {
  ExecutableDesc desc = makeVariants(100);
  auto &map = std::get<TensorMapArg>(test::variantOf(desc, 0).args[0]);
  map.sizes[1] = desc.addConstant(1);
  map.base.offset = desc.addConstant(8);
  auto session = open(desc);
  ASSERT_TRUE(session) << session.error().message();
  ASSERT_TRUE(session->bindParameters({{"w.m", floats({2, 4})}}));
  auto refused = session->prepare({{"in.x", floats({5, 4})}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find(
                "does not start at a multiple of 16 bytes"),
            std::string::npos)
      << refused.error().message();
}

TEST_F(VariantTest, KernelsOverlapTheKernelsBeforeThem) {
  Session session = variants();
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  // The first follows the reset of the status word, the second a memset.
  std::vector<bool> expected = {false, false, true};
  EXPECT_EQ(overlaps(session), expected);
  RunOptions graph;
  graph.launch = LaunchMode::Graph;
  EXPECT_EQ(overlaps(session, graph), expected);
}

TEST_F(VariantTest, KernelsOverlapNoKernelBeforeASkippedOne) {
  for (bool skips : {false, true}) {
    ExecutableDesc desc = makeVariants(100);
    desc.launches.erase(desc.launches.begin() + 1); // the memset
    if (skips)
      for (KernelVariant &variant :
           std::get<KernelLaunch>(desc.launches[1].body).variants)
        variant.grid[0] = desc.addConstant(0);
    auto session = open(desc);
    ASSERT_TRUE(session) << session.error().message();
    ASSERT_TRUE(session->bindParameters({{"w.m", floats({2, 4})}}));
    ASSERT_TRUE(session->prepare({{"in.x", floats({8, 4})}}));
    EXPECT_EQ(overlaps(*session), skips
                                      ? std::vector<bool>({false, false})
                                      : std::vector<bool>({false, true, true}));
  }
}

TEST_F(VariantTest, WatchedRunsDoNotOverlap) {
  Session session = variants();
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  std::vector<bool> none = {false, false, false};
  RunOptions profiled, waiting;
  profiled.profile = true;
  waiting.waitEach = true;
  EXPECT_EQ(overlaps(session, profiled), none);
  EXPECT_EQ(overlaps(session, waiting), none);
}

TEST_F(VariantTest, OverlapCanBeSwitchedOff) {
  SessionOptions options;
  options.overlap = false;
  Session session = variants(options);
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  EXPECT_EQ(overlaps(session), (std::vector<bool>{false, false, false}));
}

TEST_F(VariantTest, AFailedOverlappingLaunchNamesItsCall) {
  Session session = variants();
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  fakeCuda().failingCall = "cuLaunchKernelEx";
  auto report = session.step();
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message().find(
                "launch 3 ('flag'): cuLaunchKernelEx failed"),
            std::string::npos)
      << report.error().message();
}

/// Sessions of makeDoubleAdd with `blocks` blocks that wait for one another in
/// the first launch.
class ResidentTest : public epifold::test::FakeSessionTest {
protected:
  Expected<Session> residents(int64_t blocks) {
    ExecutableDesc desc = makeDoubleAdd(100);
    KernelVariant &variant =
        std::get<KernelLaunch>(desc.launches[0].body).variants[0];
    variant.isResident = true;
    variant.grid[0] = desc.addConstant(blocks);
    auto session = open(desc);
    EXPECT_TRUE(session) << session.error().message();
    EXPECT_TRUE(session->bindParameters({{"w.m", floats({2, 4})}}));
    if (auto ok = session->prepare({{"in.x", floats({8, 4})}}); !ok)
      return ok.error();
    return session;
  }
};

TEST_F(ResidentTest, AsManyBlocksAsFit) {
  for (auto [blocks, launched] : {std::pair(3, 3u), {8, 8u}, {100, 8u}}) {
    auto session = residents(blocks);
    ASSERT_TRUE(session) << session.error().message();
    for (LaunchMode mode : {LaunchMode::Stream, LaunchMode::Graph}) {
      fakeCuda().launches.clear();
      RunOptions options;
      options.launch = mode;
      ASSERT_TRUE(session->step(options));
      EXPECT_EQ(fakeCuda().launches[0].grid[0], launched);
      EXPECT_TRUE(fakeCuda().launches[0].cooperative);
      EXPECT_FALSE(fakeCuda().launches[1].cooperative);
    }
  }
}

TEST_F(ResidentTest, OneMustFit) {
  fakeCuda().blocksPerProcessor = 0;
  auto session = residents(8);
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message().find(
                "launch 0 ('double at m.mlir:1'), kernel 'double_f32' for "
                "sm_90a: a block of 128 threads and 0 bytes of shared memory "
                "does not fit a multiprocessor of Fake GPU"),
            std::string::npos)
      << session.error().message();
}

} // namespace
