// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Executables: expressions, round trips, and everything that must be refused.

#include "epifold/runtime/Executable.h"
#include "ExecutableFormat.h"
#include "Expr.h"
#include "FakeDevice.h"

#include <cstring>
#include <fstream>
#include <functional>

using namespace epifold;
using namespace epifold::runtime;
using epifold::test::makeDoubleAdd;

namespace {

TEST(Expr, DividesTowardEitherInfinity) {
  struct Case {
    int64_t a, b, floor, ceil;
  };
  for (auto [a, b, floor, ceil] :
       {Case{7, 2, 3, 4}, Case{-7, 2, -4, -3}, Case{7, -2, -4, -3},
        Case{-7, -2, 3, 4}, Case{6, 3, 2, 2}, Case{0, 5, 0, 0}}) {
    EXPECT_EQ(applyExprOp(ExprOp::FloorDiv, a, b), floor);
    EXPECT_EQ(applyExprOp(ExprOp::CeilDiv, a, b), ceil);
  }
}

TEST(Expr, OverflowAndZeroDivisorsHaveNoValue) {
  EXPECT_FALSE(applyExprOp(ExprOp::Add, INT64_MAX, 1));
  EXPECT_FALSE(applyExprOp(ExprOp::Sub, INT64_MIN, 1));
  EXPECT_FALSE(applyExprOp(ExprOp::Mul, int64_t(1) << 32, int64_t(1) << 31));
  EXPECT_FALSE(applyExprOp(ExprOp::FloorDiv, 1, 0));
  EXPECT_FALSE(applyExprOp(ExprOp::CeilDiv, 1, 0));
  EXPECT_FALSE(applyExprOp(ExprOp::FloorDiv, INT64_MIN, -1));
  EXPECT_EQ(applyExprOp(ExprOp::Max, -3, 2), 2);
  EXPECT_EQ(applyExprOp(ExprOp::Min, -3, 2), -3);
}

TEST(Expr, MalformedProgramsAreFound) {
  ExprStep constant{ExprOp::Constant, 1}, add{ExprOp::Add, 0};
  EXPECT_FALSE(checkExpr({{}}, 0));
  EXPECT_FALSE(checkExpr({{add}}, 0));
  EXPECT_FALSE(checkExpr({{constant, add}}, 0));
  EXPECT_FALSE(checkExpr({{constant, constant}}, 0));
  EXPECT_FALSE(checkExpr({{{static_cast<ExprOp>(9), 0}}}, 0));
  EXPECT_FALSE(checkExpr({{{ExprOp::Symbol, 1}}}, 1));
  EXPECT_FALSE(checkExpr({{{ExprOp::Symbol, -1}}}, 1));
  EXPECT_TRUE(checkExpr({{constant, constant, add}}, 0));
}

TEST(Expr, BuilderSharesAndFolds) {
  ExecutableDesc desc;
  desc.symbols = {"n"};
  EXPECT_EQ(desc.addConstant(5), desc.addConstant(5));
  ExprIndex folded =
      desc.addBinary(ExprOp::Mul, desc.addConstant(5), desc.addConstant(3));
  EXPECT_EQ(folded, desc.addConstant(15));
  // What has no value stays an expression, and fails where it is used.
  ExprIndex undefined = desc.addBinary(ExprOp::FloorDiv, desc.addConstant(5),
                                       desc.addConstant(0));
  EXPECT_FALSE(evaluateExpr(desc.exprs[undefined], {}));
  ExprIndex symbolic = desc.addBinary(ExprOp::Sub, desc.addSymbol(0), folded);
  int64_t n[] = {20};
  EXPECT_EQ(*evaluateExpr(desc.exprs[symbolic], n), 5);
}

TEST(Executable, ReadsBackWhatWasWritten) {
  ExecutableDesc desc = makeDoubleAdd(8);
  desc.graph = {1, 2, 3};
  desc.modules[0].images[0].cubin = {9, 8, 7};
  desc.launches.push_back(
      {CopyLaunch{{2, {}}, {1, desc.addConstant(0)}, desc.addConstant(0)},
       "copy",
       {},
       {}});
  std::vector<uint8_t> bytes = serialize(desc);
  EXPECT_TRUE(looksLikeExecutable(bytes));
  auto loaded = Executable::load(bytes);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_TRUE(loaded->desc() == desc);
  EXPECT_EQ(serialize(loaded->desc()), bytes) << "bytes must be reproducible";
  EXPECT_NE(loaded->find(TensorKind::Input, "in.x"), nullptr);
  EXPECT_EQ(loaded->find(TensorKind::Result, "in.x"), nullptr);
}

TEST(Executable, LoadsFromAnyAddress) {
  std::vector<uint8_t> bytes = serialize(makeDoubleAdd(2));
  for (size_t shift : {1, 2, 4}) {
    std::vector<uint8_t> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    EXPECT_TRUE(Executable::load(std::span(moved).subspan(shift)));
  }
}

TEST(Executable, FilesAreNamedInErrors) {
  test::TemporaryFolder folder;
  std::string path = folder.file("a.efx");
  std::ofstream(path) << "not an executable";
  auto loaded = Executable::open(path);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find(path), std::string::npos);
  EXPECT_EQ(Executable::open(folder.file("none")).error().code(),
            ErrorCode::Io);
}

TEST(Executable, EmptyAndForeignBytesAreRefused) {
  EXPECT_FALSE(Executable::load({}));
  std::vector<uint8_t> zeros(1000);
  EXPECT_FALSE(Executable::load(zeros));
}

TEST(Executable, BytesAfterTheEndAreRefused) {
  std::vector<uint8_t> bytes = serialize(makeDoubleAdd(2));
  bytes.push_back(0);
  EXPECT_FALSE(Executable::load(bytes));
}

TEST(Executable, PlansWithAForgedHashAreStillVerified) {
  // Someone who rewrites the hash gets past it: the plan itself must hold.
  std::vector<uint8_t> garbage(64, 0xff);
  auto loaded = Executable::load(wrapPlan(garbage));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::Corrupt);
  EXPECT_FALSE(Executable::load(wrapPlan({})));
}

TEST(Executable, VariantsAreReadBack) {
  ExecutableDesc desc = test::makeVariants(8);
  auto loaded = Executable::load(serialize(desc));
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->desc(), desc);
}

TEST(Executable, OtherFormatVersionsAreNamed) {
  std::vector<uint8_t> bytes = serialize(makeDoubleAdd(8));
  // The version is the envelope's only word of its value, near the front.
  bool isFound = false;
  for (size_t i = 8; i + 4 <= 64 && !isFound; i += 4) {
    uint32_t word;
    std::memcpy(&word, &bytes[i], sizeof(word));
    if (word != kFormatVersion)
      continue;
    std::vector<uint8_t> old = bytes;
    --old[i];
    auto loaded = Executable::load(old);
    ASSERT_FALSE(loaded);
    isFound = loaded.error().code() == ErrorCode::Unsupported &&
              loaded.error().message().find(
                  "format version 1, this runtime reads version 2") !=
                  std::string::npos;
  }
  EXPECT_TRUE(isFound);
}

struct Mistake {
  const char *reason; ///< Part of the message.
  std::function<void(ExecutableDesc &)> make;
};

class BadExecutable : public testing::TestWithParam<Mistake> {};

TEST_P(BadExecutable, IsRefusedWithItsReason) {
  ExecutableDesc desc = makeDoubleAdd(8);
  ASSERT_TRUE(validate(desc)) << validate(desc).error().message();
  GetParam().make(desc);
  auto valid = validate(desc);
  ASSERT_FALSE(valid);
  EXPECT_NE(valid.error().message().find(GetParam().reason), std::string::npos)
      << valid.error().message();
  // The loader must come to the same verdict.
  auto loaded = Executable::load(serialize(desc));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find(GetParam().reason),
            std::string::npos);
}

KernelVariant &kernel(ExecutableDesc &desc) { return test::variantOf(desc, 0); }

/// Makes the kernel's first argument a tensor map.
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
    Reasons, BadExecutable,
    testing::Values(
        Mistake{"expression 0: an operation lacks an operand",
                [](auto &d) { d.exprs[0].steps = {{ExprOp::Add, 0}}; }},
        Mistake{"unknown kind 6",
                [](auto &d) { d.buffers[1].kind = BufferKind(6); }},
        Mistake{"buffer 1: expression 9999",
                [](auto &d) { d.buffers[1].size = 9999; }},
        Mistake{"not its size", [](auto &d) { d.buffers[3].data.pop_back(); }},
        Mistake{"holds data but is no constant",
                [](auto &d) { d.buffers[1].data = {1}; }},
        Mistake{"second status buffer",
                [](auto &d) { d.buffers.push_back(d.buffers[4]); }},
        Mistake{"is not of 32 bytes",
                [](auto &d) { d.buffers[4].size = d.addConstant(16); }},
        Mistake{"has no name", [](auto &d) { d.tensors[0].name = ""; }},
        Mistake{"unknown kind 7",
                [](auto &d) { d.tensors[0].kind = TensorKind(7); }},
        Mistake{"unknown element type 99",
                [](auto &d) { d.tensors[0].type = DataType(99); }},
        Mistake{"two arguments are named 'in.x'",
                [](auto &d) { d.tensors[1].name = "in.x"; }},
        Mistake{"two results are named 'out.y'",
                [](auto &d) { d.tensors[3].name = "out.y"; }},
        Mistake{"'in.x': expression 9999",
                [](auto &d) { d.tensors[0].shape[0] = 9999; }},
        Mistake{"'in.x': buffer 99", [](auto &d) { d.tensors[0].buffer = 99; }},
        Mistake{"has a layout but is no parameter",
                [](auto &d) { d.tensors[0].layout = {1, 0}; }},
        Mistake{"is no permutation",
                [](auto &d) { d.tensors[1].layout = {1, 1}; }},
        Mistake{"has 1 dimensions, its shape 2",
                [](auto &d) { d.tensors[1].layout = {0}; }},
        Mistake{"is not of the tensor's kind",
                [](auto &d) { d.tensors[0].buffer = 5; }},
        Mistake{"lives in the status buffer",
                [](auto &d) { d.tensors[2].buffer = 4; }},
        Mistake{"share buffer 0",
                [](auto &d) {
                  d.tensors.push_back(d.tensors[0]);
                  d.tensors.back().name = "in.z";
                }},
        Mistake{
            "nothing fills buffer 6",
            [](auto &d) { d.buffers.push_back({BufferKind::Input, 0, {}}); }},
        Mistake{"gives dimension 'm'",
                [](auto &d) { d.symbols.push_back("m"); }},
        Mistake{"no usable entry name",
                [](auto &d) { d.modules[0].entry = ""; }},
        Mistake{"has no image", [](auto &d) { d.modules[0].images.clear(); }},
        Mistake{"'sm_x', which is no target",
                [](auto &d) { d.modules[0].images[0].target = "sm_x"; }},
        Mistake{"two images for sm_90a",
                [](auto &d) { d.modules[0].images[0].target = "sm_90a"; }},
        Mistake{"empty image",
                [](auto &d) { d.modules[0].images[0].ptx = {}; }},
        Mistake{"zero byte",
                [](auto &d) { d.modules[0].images[0].ptx.push_back(0); }},
        Mistake{"launch 0 ('double at m.mlir:1'): module 9",
                [](auto &d) { kernel(d).module = 9; }},
        Mistake{"is not within 1 to 1024 threads",
                [](auto &d) { kernel(d).block = {1025, 1, 1}; }},
        Mistake{"is not within 1 to 1024 threads",
                [](auto &d) { kernel(d).block = {64, 32, 1}; }},
        Mistake{"is not within 1 to 1024 threads",
                [](auto &d) { kernel(d).block = {1, 0, 1}; }},
        Mistake{"is not within 1 to 1024 threads",
                [](auto &d) { kernel(d).block = {1, 1, 65}; }},
        Mistake{"launch 0 ('double at m.mlir:1'): expression 9999",
                [](auto &d) { kernel(d).grid[1] = 9999; }},
        Mistake{"launch 0 ('double at m.mlir:1'): no variant",
                [](auto &d) {
                  std::get<KernelLaunch>(d.launches[0].body).variants.clear();
                }},
        Mistake{"expression 9999",
                [](auto &d) { kernel(d).limit = {9999, 1}; }},
        Mistake{"module 'double_f32' has an image for sm_80, which cannot wait",
                [](auto &d) { kernel(d).overlapsPrevious = true; }},
        Mistake{"buffer 99 of 6", [](auto &d) { mapped(d).base.buffer = 99; }},
        Mistake{"unknown element type 99",
                [](auto &d) { mapped(d).type = DataType(99); }},
        Mistake{"a box of 0 dimensions",
                [](auto &d) { mapped(d) = TensorMapArg(); }},
        Mistake{"a box of 6 dimensions, 6 sizes and 5 strides",
                [](auto &d) {
                  TensorMapArg &map = mapped(d);
                  map.box.resize(6, 1);
                  map.sizes.resize(6, 0);
                  map.strides.resize(5, 0);
                }},
        Mistake{"a box of 2 dimensions, 1 sizes and 1 strides",
                [](auto &d) { mapped(d).sizes.pop_back(); }},
        Mistake{"a box of 2 dimensions, 2 sizes and 0 strides",
                [](auto &d) { mapped(d).strides.clear(); }},
        Mistake{"expression 9999", [](auto &d) { mapped(d).sizes[1] = 9999; }},
        Mistake{"expression 9999",
                [](auto &d) { mapped(d).strides[0] = 9999; }},
        Mistake{"a box of 0 elements", [](auto &d) { mapped(d).box[1] = 0; }},
        Mistake{"a box of 257 elements",
                [](auto &d) { mapped(d).box[1] = 257; }},
        Mistake{"rows of 20 bytes", [](auto &d) { mapped(d).box[0] = 5; }},
        Mistake{"rows of 144 bytes", [](auto &d) { mapped(d).box[0] = 36; }},
        Mistake{"33 arguments take 4224 bytes, more than 4096",
                [](auto &d) {
                  TensorMapArg map = mapped(d);
                  kernel(d).args.assign(33, map);
                }},
        Mistake{"513 arguments", [](auto &d) { kernel(d).args.resize(513); }},
        Mistake{"buffer 99 of 6",
                [](auto &d) { kernel(d).args[0] = PointerArg{99, {}}; }},
        Mistake{"expression 9999",
                [](auto &d) { kernel(d).args[0] = PointerArg{0, 9999}; }},
        Mistake{"expression 9999",
                [](auto &d) { kernel(d).args[0] = IntArg{9999}; }},
        Mistake{"neither scratch nor result",
                [](auto &d) {
                  std::get<MemsetLaunch>(d.launches[1].body).target.buffer = 3;
                }},
        Mistake{"counts by an unknown expression",
                [](auto &d) { d.launches[0].flops = 9999; }}));

} // namespace
