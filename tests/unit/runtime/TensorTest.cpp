// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element types, sizes and conversions of host tensors.

#include "epifold/runtime/Tensor.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace epifold;
using namespace epifold::runtime;

// Under ASan, too much memory must be refused to the caller, as without it.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace {

template <typename T>
HostTensor make(DataType type, Shape shape, std::vector<T> values) {
  HostTensor tensor = *HostTensor::allocate(type, std::move(shape));
  EXPECT_EQ(tensor.bytes(), values.size() * sizeof(T));
  std::memcpy(tensor.mutableData(), values.data(), tensor.bytes());
  return tensor;
}

TEST(DataType, NamesLeadBack) {
  for (unsigned i = 0; i < kDataTypeCount; ++i) {
    DataType type = *dataTypeFromNumber(i);
    EXPECT_EQ(dataTypeFromName(name(type)), type);
    EXPECT_EQ(dataTypeFromSafetensorsName(safetensorsName(type)), type);
  }
  EXPECT_FALSE(dataTypeFromNumber(kDataTypeCount));
  EXPECT_FALSE(dataTypeFromName("F32"));
  EXPECT_FALSE(dataTypeFromSafetensorsName("f32"));
}

TEST(Tensor, CountsElementsAndBytes) {
  EXPECT_EQ(*elementCount(Shape{}), 1);
  EXPECT_EQ(*elementCount(Shape{3, 0, 5}), 0);
  EXPECT_EQ(*byteCount(DataType::BF16, Shape{3, 5}), 30);
}

TEST(Tensor, RefusesSizesThatNoIndexReaches) {
  EXPECT_FALSE(elementCount(Shape{2, -1}));
  EXPECT_FALSE(elementCount(Shape{int64_t(1) << 32, int64_t(1) << 31}));
  // A zero must not hide an overflow or a negative size.
  EXPECT_FALSE(elementCount(Shape{0, int64_t(1) << 62, 4}));
  EXPECT_FALSE(elementCount(Shape{0, -1}));
  EXPECT_TRUE(elementCount(Shape{int64_t(1) << 62}));
  EXPECT_FALSE(byteCount(DataType::F32, Shape{int64_t(1) << 62}));
}

TEST(Tensor, AllocatesZeroedAlignedMemory) {
  HostTensor tensor = *HostTensor::allocate(DataType::F32, {7});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  for (int64_t i = 0; i < 7; ++i)
    EXPECT_EQ(tensor.dataAs<float>()[i], 0.0f);
  EXPECT_TRUE(HostTensor::allocate(DataType::F32, {0}));
  auto absurd = HostTensor::allocate(DataType::U8, {int64_t(1) << 60});
  ASSERT_FALSE(absurd);
  EXPECT_EQ(absurd.error().code(), ErrorCode::OutOfMemory);
}

TEST(Tensor, BorrowedMemoryIsNotCopied) {
  float values[4] = {1, 2, 3, 4};
  HostTensor writable = *HostTensor::borrow(DataType::F32, {4}, values);
  EXPECT_EQ(writable.mutableData(), reinterpret_cast<std::byte *>(values));
  HostTensor fixed =
      *HostTensor::borrowConst(DataType::F32, {4}, values, nullptr);
  EXPECT_EQ(fixed.mutableData(), nullptr);
  EXPECT_EQ(elementAsDouble(fixed, 2), 3.0);
}

TEST(Cast, RoundsToNearestEven) {
  HostTensor f32 = make<float>(DataType::F32, {4},
                               {1.00390625f, 1.01171875f, -0.0f, 3.4e38f});
  HostTensor bf16 = *castTensor(f32, DataType::BF16);
  const uint16_t *bits = bf16.dataAs<uint16_t>();
  EXPECT_EQ(bits[0], 0x3f80); // a tie goes to the even 1.0
  EXPECT_EQ(bits[1], 0x3f82); // and here upward
  EXPECT_EQ(bits[2], 0x8000);
  EXPECT_EQ(bits[3], 0x7f80); // past the largest: infinity
}

TEST(Cast, WideFloatsGoThroughF32) {
  // 1 + 2^-8 + 2^-40 rounds up in one step; by way of f32 it is a tie.
  HostTensor f64 = make<double>(DataType::F64, {1}, {1 + 0x1p-8 + 0x1p-40});
  EXPECT_EQ(castTensor(f64, DataType::BF16)->dataAs<uint16_t>()[0], 0x3f80);
}

TEST(Cast, KeepsSpecialValues) {
  float inf = std::numeric_limits<float>::infinity();
  HostTensor f32 = make<float>(DataType::F32, {3}, {inf, -inf, NAN});
  for (DataType type : {DataType::F64, DataType::BF16, DataType::F16}) {
    HostTensor there = *castTensor(f32, type);
    EXPECT_EQ(elementAsDouble(there, 0), double(inf));
    EXPECT_EQ(elementAsDouble(there, 1), -double(inf));
    EXPECT_TRUE(std::isnan(elementAsDouble(there, 2)));
  }
}

TEST(Cast, IntegersAreCheckedNotWrapped) {
  HostTensor i64 = make<int64_t>(DataType::I64, {3}, {-128, 127, 128});
  EXPECT_FALSE(castTensor(i64, DataType::I8));
  EXPECT_TRUE(castTensor(i64, DataType::I32));
  HostTensor f32 = make<float>(DataType::F32, {2}, {2.75f, -2.75f});
  HostTensor whole = *castTensor(f32, DataType::I32);
  EXPECT_EQ(whole.dataAs<int32_t>()[0], 2);
  EXPECT_EQ(whole.dataAs<int32_t>()[1], -2);
  EXPECT_FALSE(
      castTensor(make<float>(DataType::F32, {1}, {NAN}), DataType::I64));
  EXPECT_FALSE(
      castTensor(make<float>(DataType::F32, {1}, {0x1p63f}), DataType::I64));
  EXPECT_FALSE(castTensor(f32, DataType::I1));
}

TEST(Cast, LargeIntegersStayExactBetweenIntegerTypes) {
  int64_t large = (int64_t(1) << 53) + 1;
  HostTensor i64 = make<int64_t>(DataType::I64, {1}, {large});
  EXPECT_EQ(castTensor(i64, DataType::I64)->dataAs<int64_t>()[0], large);
  auto error = castTensor(i64, DataType::I32);
  ASSERT_FALSE(error);
  EXPECT_NE(error.error().message().find("i32 cannot hold"), std::string::npos);
}

} // namespace
