// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The matrix unit's model against outputs recorded on an H200, and its fast
// form against its readable one.

#include "ir/numerics/MatrixUnit.h"
#include "SafetensorsFile.h"
#include "ir/numerics/KernelTable.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace epifold::numerics;
using epifold::numerics::test::SafetensorsFile;

namespace {

uint32_t bitsOf(float x) { return std::bit_cast<uint32_t>(x); }

/// The bits, all NaNs being one: their payloads are not part of the contract.
uint32_t comparableBits(float x) {
  return std::isnan(x) ? 0x7FFFFFFF : bitsOf(x);
}

template <typename T>
auto productOf(const KernelTable &table) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return table.matrixUnitBFloat16;
  else
    return table.matrixUnitFloat16;
}

/// C [rows, columns] from the readable definition, operands dense.
template <typename T>
std::vector<float> referenceProduct(const std::vector<T> &a,
                                    const std::vector<T> &b,
                                    std::vector<float> c, size_t depth) {
  size_t columns = b.size() / depth;
  std::vector<T> aStep(matrixUnitStep), bStep(matrixUnitStep);
  for (size_t i = 0; i < c.size(); ++i)
    for (size_t k0 = 0; k0 < depth; k0 += matrixUnitStep) {
      for (size_t k = k0; k < k0 + matrixUnitStep; ++k) {
        aStep[k - k0] = k < depth ? a[i / columns * depth + k] : T{};
        bStep[k - k0] = k < depth ? b[i % columns * depth + k] : T{};
      }
      c[i] = matrixUnitMultiplyAdd(aStep.data(), bStep.data(), c[i]);
    }
  return c;
}

template <typename T>
std::vector<float> fastProduct(const KernelTable &table,
                               const std::vector<T> &a, const std::vector<T> &b,
                               std::vector<float> c, size_t depth) {
  size_t rows = a.size() / depth, columns = b.size() / depth;
  productOf<T>(table)({.a = a.data(),
                       .b = b.data(),
                       .c = c.data(),
                       .rows = rows,
                       .columns = columns,
                       .depth = depth,
                       .aStride = depth,
                       .bStride = depth,
                       .cStride = columns});
  return c;
}

/// Both forms give the recorded bits; the readable one also the NaN's.
template <typename T>
void expectRecorded(const std::vector<T> &a, const std::vector<T> &b,
                    const std::vector<float> &acc,
                    const std::vector<float> &out, size_t depth) {
  std::vector<float> reference = referenceProduct(a, b, acc, depth);
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(bitsOf(reference[i]), bitsOf(out[i]))
        << "readable, element " << i;
  for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (const KernelTable *table = kernelTableFor(isa)) {
      std::vector<float> fast = fastProduct(*table, a, b, acc, depth);
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(comparableBits(fast[i]), comparableBits(out[i]))
            << "instruction set " << static_cast<int>(isa) << ", element " << i;
    }
}

/// Each case is one kind of data: subnormal operands, infinities, cancellation,
/// any bit pattern, ….
TEST(MatrixUnit, EqualsTheRecordedSpecialCases) {
  SafetensorsFile file(std::filesystem::path(EPIFOLD_NUMERICS_DATA_DIR) /
                       "matrix_unit_h200.safetensors");
  int cases = 0;
  for (const std::string &name : file.names()) {
    if (!name.ends_with(".a"))
      continue;
    std::string prefix = name.substr(0, name.size() - 1);
    SCOPED_TRACE(prefix);
    size_t depth = file.shape(name).at(1);
    auto acc = file.read<float>(prefix + "acc"),
         out = file.read<float>(prefix + "out");
    if (prefix.starts_with("bf16."))
      expectRecorded(file.read<BFloat16>(name),
                     file.read<BFloat16>(prefix + "b"), acc, out, depth);
    else
      expectRecorded(file.read<Float16>(name), file.read<Float16>(prefix + "b"),
                     acc, out, depth);
    ++cases;
  }
  EXPECT_EQ(cases, 48);
}

/// bf16 products over k = 16 to 2048, normal data and data over 24 binades.
TEST(MatrixUnit, EqualsTheRecordedProducts) {
  const char *folder = std::getenv("EPIFOLD_VECTORS_DIR");
  if (!folder || !std::filesystem::is_directory(folder))
    GTEST_SKIP() << "EPIFOLD_VECTORS_DIR names no folder of recorded products";
  int files = 0;
  for (auto &entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("matrix_unit_"))
      continue;
    SCOPED_TRACE(entry.path().filename().string());
    SafetensorsFile file(entry.path());
    auto out = file.read<float>("out.c");
    expectRecorded(file.read<BFloat16>("in.a"), file.read<BFloat16>("in.b"),
                   std::vector<float>(out.size()), out,
                   file.shape("in.a").at(1));
    ++files;
  }
  EXPECT_GE(files, 1) << "no matrix_unit_*.safetensors in " << folder;
}

/// One step of products given as floats, the rest of the 16 being zero.
float step(std::initializer_list<std::pair<float, float>> products, float acc) {
  BFloat16 a[matrixUnitStep], b[matrixUnitStep];
  size_t i = 0;
  for (auto [x, y] : products) {
    a[i] = BFloat16::fromFloat(x);
    b[i++] = BFloat16::fromFloat(y);
  }
  return matrixUnitMultiplyAdd(a, b, acc);
}

TEST(MatrixUnit, TruncatesTermsTowardZero) {
  // The unit is 2^-25 beside 1: smaller terms vanish, whatever their number and
  // sign.
  EXPECT_EQ(step({{1, 1}, {0x1p-13f, 0x1p-13f}, {0x1p-13f, 0x1p-13f}}, 0), 1);
  EXPECT_EQ(step({{-1, 1}, {-0x1p-13f, 0x1p-13f}}, 0), -1);
  // A term of one unit is kept, and shows once the sum has lost its leading
  // bits.
  EXPECT_EQ(step({{1, 1}, {0x1p-12f, 0x1p-13f}, {-1, 1}}, 0), 0x1p-25f);
  // The sum is truncated too: 1 + 3 * 2^-25 is below the next f32.
  EXPECT_EQ(step({{1, 1}, {0x1.8p-12f, 0x1p-12f}}, 0), 1);
}

TEST(MatrixUnit, ProductExponentsAreNotRenormalised) {
  // 1.5 * 1.5 counts as exponent 0, so the unit stays 2^-25 and a term of that
  // size is kept.
  EXPECT_EQ(step({{1.5f, 1.5f}, {0x1p-12f, 0x1p-13f}, {-1.5f, 1.5f}}, 0),
            0x1p-25f);
  // 2 * 1.125 is the same number with exponent 1: the term vanishes.
  EXPECT_EQ(step({{2, 1.125f}, {0x1p-12f, 0x1p-13f}, {-2, 1.125f}}, 0), 0);
}

TEST(MatrixUnit, ZerosTakeNoPart) {
  // 0 * 2^100 does not raise the unit.
  EXPECT_EQ(step({{0, 0x1p100f}, {1, 1}}, 0x1p-23f), 1 + 0x1p-23f);
  // Every zero result is +0.
  EXPECT_EQ(bitsOf(step({{-0.0f, 1}}, -0.0f)), 0u);
  EXPECT_EQ(bitsOf(step({{-1, 1}}, 1)), 0u);
  EXPECT_EQ(bitsOf(step({{-0x1p-100f, 0x1p-100f}}, -0.0f)), 0u);
}

// Kernels take whole slabs: past the end of a tap both operands are +0.
TEST(MatrixUnit, AStepOfZerosLeavesTheAccumulatorAlone) {
  const std::vector<BFloat16> bf16(matrixUnitStep);
  const std::vector<Float16> f16(matrixUnitStep);
  std::mt19937 random(7);
  auto check = [&](uint32_t bits) {
    float c = std::bit_cast<float>(bits);
    uint32_t expected = comparableBits(c);
    EXPECT_EQ(
        comparableBits(matrixUnitMultiplyAdd(bf16.data(), bf16.data(), c)),
        expected);
    EXPECT_EQ(comparableBits(matrixUnitMultiplyAdd(f16.data(), f16.data(), c)),
              expected);
  };
  for (uint32_t bits : {0x00000000u, 0x00000001u, 0x807fffffu, 0x00800000u,
                        0x7f7fffffu, 0xff800000u, 0x7f800000u})
    check(bits);
  for (int i = 0; i < 100000; ++i)
    check(static_cast<uint32_t>(random()));
}

TEST(MatrixUnit, SubnormalsCountWithTheSmallestExponent) {
  // 2^-133 * 2^120 has exponent -126 + 120, not -13: beside it 2^-32 is too
  // small for the unit 2^-31.
  EXPECT_EQ(
      step(
          {{0x1p-133f, 0x1p120f}, {0x1p-16f, 0x1p-16f}, {-0x1p-133f, 0x1p120f}},
          0),
      0);
  EXPECT_EQ(step({{0x1p-13f, 1}, {0x1p-16f, 0x1p-16f}, {-0x1p-13f, 1}}, 0),
            0x1p-32f);
  // Subnormal results are kept and truncated.
  EXPECT_EQ(step({{0x1p-70f, 0x1.8p-79f}}, 0), 0x1p-149f);
  EXPECT_EQ(step({{0x1p-133f, 1}}, 0x1p-149f), 0x1p-133f + 0x1p-149f);
}

TEST(MatrixUnit, InfinitiesAndNaNs) {
  EXPECT_EQ(step({{INFINITY, 1}}, 0), INFINITY);
  EXPECT_EQ(step({{INFINITY, -1}}, 0x1p127f), -INFINITY);
  EXPECT_EQ(step({{1, 1}}, -INFINITY), -INFINITY);
  EXPECT_EQ(bitsOf(step({{INFINITY, 0}}, 0)), 0x7FFFFFFFu);
  EXPECT_EQ(bitsOf(step({{INFINITY, 1}, {-INFINITY, 1}}, 0)), 0x7FFFFFFFu);
  EXPECT_EQ(bitsOf(step({{INFINITY, 1}}, -INFINITY)), 0x7FFFFFFFu);
  EXPECT_EQ(bitsOf(step({{NAN, 0}}, 0)), 0x7FFFFFFFu);
  EXPECT_EQ(bitsOf(step({{1, 1}}, NAN)), 0x7FFFFFFFu);
  // Overflow happens at the result only, truncation comes before it.
  EXPECT_EQ(step({{0x1p64f, 0x1p64f}}, 0), INFINITY);
  EXPECT_EQ(step({{0x1p64f, 0x1p64f}, {-0x1p63f, 0x1p64f}}, 0), 0x1p127f);
  EXPECT_EQ(step({{0x1p104f, 0x1.FEp-1f}}, 0x1.FFFFFEp127f), 0x1.FFFFFEp127f);
}

template <typename T>
std::vector<T> randomBits(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &value :
       values) // Any finite pattern, and now and then a non-finite one.
    do
      value = T::fromBits(static_cast<uint16_t>(random()));
    while (!std::isfinite(value.toFloat()) && random() % 8);
  return values;
}

template <typename T>
class MatrixUnitProductTest : public testing::Test {};
using Formats = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(MatrixUnitProductTest, Formats);

TYPED_TEST(MatrixUnitProductTest, FastFormEqualsReadableForm) {
  for (auto [rows, columns, depth] : {std::array<size_t, 3>{1, 1, 1},
                                      {1, 17, 16},
                                      {3, 16, 33},
                                      {65, 5, 64},
                                      {2, 40, 130},
                                      {5, 33, 257},
                                      {4, 0, 16},
                                      {0, 4, 16}}) {
    auto a = randomBits<TypeParam>(rows * depth, 1),
         b = randomBits<TypeParam>(columns * depth, 2);
    std::vector<float> c(rows * columns, 0x1.234p-3f);
    auto reference = columns ? referenceProduct(a, b, c, depth) : c;
    for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
      if (const KernelTable *table = kernelTableFor(isa)) {
        auto fast = fastProduct(*table, a, b, c, depth);
        for (size_t i = 0; i < fast.size(); ++i)
          ASSERT_EQ(comparableBits(fast[i]), comparableBits(reference[i]))
              << rows << "x" << columns << "x" << depth << ", instruction set "
              << static_cast<int>(isa);
      }
  }
}

TYPED_TEST(MatrixUnitProductTest, StridesStepsAndChaining) {
  // Taps of a convolution: B is [columns, depth, taps], A's rows overlap, and
  // each tap continues C.
  constexpr size_t rows = 5, columns = 7, depth = 20, taps = 3;
  auto a = randomBits<TypeParam>((rows + taps - 1) * depth, 3),
       b = randomBits<TypeParam>(columns * depth * taps, 4);
  std::vector<float> c(rows * columns), expected(rows * columns);
  for (size_t tap = 0; tap < taps; ++tap) {
    matrixUnitProduct({.a = a.data() + tap * depth,
                       .b = b.data() + tap,
                       .c = c.data(),
                       .rows = rows,
                       .columns = columns,
                       .depth = depth,
                       .aStride = depth,
                       .bStride = depth * taps,
                       .cStride = columns,
                       .bStep = taps});
    std::vector<TypeParam> aTap(a.begin() + tap * depth,
                                a.begin() + (tap + rows) * depth),
        bTap;
    for (size_t i = tap; i < b.size(); i += taps)
      bTap.push_back(b[i]);
    expected = referenceProduct(aTap, bTap, expected, depth);
  }
  for (size_t i = 0; i < c.size(); ++i)
    EXPECT_EQ(comparableBits(c[i]), comparableBits(expected[i]));
}

} // namespace
