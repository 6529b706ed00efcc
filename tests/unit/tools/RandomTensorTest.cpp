// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random tensors: their distribution, their period, and that they repeat.

#include "compiler/tools/epifold-bench/RandomTensor.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace epifold;
using namespace epifold::tools;
using runtime::HostTensor;

namespace {

constexpr int64_t kPeriod = (int64_t(1) << 24) - 1;

TEST(RandomTensorTest, FloatsAreNormal) {
  for (DataType type :
       {DataType::F64, DataType::F32, DataType::BF16, DataType::F16}) {
    HostTensor tensor = *randomTensor(type, {300, 333}, {1.0, 0.5, 0}, 7);
    double sum = 0, squares = 0, fourth = 0;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      double x = (elementAsDouble(tensor, i) - 1.0) / 0.5;
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
    auto n = static_cast<double>(tensor.elements());
    EXPECT_NEAR(sum / n, 0, 0.02) << name(type);
    EXPECT_NEAR(squares / n, 1, 0.03) << name(type);
    EXPECT_NEAR(fourth / n, 3, 0.2) << name(type);
  }
}

TEST(RandomTensorTest, NeighboursAreIndependent) {
  HostTensor tensor = *randomTensor(DataType::F64, {100000}, {}, 7);
  const double *values = tensor.dataAs<double>();
  double next = 0, radii = 0;
  for (int64_t i = 0; i + 1 < tensor.elements(); ++i) {
    next += values[i] * values[i + 1];
    // Both of a pair are made from one radius.
    radii += (values[i] * values[i] - 1) * (values[i + 1] * values[i + 1] - 1);
  }
  EXPECT_NEAR(next / 1e5, 0, 0.02);
  EXPECT_NEAR(radii / 1e5, 0, 0.04);
}

TEST(RandomTensorTest, IntegersStayBelowTheLimitAndReachIt) {
  for (DataType type : {DataType::I64, DataType::I32, DataType::I8}) {
    HostTensor tensor = *randomTensor(type, {4000}, {0, 1, 5}, 3);
    int64_t counts[5] = {};
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      auto value = static_cast<int64_t>(elementAsDouble(tensor, i));
      ASSERT_GE(value, 0);
      ASSERT_LT(value, 5);
      ++counts[value];
    }
    for (int64_t count : counts)
      EXPECT_NEAR(static_cast<double>(count), 800, 120);
  }
  HostTensor flags = *randomTensor(DataType::I1, {1000}, {}, 3);
  for (int64_t i = 0; i < flags.elements(); ++i)
    EXPECT_LE(elementAsDouble(flags, i), 1);
}

TEST(RandomTensorTest, RefusesALimitThatTheTypeCannotHold) {
  EXPECT_FALSE(randomTensor(DataType::I8, {4000}, {0, 1, 1000}, 3));
}

TEST(RandomTensorTest, DependsOnTheSeedAlone) {
  auto bytes = [](uint64_t seed) {
    HostTensor tensor = *randomTensor(DataType::F32, {200000}, {}, seed);
    return std::string(reinterpret_cast<const char *>(tensor.data()),
                       tensor.bytes());
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

TEST(RandomTensorTest, LargeTensorsRepeatWithAnOddPeriod) {
  HostTensor tensor =
      *randomTensor(DataType::I8, {2 * kPeriod + 5}, {0, 1, 100}, 3);
  const auto *values = tensor.dataAs<int8_t>();
  EXPECT_EQ(std::memcmp(values, values + kPeriod, kPeriod), 0);
  EXPECT_EQ(std::memcmp(values, values + 2 * kPeriod, 5), 0);
  // Rows of a power of two differ although the numbers repeat.
  EXPECT_NE(std::memcmp(values, values + (kPeriod + 1), 4096), 0);
}

TEST(RandomTensorTest, EmptyTensorsAreFine) {
  Expected<HostTensor> tensor = randomTensor(DataType::BF16, {0, 8}, {}, 1);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->bytes(), 0u);
}

} // namespace
