// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The comparison behind --expect.

#include "Expect.h"
#include "FakeDevice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace epifold;
using namespace epifold::runtime;
using namespace epifold::tools;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T = float>
HostTensor make(std::vector<T> values, DataType type = DataType::F32) {
  HostTensor tensor =
      *HostTensor::allocate(type, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(),
            reinterpret_cast<T *>(tensor.mutableData()));
  return tensor;
}

Comparison compare(const HostTensor &a, const HostTensor &b,
                   Tolerance tolerance = {}) {
  return compareTensors("t", a, b, tolerance);
}

TEST(Expect, EqualityIsOfBits) {
  EXPECT_TRUE(compare(make({1, -2, kInf}), make({1, -2, kInf})).passed);
  Comparison zeros = compare(make({0.0f}), make({-0.0f}));
  EXPECT_FALSE(zeros.passed);
  EXPECT_EQ(zeros.equal, 0);
  Comparison ulp = compare(make({1, 1}), make({1, std::nextafter(1.0f, 2.0f)}));
  EXPECT_FALSE(ulp.passed);
  EXPECT_EQ(ulp.equal, 1);
  EXPECT_EQ(ulp.firstFailure, 1);
  EXPECT_EQ(ulp.maxDelta, 0x1p-23);
}

TEST(Expect, AnyNanEqualsAnyNan) {
  uint32_t bits = 0xffc12345;
  float odd;
  std::memcpy(&odd, &bits, 4);
  EXPECT_TRUE(compare(make({NAN}), make({odd})).passed);
  Comparison against = compare(make({NAN}), make({1.0f}), {false, 1, 1});
  EXPECT_FALSE(against.passed);
  EXPECT_EQ(against.maxDelta, std::numeric_limits<double>::infinity());
}

TEST(Expect, OtherTypesCompareByValue) {
  HostTensor wide = make<double>({1, 0.1}, DataType::F64);
  Comparison result = compare(make({1, 0.1f}), wide);
  EXPECT_EQ(result.equal, 1); // 0.1f is not 0.1
  EXPECT_TRUE(compare(make<int32_t>({3, -1}, DataType::I32),
                      make<int64_t>({3, -1}, DataType::I64))
                  .passed);
  EXPECT_TRUE(
      compare(make({0.0f}), make<double>({-0.0}, DataType::F64)).passed);
}

TEST(Expect, ToleranceScalesWithTheLargestExpected) {
  HostTensor expected = make({100, 0});
  EXPECT_TRUE(compare(make({100, 0.9f}), expected, {false, 1e-2, 0}).passed);
  EXPECT_FALSE(compare(make({100, 1.1f}), expected, {false, 1e-2, 0}).passed);
  EXPECT_TRUE(compare(make({100, 1.1f}), expected, {false, 1e-2, 0.2}).passed);
}

TEST(Expect, AnInfinityDoesNotLoosenTheRest) {
  HostTensor expected = make({kInf, 1});
  EXPECT_FALSE(compare(make({kInf, 2}), expected, {false, 1e-3, 0}).passed);
  EXPECT_FALSE(compare(make({-kInf, 1}), expected, {false, 1e-3, 0}).passed);
  EXPECT_TRUE(compare(make({kInf, 1}), expected, {false, 1e-3, 0}).passed);
}

TEST(Expect, ShapesMustAgree) {
  Comparison result = compare(make({1, 2}), make({1, 2, 3}));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.problem, "is f32[2], expected f32[3]");
}

TEST(Expect, AbsentAndEmptyResultsFail) {
  test::TemporaryFolder folder;
  std::string path = folder.file("e.safetensors");
  ASSERT_TRUE(writeSafetensors(path, {{"a", make({1})}, {"b", make({})}}));
  SafetensorsFile file = *SafetensorsFile::open(path);
  EXPECT_TRUE(allPassed(compareResults({{"a", make({1})}}, file, {})));
  auto absent = compareResults({{"a", make({1})}, {"z", make({1})}}, file, {});
  EXPECT_FALSE(allPassed(absent));
  EXPECT_NE(formatComparisons(absent).find("holds no tensor 'z'"),
            std::string::npos);
  // Nothing compared is no success, however equal nothing is to nothing.
  auto empty = compareResults({{"b", make({})}}, file, {});
  EXPECT_FALSE(allPassed(empty));
  EXPECT_NE(formatComparisons(empty).find("FAIL: nothing was compared"),
            std::string::npos);
  EXPECT_FALSE(allPassed({}));
}

} // namespace
