// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damages valid files in every small way: each copy is refused or read safely.

#include "ExecutableFormat.h"
#include "FakeDevice.h"
#include "LaunchPlan.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Safetensors.h"

#include <fstream>
#include <iterator>
#include <random>

using namespace epifold;
using namespace epifold::runtime;

namespace {

std::vector<uint8_t> validSafetensors() {
  test::TemporaryFolder folder;
  std::string path = folder.file("a.safetensors");
  TensorMap tensors = {{"in.x", *HostTensor::allocate(DataType::F32, {3, 2})},
                       {"w.b", *HostTensor::allocate(DataType::BF16, {5})},
                       {"out.i", *HostTensor::allocate(DataType::I64, {1})}};
  EXPECT_TRUE(writeSafetensors(path, tensors, {{"case", "x"}}));
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Reads all that a caller could read of the file.
void useSafetensors(std::span<const uint8_t> bytes) {
  auto file = SafetensorsFile::parse(std::as_bytes(bytes), "mutant");
  if (!file)
    return;
  for (const std::string &name : file->names())
    if (auto tensor = file->tensor(name))
      for (int64_t i = 0; i < tensor->elements(); ++i)
        (void)elementAsDouble(*tensor, i);
}

class Mutation : public testing::TestWithParam<ExecutableDesc (*)(int64_t)> {};

TEST_P(Mutation, TruncatedExecutablesAreRefused) {
  std::vector<uint8_t> bytes = serialize(GetParam()(2));
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(Executable::load(std::span(bytes).first(size))) << size;
}

TEST_P(Mutation, EveryFlippedBitOfAnExecutableIsRefused) {
  std::vector<uint8_t> bytes = serialize(GetParam()(2));
  ASSERT_TRUE(Executable::load(bytes));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1u << bit % 8;
    ASSERT_FALSE(Executable::load(bytes)) << "bit " << bit;
    bytes[bit / 8] ^= 1u << bit % 8;
  }
}

TEST_P(Mutation, RehashedPlansAreReadSafely) {
  // Behind a correct hash stands the verifier; what passes it must also bind.
  std::vector<uint8_t> plan = serializePlan(GetParam()(2));
  DeviceInfo device;
  device.major = 9;
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> mutant = plan;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      mutant[random() % mutant.size()] ^= 1u << random() % 8;
    auto loaded = Executable::load(wrapPlan(mutant));
    if (!loaded)
      continue;
    ++accepted;
    std::vector<int64_t> symbols(loaded->desc().symbols.size(), 2);
    auto support = findLaunchSupport(loaded->desc(), device,
                                     /*hasTensorMaps=*/true, "");
    if (support)
      (void)bindLaunchPlan(loaded->desc(), *support, symbols);
  }
  EXPECT_GT(accepted, 0) << "no mutant got as far as the plan";
}

INSTANTIATE_TEST_SUITE_P(Executables, Mutation,
                         testing::Values(test::makeDoubleAdd,
                                         test::makeVariants));

TEST(SafetensorsMutation, DamagedSafetensorsAreRefusedOrReadSafely) {
  std::vector<uint8_t> bytes = validSafetensors();
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(SafetensorsFile::parse(
        std::as_bytes(std::span(bytes).first(size)), "mutant"))
        << size;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1u << bit % 8;
    useSafetensors(bytes);
    bytes[bit / 8] ^= 1u << bit % 8;
  }
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> mutant = bytes;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits)
      mutant[random() % mutant.size()] = static_cast<uint8_t>(random());
    useSafetensors(mutant);
  }
}

} // namespace
