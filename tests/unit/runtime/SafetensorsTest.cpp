// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reading and writing safetensors, and every way in which a file can be wrong.

#include "epifold/runtime/Safetensors.h"
#include "FakeDevice.h"

#include <cstring>
#include <fstream>

using namespace epifold;
using namespace epifold::runtime;
using epifold::test::TemporaryFolder;

namespace {

/// A file of that header text and data.
std::string makeFile(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char *>(&length), sizeof(length));
  return bytes + header + data;
}

Expected<SafetensorsFile> parse(const std::string &bytes) {
  return SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "t.file");
}

TEST(Safetensors, WritesAndReadsEveryType) {
  TemporaryFolder folder;
  TensorMap tensors;
  for (unsigned i = 0; i < kDataTypeCount; ++i) {
    DataType type = *dataTypeFromNumber(i);
    HostTensor tensor = *HostTensor::allocate(type, {2, 3});
    for (size_t k = 0; k < tensor.bytes(); ++k)
      tensor.mutableData()[k] =
          std::byte(type == DataType::I1 ? k % 2 : 7 * k + i);
    tensors.emplace("t." + std::string(name(type)), tensor);
  }
  tensors.emplace("scalar", *HostTensor::allocate(DataType::F32, {}));
  tensors.emplace("empty", *HostTensor::allocate(DataType::F32, {0, 4}));
  std::string path = folder.file("a.safetensors");
  ASSERT_TRUE(writeSafetensors(path, tensors, {{"case", "{\"T\": 1}"}}));

  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->names().size(), tensors.size());
  EXPECT_EQ(file->metadata().at("case"), "{\"T\": 1}");
  for (const auto &[name, tensor] : tensors) {
    auto read = file->tensor(name);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->type(), tensor.type());
    EXPECT_EQ(read->shape(), tensor.shape());
    ASSERT_EQ(read->bytes(), tensor.bytes());
    if (tensor.bytes() != 0)
      EXPECT_EQ(std::memcmp(read->data(), tensor.data(), tensor.bytes()), 0)
          << name;
  }
}

TEST(Safetensors, TensorsOutliveTheFileObject) {
  TemporaryFolder folder;
  HostTensor one = *HostTensor::allocate(DataType::F32, {1});
  float value = 42;
  std::memcpy(one.mutableData(), &value, 4);
  std::string path = folder.file("a.safetensors");
  ASSERT_TRUE(writeSafetensors(path, {{"x", one}}));
  HostTensor kept = *SafetensorsFile::open(path)->tensor("x");
  EXPECT_EQ(elementAsDouble(kept, 0), 42.0);
}

TEST(Safetensors, UnalignedTensorsAreCopied) {
  // The data area starts at an odd address.
  std::string header =
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  while ((8 + header.size()) % 4 != 1)
    header += ' ';
  float value = 3;
  std::string data(reinterpret_cast<const char *>(&value), 4);
  std::string bytes = makeFile(header, data);
  auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  HostTensor tensor = *file->tensor("x");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 4, 0u);
  EXPECT_EQ(elementAsDouble(tensor, 0), 3.0);
}

TEST(Safetensors, ForeignTypesMayStandBesideWantedOnes) {
  std::string bytes =
      makeFile(R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
               R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
               "abc");
  auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->tensor("b"));
  auto foreign = file->tensor("a");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(foreign.error().message().find("F8_E4M3"), std::string::npos);
}

TEST(Safetensors, BooleansAreZeroOrOne) {
  std::string bytes =
      makeFile(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})",
               std::string("\x01\x02", 2));
  auto file = parse(bytes);
  ASSERT_TRUE(file);
  auto tensor = file->tensor("a");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code(), ErrorCode::Corrupt);
}

struct BadFile {
  const char *reason; ///< Part of the message.
  std::string header;
  size_t dataBytes;
};

class BadSafetensors : public testing::TestWithParam<BadFile> {};

TEST_P(BadSafetensors, IsRefusedWithItsReason) {
  const BadFile &bad = GetParam();
  std::string bytes = makeFile(bad.header, std::string(bad.dataBytes, 'x'));
  auto file = parse(bytes);
  ASSERT_FALSE(file) << bad.header;
  EXPECT_EQ(file.error().code(), ErrorCode::Corrupt);
  EXPECT_NE(file.error().message().find(bad.reason), std::string::npos)
      << file.error().message();
  EXPECT_NE(file.error().message().find("t.file"), std::string::npos);
}

std::string entry(const std::string &name, const std::string &type,
                  const std::string &shape, const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}
std::string one(const std::string &type, const std::string &shape,
                const std::string &offsets) {
  return "{" + entry("a", type, shape, offsets) + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, BadSafetensors,
    testing::Values(
        BadFile{"does not start with '{'", " {}", 0},
        BadFile{"does not start with '{'", "", 0},
        BadFile{"does not start with '{'", "[]", 0},
        BadFile{"is not JSON", "{", 0}, BadFile{"is not JSON", "{}{}", 0},
        BadFile{"is not JSON", "{\"\xff\":{}}", 0},
        BadFile{"unexpected an object", "{\"a\":{\"shape\":{}}}", 0},
        BadFile{"unexpected a string", "{\"a\":\"b\"}", 0},
        BadFile{"unexpected an array", "{\"a\":[]}", 0},
        BadFile{"has no 'dtype'", "{\"a\":{}}", 0},
        BadFile{"unknown field", "{\"a\":{\"dtype\":\"F32\",\"stride\":1}}", 0},
        BadFile{"'dtype' appears twice",
                "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0},
        BadFile{"tensor 'a' appears twice",
                "{" + entry("a", "U8", "[1]", "[0,1]") + "," +
                    entry("a", "U8", "[1]", "[0,1]") + "}",
                1},
        BadFile{"'__metadata__' appears twice",
                "{\"__metadata__\":{},\"__metadata__\":{}}", 0},
        BadFile{"metadata key 'k' appears twice",
                "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0},
        BadFile{"unexpected a number", "{\"__metadata__\":{\"k\":1}}", 0},
        BadFile{"unknown dtype 'F31'", one("F31", "[1]", "[0,4]"), 4},
        BadFile{"unexpected a negative number", one("U8", "[-1]", "[0,1]"), 1},
        BadFile{"number with a fraction", one("U8", "[1.0]", "[0,1]"), 1},
        BadFile{"is past 2^63 - 1", one("U8", "[9223372036854775808]", "[0,1]"),
                1},
        BadFile{"unexpected an array", one("U8", "[[1]]", "[0,1]"), 1},
        BadFile{"has 1 numbers, not 2", one("U8", "[1]", "[0]"), 1},
        BadFile{"unexpected a number", one("U8", "[1]", "[0,1,1]"), 1},
        BadFile{"leave the data area", one("U8", "[1]", "[0,2]"), 1},
        BadFile{"leave the data area", one("U8", "[1]", "[1,0]"), 1},
        BadFile{"do not fill", one("F32", "[1]", "[0,3]"), 3},
        BadFile{"do not fill", one("U8", "[0]", "[0,1]"), 1},
        BadFile{"more than 2^63 - 1 elements",
                one("U8", "[4294967296,4294967296]", "[0,0]"), 0},
        BadFile{"more than 2^63 - 1 elements",
                one("U8", "[0,4294967296,4294967296]", "[0,0]"), 0},
        // 2^61 elements of 8 bytes are 2^64 bytes, which wraps to 0.
        BadFile{"do not fill", one("F64", "[2305843009213693952]", "[0,0]"), 0},
        BadFile{"there is a hole", one("U8", "[1]", "[1,2]"), 2},
        BadFile{"belong to none", one("U8", "[1]", "[0,1]"), 2},
        BadFile{"tensors overlap",
                "{" + entry("a", "U8", "[2]", "[0,2]") + "," +
                    entry("b", "U8", "[2]", "[1,3]") + "}",
                3},
        BadFile{"more than 64 dimensions",
                one(
                    "U8",
                    [] {
                      std::string shape = "[1";
                      for (int i = 0; i < 64; ++i)
                        shape += ",1";
                      return shape + "]";
                    }(),
                    "[0,1]"),
                1}));

TEST(Safetensors, HeaderLengthIsBounded) {
  std::string bytes = makeFile("{}", "");
  EXPECT_TRUE(parse(bytes));
  bytes[7] = char(0x80); // 2^63 and a bit
  EXPECT_FALSE(parse(bytes));
  EXPECT_FALSE(parse("1234567"));
  EXPECT_FALSE(parse(""));
}

TEST(Safetensors, DeepNestingIsNotFollowed) {
  std::string deep = "{\"a\":" + std::string(1000000, '[');
  EXPECT_FALSE(parse(makeFile(deep, "")));
}

TEST(Safetensors, MissingTensorsAndFilesAreNamed) {
  std::string bytes = makeFile("{}", "");
  auto tensor = parse(bytes)->tensor("in.x");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(tensor.error().message(), "'t.file' holds no tensor 'in.x'");
  auto file = SafetensorsFile::open("/nowhere/x.safetensors");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::Io);
  EXPECT_FALSE(SafetensorsFile::open("/tmp")); // a folder
}

TEST(Safetensors, AFailedWriteLeavesNothing) {
  TemporaryFolder folder;
  TensorMap tensors = {{"x", *HostTensor::allocate(DataType::F32, {4})}};
  EXPECT_FALSE(writeSafetensors(folder.file("no/such/dir"), tensors));
  // The target is a folder: the temporary file is made, the rename fails.
  std::filesystem::create_directory(folder.file("taken"));
  EXPECT_FALSE(writeSafetensors(folder.file("taken"), tensors));
  tensors.emplace("__metadata__", tensors.at("x"));
  EXPECT_FALSE(writeSafetensors(folder.file("y"), tensors));
  int entries = 0;
  for ([[maybe_unused]] const auto &item :
       std::filesystem::directory_iterator(folder.path()))
    ++entries;
  EXPECT_EQ(entries, 1); // "taken" alone
}

TEST(Safetensors, ReadsTheWorkloadVectors) {
  const char *vectors = std::getenv("EPIFOLD_VECTORS_DIR");
  ASSERT_TRUE(vectors) << "set EPIFOLD_VECTORS_DIR";
  auto file = SafetensorsFile::open(std::string(vectors) +
                                    "/moe_T33_d64_n48_E8_K2.safetensors");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_NE(file->metadata().at("case").find("moe_swiglu"), std::string::npos);
  HostTensor counts = *file->tensor("out.tokens_per_expert");
  ASSERT_EQ(counts.shape(), Shape{8});
  double total = 0;
  for (int64_t i = 0; i < 8; ++i)
    total += elementAsDouble(counts, i);
  EXPECT_EQ(total, 33 * 2);
}

} // namespace
