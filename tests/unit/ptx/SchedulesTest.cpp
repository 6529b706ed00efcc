// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Schedules as text and as data: what is read, what is refused, which rows a
// measured one serves, and that ptxas takes every one of them.

#include "backends/ptx/Schedules.h"

#include "backends/ptx/PtxasCheck.h"
#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace epifold;

namespace {

constexpr const char *kDense = R"(
  func.func @f(%a: tensor<640x256xbf16>, %b: tensor<512x256xbf16>, %o: tensor<640x512xbf16>) {
    %0 = kernel.gemm a(%a : tensor<640x256xbf16>) b(%b : tensor<512x256xbf16>) outs(%o : tensor<640x512xbf16>)
      attributes {indexing_maps = [affine_map<(g, r, n) -> (r, n)>]} {
    ^bb0(%c: f32):
      %t = arith.truncf %c : f32 to bf16
      kernel.yield %t : bf16
    } -> tensor<640x512xbf16>
    return
  })";

constexpr const char *kAnyRows = R"(
  func.func @f(%a: tensor<?x256xbf16>, %b: tensor<512x256xbf16>, %o: tensor<?x512xbf16>) {
    %0 = kernel.gemm a(%a : tensor<?x256xbf16>) b(%b : tensor<512x256xbf16>) outs(%o : tensor<?x512xbf16>)
      attributes {indexing_maps = [affine_map<(g, r, n) -> (r, n)>]} {
    ^bb0(%c: f32):
      %t = arith.truncf %c : f32 to bf16
      kernel.yield %t : bf16
    } -> tensor<?x512xbf16>
    return
  })";

/// Columns and depth that no tile divides.
constexpr const char *kOdd = R"(
  func.func @f(%a: tensor<77x200xf16>, %b: tensor<333x200xf16>, %o: tensor<77x333xf32>) {
    %0 = kernel.gemm a(%a : tensor<77x200xf16>) b(%b : tensor<333x200xf16>) outs(%o : tensor<77x333xf32>)
      attributes {indexing_maps = [affine_map<(g, r, n) -> (r, n)>]} {
    ^bb0(%c: f32):
      kernel.yield %c : f32
    } -> tensor<77x333xf32>
    return
  })";

/// Gate and up of eight experts over gathered rows.
constexpr const char *kGateUp = R"(
  func.func @f(%a: tensor<80x256xbf16>, %b: tensor<8x1024x256xbf16>, %i: tensor<640xi32>, %s: tensor<9xi64>,
               %o: tensor<640x512xbf16>) {
    %0 = kernel.gemm a(%a : tensor<80x256xbf16>) b(%b, %b : tensor<8x1024x256xbf16>, tensor<8x1024x256xbf16>)
      gather(%i : tensor<640xi32>) offsets(%s : tensor<9xi64>) outs(%o : tensor<640x512xbf16>)
      attributes {b_begins = array<i64: 0, 512>, columns = 512 : i64, gather_divisor = 8 : i64,
                  indexing_maps = [affine_map<(g, r, n) -> (r, n)>]} {
    ^bb0(%c: f32, %d: f32):
      %p = arith.mulf %c, %d : f32
      %t = arith.truncf %p : f32 to bf16
      kernel.yield %t : bf16
    } -> tensor<640x512xbf16>
    return
  })";

/// Rows of eight experts, with a weight a row.
constexpr const char *kRagged = R"(
  func.func @f(%a: tensor<640x256xbf16>, %b: tensor<8x512x256xbf16>, %s: tensor<9xi64>, %w: tensor<640x1xf32>,
               %o: tensor<640x512xbf16>) {
    %0 = kernel.gemm a(%a : tensor<640x256xbf16>) b(%b : tensor<8x512x256xbf16>) offsets(%s : tensor<9xi64>)
      extras(%w : tensor<640x1xf32>) outs(%o : tensor<640x512xbf16>)
      attributes {indexing_maps = [affine_map<(g, r, n) -> (r, 0)>, affine_map<(g, r, n) -> (r, n)>]} {
    ^bb0(%c: f32, %d: f32):
      %p = arith.mulf %c, %d : f32
      %t = arith.truncf %p : f32 to bf16
      kernel.yield %t : bf16
    } -> tensor<640x512xbf16>
    return
  })";

constexpr const char *kConvolution = R"(
  func.func @f(%a: tensor<2x320x128xbf16>, %b: tensor<4x3x128x128xbf16>, %o: tensor<4x640x128xbf16>) {
    %0 = kernel.gemm a(%a : tensor<2x320x128xbf16>) b(%b : tensor<4x3x128x128xbf16>) outs(%o : tensor<4x640x128xbf16>)
      attributes {dilation = 2 : i64, indexing_maps = [affine_map<(g, r, n) -> (g, r, n)>]} {
    ^bb0(%c: f32):
      %t = arith.truncf %c : f32 to bf16
      kernel.yield %t : bf16
    } -> tensor<4x640x128xbf16>
    return
  })";

constexpr const char *kSingle = R"(
  func.func @f(%a: tensor<640x96xf32>, %b: tensor<100x96xf32>, %o: tensor<640x100xf32>) {
    %0 = kernel.gemm a(%a : tensor<640x96xf32>) b(%b : tensor<100x96xf32>) outs(%o : tensor<640x100xf32>)
      attributes {indexing_maps = [affine_map<(g, r, n) -> (r, n)>]} {
    ^bb0(%c: f32):
      kernel.yield %c : f32
    } -> tensor<640x100xf32>
    return
  })";

class SchedulesTest : public ::testing::Test {
protected:
  SchedulesTest()
      : handler(&context, [this](Diagnostic &diagnostic) {
          message = diagnostic.str();
          return success();
        }) {
    DialectRegistry registry;
    registry.insert<func::FuncDialect>();
    ptx::registerPtxDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The product of a program.
  Operation *parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    Operation *product = nullptr;
    if (module)
      module->walk([&](kernel::GemmOp op) { product = op; });
    EXPECT_TRUE(product) << message;
    return product;
  }

  /// Measured schedules for the product.
  static std::vector<ptx::TunedSchedule>
  tunedFor(Operation *product, const std::string &target,
           std::vector<ptx::MeasuredSchedule> measured) {
    std::vector<ptx::TunedSchedule> tuned;
    for (ptx::MeasuredSchedule &entry : measured)
      tuned.push_back(
          {*ptx::describeProduct(product), target, std::move(entry)});
    return tuned;
  }

  std::string refusal(Operation *product, const std::string &schedule) {
    message.clear();
    EXPECT_TRUE(failed(ptx::schedulesInUse(
        product, "sm_90a", tunedFor(product, "sm_90a", {{640, schedule}}))))
        << schedule;
    return message;
  }

  /// "text" or "text <= 64" a variant.
  std::vector<std::string> uses(Operation *product,
                                const std::vector<ptx::TunedSchedule> &tuned,
                                const std::string &target = "sm_80") {
    auto schedules = ptx::schedulesInUse(product, target, tuned);
    std::vector<std::string> texts;
    EXPECT_TRUE(succeeded(schedules)) << message;
    if (succeeded(schedules))
      for (const ptx::ScheduleUse &use : *schedules)
        texts.push_back(
            (use.isMeasured ? "measured" : "chosen") +
            (use.mostRows ? " <= " + std::to_string(*use.mostRows) : ""));
    return texts;
  }

  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

/// A schedule that is chosen for no number of rows.
std::string unusual() {
  return "mma 128x128x32 stages=2 raster=3 warps=2x4 blocks=2";
}

} // namespace

TEST_F(SchedulesTest, ProductsAreNamedByWhatTheyAre) {
  EXPECT_EQ(*ptx::describeProduct(parse(kAnyRows)),
            "bf16 columns=512 depth=256 rows=shared epilogue=1 to=bf16");
  EXPECT_EQ(*ptx::describeProduct(parse(kGateUp)),
            "bf16 columns=512 depth=256 products=2 groups=8 rows=ragged "
            "gathered epilogue=2 to=bf16");
  EXPECT_EQ(*ptx::describeProduct(parse(kRagged)),
            "bf16 columns=512 depth=256 groups=8 rows=ragged epilogue=2 "
            "extras=f32 to=bf16");
  EXPECT_EQ(*ptx::describeProduct(parse(kConvolution)),
            "bf16 columns=128 depth=128 taps=3 groups=4 rows=shared "
            "epilogue=1 to=bf16");
  EXPECT_EQ(ptx::rowsOfProduct(parse(kConvolution)), 640);
  EXPECT_EQ(ptx::rowsOfProduct(parse(kAnyRows)), std::nullopt);
}

TEST_F(SchedulesTest, EveryCandidateIsReadAsItIsPrinted) {
  for (const char *program :
       {kDense, kOdd, kGateUp, kRagged, kConvolution, kSingle}) {
    Operation *product = parse(program);
    auto candidates = ptx::scheduleCandidates(product, "sm_90a");
    ASSERT_TRUE(succeeded(candidates)) << message;
    EXPECT_GT(candidates->size(), 2u);
    int64_t rows = *ptx::rowsOfProduct(product);
    for (const std::string &candidate : *candidates) {
      auto used = ptx::schedulesInUse(
          product, "sm_90a", tunedFor(product, "sm_90a", {{rows, candidate}}));
      ASSERT_TRUE(succeeded(used)) << message;
      ASSERT_EQ(used->size(), 1u);
      EXPECT_EQ(used->front().schedule, candidate);
      EXPECT_TRUE(used->front().isMeasured);
    }
  }
}

TEST_F(SchedulesTest, OtherProductsAndTargetsDoNotCare) {
  Operation *product = parse(kDense);
  auto tuned = tunedFor(product, "sm_80", {{640, "nonsense"}});
  EXPECT_EQ(uses(product, tuned, "sm_90a"),
            (std::vector<std::string>{"chosen"}));
  tuned[0].product += "!";
  EXPECT_EQ(uses(product, tuned), (std::vector<std::string>{"chosen"}));
}

TEST_F(SchedulesTest, ServesFromHalfToTwiceItsRows) {
  Operation *product = parse(kDense);
  auto used = [&](int64_t rows) {
    return uses(product, tunedFor(product, "sm_80", {{rows, unusual()}}));
  };
  EXPECT_EQ(used(319), (std::vector<std::string>{"chosen"}));
  EXPECT_EQ(used(320), (std::vector<std::string>{"measured"}));
  EXPECT_EQ(used(1279), (std::vector<std::string>{"measured"}));
  EXPECT_EQ(used(1280), (std::vector<std::string>{"chosen"}));
}

TEST_F(SchedulesTest, NeighboursMeetInTheMiddle) {
  Operation *product = parse(kAnyRows);
  auto alone = uses(product, tunedFor(product, "sm_80", {{10000, unusual()}}));
  ASSERT_GE(alone.size(), 3u);
  EXPECT_EQ(alone.end()[-3], "chosen <= 5000");
  EXPECT_EQ(alone.end()[-2], "measured <= 20000");
  EXPECT_EQ(alone.back(), "chosen");
  // 10000 and 22500 are apart by less than four: their mean is 15000.
  std::string other = "mma 128x128x32 stages=3 raster=3 warps=2x4 blocks=2";
  auto two = uses(product, tunedFor(product, "sm_80",
                                    {{22500, other}, {10000, unusual()}}));
  ASSERT_GE(two.size(), 4u);
  EXPECT_EQ(two.end()[-4], "chosen <= 5000");
  EXPECT_EQ(two.end()[-3], "measured <= 15000");
  EXPECT_EQ(two.end()[-2], "measured <= 45000");
}

TEST_F(SchedulesTest, RefusesWhatDoesNotFit) {
  Operation *product = parse(kDense);
  EXPECT_EQ(refusal(product, "cutlass 128x128x64"),
            "tuning: schedule 'cutlass 128x128x64' does not start with wgmma, "
            "mma or fma");
  EXPECT_EQ(refusal(product, "fma 64x64x8 stages=2 raster=8 threads=16x16"),
            "tuning: schedule 'fma 64x64x8 stages=2 raster=8 threads=16x16' is "
            "not for 'bf16', which is multiplied by wgmma or mma");
  EXPECT_EQ(
      refusal(product, "mma 128x0x32 stages=4 raster=8 warps=2x4"),
      "tuning: schedule 'mma 128x0x32 stages=4 raster=8 warps=2x4' has no "
      "tile as 128x256x64 behind 'mma'");
  EXPECT_EQ(refusal(product, "mma 128x128x32 stages=4 raster=8 threads=2x4"),
            "tuning: schedule 'mma 128x128x32 stages=4 raster=8 threads=2x4' "
            "has the word 'threads=2x4', which says nothing");
  EXPECT_EQ(refusal(product, "mma 128x128x32 stages=4 warps=2x4"),
            "tuning: schedule 'mma 128x128x32 stages=4 warps=2x4' lacks "
            "stages=, raster= or warps=");
  // Well-formed, and no emitter could follow it.
  for (const char *schedule :
       {"mma 128x120x32 stages=4 raster=8 warps=2x4 blocks=2",
        "mma 128x128x32 stages=40 raster=8 warps=2x4 blocks=2",
        "mma 128x128x32 stages=4 raster=8 warps=9x4 blocks=2",
        "wgmma 4096x256x64 stages=3 raster=16 warpgroups=64x1 resident=132"})
    EXPECT_NE(refusal(product, schedule).find("does not fit the product"),
              std::string::npos)
        << message;
}

TEST_F(SchedulesTest, PtxasTakesEverySchedule) {
  const std::string ptxas = EPIFOLD_TEST_PTXAS;
  if (ptxas.empty() && std::getenv("EPIFOLD_REQUIRE_PTXAS"))
    FAIL() << "EPIFOLD_REQUIRE_PTXAS is set, but ptxas was not found";
  if (ptxas.empty())
    GTEST_SKIP() << "this machine has no ptxas to ask; ./dev setup "
                    "--with-ptxas installs one";
  for (const char *program :
       {kDense, kOdd, kGateUp, kRagged, kConvolution, kSingle}) {
    Operation *product = parse(program);
    auto candidates = ptx::scheduleCandidates(product, "sm_90a");
    ASSERT_TRUE(succeeded(candidates)) << message;
    for (const std::string &candidate : *candidates) {
      ptx::EmitOptions options;
      options.targets = {"sm_90a"};
      options.checkWithPtxas = true;
      options.ptxasPath = ptxas;
      auto kernels = ptx::emitKernel(
          product, options,
          tunedFor(product, "sm_90a",
                   {{*ptx::rowsOfProduct(product), candidate}}));
      ASSERT_TRUE(succeeded(kernels)) << candidate << ": " << message;
      for (const ptx::EmittedKernel &kernel : *kernels)
        for (const std::string &remark : kernel.remarks)
          ADD_FAILURE() << *ptx::describeProduct(product) << "\n  " << candidate
                        << "\n  " << remark;
    }
  }
}
