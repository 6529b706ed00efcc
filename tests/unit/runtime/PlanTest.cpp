// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Dimensions from shapes, sizes of a step, and the checks before a launch.

#include "FakeDevice.h"
#include "LaunchPlan.h"
#include "ShapeBinding.h"

#include <functional>

using namespace epifold;
using namespace epifold::runtime;
using epifold::test::makeDoubleAdd;

namespace {

/// Binds for a device that runs every image and takes tensor maps.
Expected<LaunchPlan> bindHere(const ExecutableDesc &desc,
                              std::vector<int64_t> symbols) {
  DeviceInfo device;
  device.major = 9;
  auto support = findLaunchSupport(desc, device, /*hasTensorMaps=*/true, "");
  if (!support)
    return support.error();
  return bindLaunchPlan(desc, *support, std::move(symbols));
}

TEST(ShapeBinding, TakesDimensionsFromInputs) {
  ExecutableDesc desc = makeDoubleAdd(8);
  ShapeBinding shapes(desc);
  ASSERT_TRUE(shapes.observe(desc.tensors[0], DataType::F32, {5, 4}));
  ASSERT_TRUE(shapes.observe(desc.tensors[1], DataType::F32, {2, 4}));
  auto symbols = shapes.finish();
  ASSERT_TRUE(symbols) << symbols.error().message();
  EXPECT_EQ(*symbols, std::vector<int64_t>{5});
  EXPECT_EQ(*evaluateShape(desc, desc.tensors[2], *symbols), (Shape{5, 4}));
}

TEST(ShapeBinding, NamesWhatDoesNotFit) {
  ExecutableDesc desc = makeDoubleAdd(8);
  auto message = [&](DataType type, const Shape &shape) {
    ShapeBinding shapes(desc);
    auto seen = shapes.observe(desc.tensors[0], type, shape);
    if (!seen)
      return seen.error().message();
    auto done = shapes.finish();
    return done ? std::string("accepted") : done.error().message();
  };
  EXPECT_EQ(message(DataType::F32, {3, 4}), "accepted");
  EXPECT_NE(message(DataType::F64, {3, 4})
                .find("'in.x' is f64[3, 4], the graph wants f32[n, 4]"),
            std::string::npos);
  EXPECT_NE(message(DataType::F32, {3}).find("wants 2 dimensions"),
            std::string::npos);
  EXPECT_NE(message(DataType::F32, {3, 5})
                .find("size 1 of tensor 'in.x' is 5, the graph wants 4"),
            std::string::npos);
}

TEST(ShapeBinding, NamesBothTensorsThatDisagree) {
  ExecutableDesc desc = makeDoubleAdd(8);
  desc.tensors[1].shape = desc.tensors[0].shape;
  ShapeBinding shapes(desc);
  ASSERT_TRUE(shapes.observe(desc.tensors[0], DataType::F32, {3, 4}));
  auto second = shapes.observe(desc.tensors[1], DataType::F32, {2, 4});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(),
            "tensors 'in.x' and 'w.m' disagree about dimension 'n': size 0 of "
            "'in.x' is 3, size 0 of 'w.m' is 2");
}

TEST(ShapeBinding, UnboundDimensionsAreAnError) {
  ExecutableDesc desc = makeDoubleAdd(8);
  EXPECT_FALSE(ShapeBinding(desc).finish());
}

TEST(LaunchPlan, SizesAndPlacesBuffers) {
  auto plan = bindHere(makeDoubleAdd(100), {100});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->bufferBytes[1], 1600);
  EXPECT_EQ(plan->arenaBytes, 1792); // 1600, to a multiple of 256
  EXPECT_EQ(plan->totalBytes, 3 * 1792);
  EXPECT_EQ(plan->placement[1], 0);
  EXPECT_EQ(plan->placement[0], 1792);
  EXPECT_EQ(plan->placement[2], 2 * 1792);
  EXPECT_EQ(plan->placement[3], -1);
  ASSERT_EQ(plan->launches.size(), 4u);
  EXPECT_EQ(plan->launches[0].grid, (std::array<unsigned, 3>{4, 1, 1}));
  EXPECT_EQ(std::get<int64_t>(plan->launches[0].args[2]), 400);
  EXPECT_EQ(plan->launches[0].flops, 400);
}

TEST(LaunchPlan, EmptyWorkIsSkipped) {
  auto plan = bindHere(makeDoubleAdd(8), {0});
  ASSERT_TRUE(plan) << plan.error().message();
  for (const BoundLaunch &launch : plan->launches)
    EXPECT_TRUE(launch.skipped);
}

TEST(LaunchPlan, TheFirstVariantForTheSizesIsTaken) {
  ExecutableDesc desc = test::makeVariants(100);
  for (auto [rows, variant] : {std::pair(0, 0u), {8, 0u}, {9, 1u}}) {
    auto plan = bindHere(desc, {rows});
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->launches[0].variant, variant) << rows << " rows";
  }
}

TEST(LaunchPlan, TensorMapsAreBound) {
  auto plan = bindHere(test::makeVariants(8), {5});
  ASSERT_TRUE(plan) << plan.error().message();
  const auto &map = std::get<BoundTensorMap>(plan->launches[0].args[0]);
  EXPECT_EQ(map.sizes, (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(map.strides, std::vector<uint64_t>{16});
  EXPECT_EQ(map.box, (std::vector<uint32_t>{4, 8}));
}

TEST(LaunchSupport, VariantsNeedImageMapsAndSharedMemory) {
  ExecutableDesc desc = test::makeVariants(8);
  auto usable = [&](int major, bool hasMaps, int sharedBytes = 0) {
    DeviceInfo device;
    device.major = major;
    device.maxSharedBytesPerBlock = sharedBytes;
    auto support = findLaunchSupport(desc, device, hasMaps, "");
    return support ? support->variants[0] : std::vector<uint32_t>();
  };
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(usable(9, true), (Numbers{0, 1, 2}));
  EXPECT_EQ(usable(9, false), (Numbers{1, 2}));
  EXPECT_EQ(usable(8, true), Numbers{2});
  auto &variants = std::get<KernelLaunch>(desc.launches[0].body).variants;
  variants[1].sharedBytes = 1000;
  EXPECT_EQ(usable(9, true, 999), (Numbers{0, 2}));
  EXPECT_EQ(usable(9, true, 1000), (Numbers{0, 1, 2}));
}

TEST(LaunchSupport, WhatNoVariantCanDoIsSaidOnce) {
  ExecutableDesc desc = test::makeVariants(8);
  auto &variants = std::get<KernelLaunch>(desc.launches[0].body).variants;
  variants.pop_back();
  variants.push_back(variants.front());
  variants[1].sharedBytes = 1000;
  DeviceInfo device;
  device.name = "GPU";
  device.major = 9;
  auto support = findLaunchSupport(desc, device, /*hasTensorMaps=*/false, "");
  ASSERT_FALSE(support);
  EXPECT_EQ(support.error().code(), ErrorCode::Unsupported);
  EXPECT_EQ(support.error().message(),
            "kernel 'double_f32' for sm_90a takes tensor maps, which this "
            "driver lacks: install an NVIDIA driver for CUDA 12.0 or later; "
            "kernel 'double_f32' for sm_90a needs 1000 bytes of shared memory "
            "in a block, GPU has 0: compile the executable for this device");
}

struct Misfit {
  const char *reason;
  std::function<void(ExecutableDesc &)> make;
};
class BadPlan : public testing::TestWithParam<Misfit> {};

TEST_P(BadPlan, IsRefusedWithItsReason) {
  ExecutableDesc desc = makeDoubleAdd(8);
  GetParam().make(desc);
  ASSERT_TRUE(validate(desc)) << validate(desc).error().message();
  auto plan = bindHere(desc, {4});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find(GetParam().reason), std::string::npos)
      << plan.error().message();
}

KernelVariant &kernel(ExecutableDesc &desc) { return test::variantOf(desc, 0); }

/// Makes the kernel's first argument a tensor map of the 4 x 4 input.
TensorMapArg &mapped(ExecutableDesc &desc) {
  ExprIndex four = desc.addConstant(4);
  kernel(desc).args[0] = TensorMapArg{PointerArg{0, {}},
                                      DataType::F32,
                                      {four, four},
                                      {desc.addConstant(16)},
                                      {4, 4}};
  return std::get<TensorMapArg>(kernel(desc).args[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, BadPlan,
    testing::Values(
        Misfit{"buffer 1 has the negative size -1",
               [](auto &d) { d.buffers[1].size = d.addConstant(-1); }},
        Misfit{"'out.y' is f32[4, 4] and needs 64 bytes, its buffer 2 has 63",
               [](auto &d) { d.buffers[2].size = d.addConstant(63); }},
        Misfit{"exceed 2^63 - 1 bytes",
               [](auto &d) {
                 d.buffers[0].size = d.addConstant(INT64_MAX - 300);
                 d.buffers[2].size = d.addConstant(INT64_MAX - 300);
               }},
        Misfit{"grid size 65536 of dimension y",
               [](auto &d) { kernel(d).grid[1] = d.addConstant(65536); }},
        Misfit{"grid size 65536 of dimension z",
               [](auto &d) { kernel(d).grid[2] = d.addConstant(65536); }},
        Misfit{"grid size 2147483648 of dimension x",
               [](auto &d) { kernel(d).grid[0] = d.addConstant(1LL << 31); }},
        Misfit{"has a grid of 1 x 2 x 1 blocks, not of one dimension",
               [](auto &d) {
                 kernel(d).isResident = true;
                 kernel(d).grid[1] = d.addConstant(2);
               }},
        Misfit{"grid size -1 of dimension x",
               [](auto &d) { kernel(d).grid[0] = d.addConstant(-1); }},
        Misfit{"launch 0 ('double at m.mlir:1'): argument 0 of kernel "
               "'double_f32': 0 bytes at offset 65",
               [](auto &d) {
                 kernel(d).args[0] = PointerArg{0, d.addConstant(65)};
               }},
        Misfit{"0 bytes at offset -1 leave buffer 0",
               [](auto &d) {
                 kernel(d).args[0] = PointerArg{0, d.addConstant(-1)};
               }},
        Misfit{"no variant that runs on this device is for these sizes "
               "(4 > 3)",
               [](auto &d) { kernel(d).limit = {d.addSymbol(0), 3}; }},
        Misfit{"argument 0 of kernel 'double_f32': a tensor map has size 0 in "
               "dimension 1",
               [](auto &d) { mapped(d).sizes[1] = d.addConstant(0); }},
        Misfit{"has size 4294967297 in dimension 0",
               [](auto &d) {
                 mapped(d).sizes[0] = d.addConstant((1LL << 32) + 1);
               }},
        Misfit{"has stride 24 in dimension 1",
               [](auto &d) { mapped(d).strides[0] = d.addConstant(24); }},
        Misfit{"has stride 0 in dimension 1",
               [](auto &d) { mapped(d).strides[0] = d.addConstant(0); }},
        Misfit{
            "has stride 1099511627776 in dimension 1",
            [](auto &d) { mapped(d).strides[0] = d.addConstant(1LL << 40); }},
        Misfit{"more than 2^63 - 1 bytes",
               [](auto &d) {
                 TensorMapArg &map = mapped(d);
                 map.sizes[1] = d.addConstant(1LL << 32);
                 map.strides[0] = d.addConstant((1LL << 40) - 16);
               }},
        Misfit{"80 bytes at offset 0 leave buffer 0 of 64 bytes",
               [](auto &d) { mapped(d).sizes[1] = d.addConstant(5); }},
        Misfit{"64 bytes at offset 16 leave buffer 0 of 64 bytes",
               [](auto &d) { mapped(d).base.offset = d.addConstant(16); }},
        Misfit{"65 bytes at offset 0 leave buffer 2",
               [](auto &d) {
                 std::get<MemsetLaunch>(d.launches[1].body).size =
                     d.addConstant(65);
               }},
        Misfit{"64-bit range or divides by zero",
               [](auto &d) {
                 d.launches[0].flops = d.addBinary(
                     ExprOp::FloorDiv, d.addSymbol(0), d.addConstant(0));
               }},
        Misfit{"64-bit range or divides by zero", [](auto &d) {
                 d.launches[0].flops = d.addBinary(
                     ExprOp::Mul, d.addSymbol(0), d.addConstant(INT64_MAX / 2));
               }}));

} // namespace
