// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whole sessions over the fake driver: results, modes, reuse and failures.

#include "FakeSession.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace epifold;
using namespace epifold::runtime;
using epifold::test::expectResults;
using epifold::test::fakeCuda;
using epifold::test::floats;
using epifold::test::makeDoubleAdd;

namespace {

using SessionTest = epifold::test::FakeSessionTest;

TEST_F(SessionTest, RunsAtEverySizeWithOneExecutable) {
  Session session = ready(100);
  for (int64_t n : {1, 45, 100, 3, 45}) {
    HostTensor x = floats({n, 4}, float(n));
    auto outcome = session.run({{"in.x", x}, {"unrelated", x}});
    ASSERT_TRUE(outcome) << outcome.error().message();
    expectResults(outcome->results, x);
    EXPECT_TRUE(outcome->report.status.ok());
    EXPECT_EQ(outcome->report.launches, 3);
  }
  EXPECT_EQ(fakeCuda().launches[0].grid[0], 1u);
  EXPECT_EQ(fakeCuda().launches[0].block[0], 128u);
}

TEST_F(SessionTest, NoTokensMeanNoLaunches) {
  Session session = ready();
  auto outcome = session.run({{"in.x", floats({0, 4})}});
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->report.launches, 0);
  EXPECT_EQ(outcome->results.at("out.y").shape(), (Shape{0, 4}));
  EXPECT_TRUE(fakeCuda().launches.empty());
}

TEST_F(SessionTest, GraphModeGivesTheSameAndCapturesOnce) {
  Session session = ready();
  HostTensor x = floats({8, 4});
  ASSERT_TRUE(session.prepare({{"in.x", x}}));
  RunOptions graph;
  graph.launch = LaunchMode::Graph;
  for (int i = 0; i < 3; ++i) {
    auto report = session.step(graph);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->status.ok());
  }
  expectResults(*session.results(), x);
  EXPECT_EQ(fakeCuda().captures, 1);
  EXPECT_EQ(fakeCuda().graphLaunches, 3);
  EXPECT_EQ(fakeCuda().launches.size(), 9u);

  // Another size has a graph of its own; coming back needs no new one unless
  // the memory moved.
  auto run = [&](int64_t n) {
    HostTensor other = floats({n, 4}, 7);
    auto outcome = session.run({{"in.x", other}}, graph);
    ASSERT_TRUE(outcome) << outcome.error().message();
    expectResults(outcome->results, other);
  };
  run(2);
  EXPECT_EQ(fakeCuda().captures, 2);
  run(8);
  run(2);
  EXPECT_EQ(fakeCuda().captures, 2);
}

TEST_F(SessionTest, GrowingMemoryRebuildsGraphs) {
  Session session = ready(100);
  RunOptions graph;
  graph.launch = LaunchMode::Graph;
  for (int64_t n : {2, 100, 2}) {
    HostTensor x = floats({n, 4}, float(n));
    auto outcome = session.run({{"in.x", x}}, graph);
    ASSERT_TRUE(outcome) << outcome.error().message();
    expectResults(outcome->results, x);
  }
}

TEST_F(SessionTest, StepsAllocateNothing) {
  Session session = ready();
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  ASSERT_TRUE(session.step());
  int before = fakeCuda().allocations;
  int objects = fakeCuda().liveObjects;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(session.step());
  EXPECT_EQ(fakeCuda().allocations, before);
  EXPECT_EQ(fakeCuda().liveObjects, objects);
}

TEST_F(SessionTest, NanRowsAreReportedAndForgotten) {
  Session session = ready();
  HostTensor x = floats({8, 4});
  auto *values = reinterpret_cast<float *>(x.mutableData());
  values[21] = NAN;
  values[30] = NAN;
  for (LaunchMode mode : {LaunchMode::Stream, LaunchMode::Graph}) {
    auto outcome = session.run({{"in.x", x}}, {mode});
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->report.status.bits, kStatusNanLogits);
    EXPECT_EQ(outcome->report.status.firstNanRow, 21);
    EXPECT_EQ(describe(outcome->report.status).substr(0, 34),
              "token 21: router logits hold NaN; ");
    EXPECT_EQ(outcome->results.at("out.t").dataAs<float>()[20], 40.0f);
    // The word is reset: a clean run after it is clean.
    auto clean = session.run({{"in.x", floats({8, 4})}}, {mode});
    ASSERT_TRUE(clean);
    EXPECT_TRUE(clean->report.status.ok());
  }
}

TEST_F(SessionTest, CallerOwnedDeviceMemoryIsUsedInPlace) {
  Session session = ready();
  Device device = *Device::open();
  HostTensor x = floats({8, 4}, 3);
  DeviceBuffer in = *device.allocate(x.bytes(), "x");
  DeviceBuffer y = *device.allocate(x.bytes(), "y");
  DeviceBuffer t = *device.allocate(x.bytes(), "t");
  ASSERT_TRUE(device.upload(in.address(), x.data(), x.bytes()));
  auto tensor = [](const DeviceBuffer &buffer) {
    return DeviceTensor{DataType::F32, {8, 4}, buffer.address()};
  };
  // out.y has a buffer of its own; out.t lives in scratch and is copied out.
  ASSERT_TRUE(session.prepare({{"in.x", tensor(in)}},
                              {{"out.y", tensor(y)}, {"out.t", tensor(t)}}));
  RunOptions graph;
  graph.launch = LaunchMode::Graph;
  for (const RunOptions &options : {RunOptions(), graph}) {
    ASSERT_TRUE(session.step(options));
    expectResults(*session.results(), x);
    HostTensor read = floats({8, 4});
    ASSERT_TRUE(device.download(read.mutableData(), y.address(), read.bytes()));
    EXPECT_EQ(read.dataAs<float>()[5], 2 * 8 + 0.5f);
    ASSERT_TRUE(device.download(read.mutableData(), t.address(), read.bytes()));
    EXPECT_EQ(read.dataAs<float>()[5], 16.0f);
  }
  EXPECT_EQ(session.result("out.y")->address, y.address());
  EXPECT_FALSE(session.result("out.z"));

  // Without the caller's results, neither they nor the old graph are used.
  ASSERT_TRUE(session.prepare({{"in.x", tensor(in)}}));
  ASSERT_TRUE(session.step(graph));
  EXPECT_NE(session.result("out.y")->address, y.address());
  expectResults(*session.results(), x);

  EXPECT_FALSE(session.prepare(
      {{"in.x", DeviceTensor{DataType::F32, {8, 4}, in.address() + 4}}}));
  auto wrong = session.prepare(
      {{"in.x", tensor(in)}},
      {{"out.y", DeviceTensor{DataType::F32, {7, 4}, y.address()}}});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("is f32[7, 4], the result is "
                                         "f32[8, 4]"),
            std::string::npos);
}

TEST_F(SessionTest, ParametersArePackedAndUnpacked) {
  Session session = ready();
  HostTensor read = *session.readParameter("w.m");
  EXPECT_EQ(read.shape(), (Shape{2, 4}));
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(read.dataAs<float>()[i], float(i));

  // In caller-owned memory it is already packed: [4, 2] with layout {1, 0}.
  Device device = *Device::open();
  HostTensor packed = floats({8});
  DeviceBuffer memory = *device.allocate(packed.bytes(), "w");
  ASSERT_TRUE(device.upload(memory.address(), packed.data(), packed.bytes()));
  ASSERT_TRUE(
      session.bindParameter("w.m", {DataType::F32, {2, 4}, memory.address()}));
  read = *session.readParameter("w.m");
  EXPECT_EQ(read.dataAs<float>()[1], 2.0f);
  EXPECT_EQ(read.dataAs<float>()[4], 1.0f);
  EXPECT_FALSE(session.bindParameter(
      "w.m", {DataType::F32, {2, 4}, memory.address() + 8}));
  EXPECT_FALSE(session.readParameter("w.z"));
}

TEST_F(SessionTest, WrongArgumentsAreNamed) {
  auto session = open(makeDoubleAdd(8));
  ASSERT_TRUE(session);
  auto unbound = session->run({{"in.x", floats({8, 4})}});
  ASSERT_FALSE(unbound);
  EXPECT_EQ(unbound.error().message(),
            "parameter 'w.m' (f32[2, 4]) is not bound");
  EXPECT_FALSE(session->readParameter("w.m"));
  EXPECT_FALSE(session->timeSteps(-1, LaunchMode::Stream));
  auto missing = session->bindParameters({});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(session->bindParameters({{"w.m", floats({2, 5})}}) &&
               session->run({{"in.x", floats({8, 4})}}));
  ASSERT_TRUE(session->bindParameters({{"w.m", floats({2, 4})}}));
  auto input = session->run({});
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().message(), "input 'in.x' (f32[n, 4]) is missing "
                                     "from what was passed");
  EXPECT_FALSE(session->step());
  EXPECT_FALSE(session->results());
  EXPECT_FALSE(session->run({{"in.x", floats({8, 3})}}));
}

TEST_F(SessionTest, SessionsShareParametersOnTheDevice) {
  Session owner = ready();
  Session other = ready();
  auto shared = owner.parameter("w.m");
  ASSERT_TRUE(shared) << shared.error().message();
  EXPECT_EQ(shared->shape, (Shape{2, 4}));
  ASSERT_TRUE(other.bindParameter("w.m", *shared));
  EXPECT_EQ(other.parameter("w.m")->address, shared->address);
  HostTensor expected = *owner.readParameter("w.m"),
             read = *other.readParameter("w.m");
  EXPECT_EQ(std::memcmp(read.data(), expected.data(), read.bytes()), 0);
  EXPECT_FALSE(owner.parameter("w.z"));
}

TEST_F(SessionTest, LaunchErrorsNameKernelTargetAndPlace) {
  Session session = ready();
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  fakeCuda().failingCall = "cuLaunchKernel";
  auto report = session.step();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(),
            "kernel 'double_f32' for sm_90a, grid 1 x 1 x 1, launch 0 "
            "('double at m.mlir:1'): cuLaunchKernel failed: words of the "
            "driver (CUDA_ERROR_LAUNCH_FAILED, error 719)");
  // A failed capture leaves the stream usable.
  RunOptions graph;
  graph.launch = LaunchMode::Graph;
  EXPECT_FALSE(session.step(graph));
  fakeCuda().failingCall.clear();
  EXPECT_TRUE(session.step(graph));

  fakeCuda().failingCall = "cuStreamSynchronize";
  RunOptions watched;
  watched.waitEach = true;
  auto named = session.step(watched);
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().message().find(
                "launch 0 ('double at m.mlir:1') failed on the device"),
            std::string::npos);
  fakeCuda().failingCall.clear();
}

TEST_F(SessionTest, CompilerLogsAndNewPtxAreReported) {
  ExecutableDesc desc = makeDoubleAdd(8);
  std::string text = ".version 8.0\n.target sm_90a\nerror here\n";
  desc.modules[1].images[1].ptx = {text.begin(), text.end()};
  auto broken = open(desc);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message().find(
                "kernel 'add_f32' for sm_90a: cuLinkAddData failed"),
            std::string::npos);
  EXPECT_NE(broken.error().message().find("line 7: unexpected 'error'"),
            std::string::npos);

  text = ".version 9.1\n.target sm_90a\n.entry add_f32()";
  desc.modules[1].images[1].ptx = {text.begin(), text.end()};
  auto newer = open(desc);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(newer.error().message().find(
                "PTX 9.1, newer than the PTX 9.0 that this driver (CUDA 13.0)"),
            std::string::npos);
}

TEST_F(SessionTest, CubinsAreCachedAndShared) {
  {
    Session first = ready();
    EXPECT_EQ(first.loadReport().modules, 3);
    EXPECT_EQ(first.loadReport().compiled, 3);
  }
  Session second = ready();
  EXPECT_EQ(second.loadReport().cacheHits, 3);
  EXPECT_EQ(second.loadReport().compiled, 0);
  EXPECT_EQ(fakeCuda().compilations, 3);
  for (const auto &item : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::resize_file(item.path(), 20);
  Session third = ready();
  EXPECT_EQ(third.loadReport().compiled, 3);
  EXPECT_TRUE(third.run({{"in.x", floats({8, 4})}}));
}

TEST_F(SessionTest, UnusedModulesAreNotLoaded) {
  ExecutableDesc desc = makeDoubleAdd(8);
  desc.modules.push_back(test::makeModule("nobody_calls_me"));
  auto session = open(desc);
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(session->loadReport().modules, 3);
}

TEST_F(SessionTest, SharedMemoryBeyondTheDeviceIsRefused) {
  ExecutableDesc desc = makeDoubleAdd(8);
  test::variantOf(desc, 0).sharedBytes = 300000;
  auto session = open(desc);
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message().find("needs 300000 bytes of shared"),
            std::string::npos);
}

TEST_F(SessionTest, ProfilesNameEachLaunch) {
  Session session = ready();
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  RunOptions options;
  options.profile = true;
  auto report = session.step(options);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->profile.size(), 4u);
  EXPECT_EQ(report->profile[0].kernel, "double_f32");
  EXPECT_EQ(report->profile[0].durationMs, 1.0); // the fake's clock
  EXPECT_EQ(report->profile[1].kernel, "memset");
  EXPECT_EQ(report->profile[2].startMs, 1.0);
  auto trace =
      nlohmann::json::parse(chromeTrace(*report, Device::open()->info()));
  ASSERT_EQ(trace["traceEvents"].size(), 5u);
  EXPECT_EQ(trace["traceEvents"][1]["name"], "double_f32");
  auto arguments = trace["traceEvents"][1]["args"];
  EXPECT_EQ(arguments["label"], "double at m.mlir:1");
  EXPECT_EQ(arguments["flop"], 32);
  EXPECT_EQ(arguments["bytes"], 128);
  EXPECT_FALSE(arguments.contains("peak_share"));

  // 32 FLOP and 128 bytes in a millisecond, of twice and four times as many.
  trace = nlohmann::json::parse(
      chromeTrace(*report, Device::open()->info(), {64e-9, 512e-6}));
  arguments = trace["traceEvents"][1]["args"];
  EXPECT_DOUBLE_EQ(arguments["peak_share"], 0.5);
  EXPECT_DOUBLE_EQ(arguments["copy_share"], 0.25);
  EXPECT_FALSE(trace["traceEvents"][2]["args"].contains("peak_share"))
      << "a memset has no FLOP";

  auto times = session.timeSteps(5, LaunchMode::Graph);
  ASSERT_TRUE(times);
  EXPECT_EQ(*times, std::vector<double>(5, 3.0));
}

TEST_F(SessionTest, TimesSomeLaunchesAfterThoseBeforeThem) {
  Session session = ready();
  EXPECT_FALSE(session.timeLaunches(0, 1, 1)) << "nothing is prepared";
  ASSERT_TRUE(session.prepare({{"in.x", floats({8, 4})}}));
  fakeCuda().launches.clear();
  auto times = session.timeLaunches(2, 3, 4);
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->size(), 4u);
  // Launch 0 once (1 is a memset), then launch 2 alone.
  EXPECT_EQ(fakeCuda().launches.size(), 5u);
  auto past = session.timeLaunches(2, 9, 1);
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().message(), "cannot run launches 2 to 9 of 4 1 times");
}

TEST_F(SessionTest, RunningOutOfMemoryLeavesTheSessionUsable) {
  Session session = ready(1 << 20);
  fakeCuda().totalBytes = fakeCuda().usedBytes + (1 << 20);
  auto large = session.run({{"in.x", floats({1 << 18, 4})}});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), ErrorCode::OutOfMemory);
  HostTensor x = floats({8, 4});
  auto small = session.run({{"in.x", x}});
  ASSERT_TRUE(small) << small.error().message();
  expectResults(small->results, x);
}

} // namespace
