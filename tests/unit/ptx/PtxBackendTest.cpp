// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tests the PTX backend's keys, parameters, grids and refusals.

#include "backends/ptx/PtxBackend.h"

#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <thread>

using namespace mlir;
using namespace epifold;

namespace {
/// A product of the rows of one expert; names, group and row type are the
/// test's.
std::string expertProduct(llvm::StringRef function, llvm::StringRef bName,
                          int group, llvm::StringRef depth = "64") {
  return llvm::formatv(R"(
    func.func @{0}(%a: tensor<?x{3}xbf16>, %{1}: tensor<128x{3}xbf16>, %offsets: tensor<9xi64>, %o: tensor<?x128xbf16>) {{
      %0 = kernel.gemm a(%a : tensor<?x{3}xbf16>) b(%{1} : tensor<128x{3}xbf16>) offsets(%offsets : tensor<9xi64>)
        outs(%o : tensor<?x128xbf16>)
        attributes {{indexing_maps = [affine_map<(g, r, n) -> (r, n)>], group = {2} : i64} {{
      ^bb0(%c: f32):
        %t = arith.truncf %c : f32 to bf16
        kernel.yield %t : bf16
      } -> tensor<?x128xbf16>
      return
    })",
                       function, bName, group, depth)
      .str();
}

class PtxBackendTest : public ::testing::Test {
protected:
  PtxBackendTest() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect>();
    ptx::registerPtxDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The launches of a program, which stays alive with the fixture.
  SmallVector<Operation *> parse(const std::string &text) {
    modules.push_back(parseSourceString<ModuleOp>(text, &context));
    SmallVector<Operation *> launches;
    if (modules.back())
      modules.back()->walk(
          [&](DestinationStyleOpInterface op) { launches.push_back(op); });
    return launches;
  }

  MLIRContext context;
  SmallVector<OwningOpRef<ModuleOp>> modules;
};

ptx::EmitOptions optionsFor(llvm::StringRef target) {
  ptx::EmitOptions options;
  options.targets = {target.str()};
  return options;
}
} // namespace

TEST_F(PtxBackendTest, LaunchesOfAllExpertsShareAKey) {
  auto launches =
      parse(expertProduct("f", "w0", 0) + expertProduct("g", "w5", 5));
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(ptx::getKernelKey(launches[0]), ptx::getKernelKey(launches[1]));
}

TEST_F(PtxBackendTest, OperandTypesAreInTheKey) {
  auto launches = parse(expertProduct("f", "w", 0, "64") +
                        expertProduct("g", "w", 0, "72"));
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_NE(ptx::getKernelKey(launches[0]), ptx::getKernelKey(launches[1]));
}

TEST_F(PtxBackendTest, TheKeyLeavesTheOpAsItIs) {
  auto launches = parse(expertProduct("f", "w", 3));
  ASSERT_EQ(launches.size(), 1u);
  ptx::getKernelKey(launches[0]);
  EXPECT_EQ(cast<kernel::GemmOp>(launches[0]).getGroup(), 3);
}

TEST_F(PtxBackendTest, ParametersArePointersThenDynamicSizesThenTheGroup) {
  auto launches = parse(expertProduct("f", "w", 3));
  ASSERT_EQ(launches.size(), 1u);
  auto kernels = ptx::emitKernel(launches[0], optionsFor("sm_80"));
  ASSERT_TRUE(succeeded(kernels));
  ptx::EmittedKernel *kernel = &kernels->front();
  using Kind = ptx::KernelParameter::Kind;
  std::vector<std::tuple<Kind, unsigned, unsigned>> parameters;
  for (const auto &parameter : kernel->parameters)
    parameters.emplace_back(parameter.kind, parameter.operand, parameter.dim);
  std::vector<std::tuple<Kind, unsigned, unsigned>> expected = {
      {Kind::Operand, 0, 0}, {Kind::Operand, 1, 0}, {Kind::Operand, 2, 0},
      {Kind::Operand, 3, 0}, {Kind::Dim, 0, 0},     {Kind::Dim, 3, 0},
      {Kind::Group, 0, 0}};
  EXPECT_EQ(parameters, expected);
}

TEST_F(PtxBackendTest, TheGridOfTheVariantForARunCoversItsRows) {
  auto launches = parse(expertProduct("f", "w", 3));
  ASSERT_EQ(launches.size(), 1u);
  auto kernels = ptx::emitKernel(launches[0], optionsFor("sm_80"));
  ASSERT_TRUE(succeeded(kernels));
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ(kernels->front().sizeLimit, 64);
  EXPECT_TRUE(kernels->front().limitedSize);
  EXPECT_FALSE(kernels->back().limitedSize);
  Builder builder(&context);
  for (auto [rows, blocks] :
       {std::pair(0, 0), std::pair(1, 1), std::pair(64, 1), std::pair(65, 1),
        std::pair(128, 1), std::pair(129, 2)}) {
    const ptx::EmittedKernel &kernel =
        rows <= 64 ? kernels->front() : kernels->back();
    ASSERT_EQ(kernel.gridDims.size(), 1u);
    EXPECT_EQ(kernel.gridDims[0], std::pair(0u, 0u));
    SmallVector<Attribute> folded;
    ASSERT_TRUE(succeeded(
        kernel.grid.constantFold({builder.getIndexAttr(rows)}, folded)));
    EXPECT_EQ(cast<IntegerAttr>(folded[0]).getInt(), blocks) << rows << " rows";
    EXPECT_EQ(cast<IntegerAttr>(folded[1]).getInt(), 1);
  }
}

TEST_F(PtxBackendTest, AnUnknownTargetIsRefused) {
  auto launches = parse(expertProduct("f", "w", 3));
  ASSERT_EQ(launches.size(), 1u);
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  EXPECT_TRUE(failed(ptx::emitKernel(launches[0], optionsFor("sm_70"))));
  EXPECT_NE(message.find("unknown PTX target 'sm_70'"), std::string::npos)
      << message;
}

TEST_F(PtxBackendTest, AnEmptyProductIsRefused) {
  auto launches = parse(expertProduct("f", "w", 3, "0"));
  ASSERT_EQ(launches.size(), 1u);
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  EXPECT_TRUE(failed(ptx::emitKernel(launches[0], optionsFor("sm_80"))));
  EXPECT_NE(message.find("has no reduction steps"), std::string::npos)
      << message;
}

TEST_F(PtxBackendTest, ConcurrentEmissionsGiveTheTextOfOne) {
  auto launches = parse(expertProduct("f", "w", 0, "64") +
                        expertProduct("g", "w", 1, "72"));
  ASSERT_EQ(launches.size(), 2u);
  std::string alone[2], together[2];
  auto emit = [&](std::string &text, size_t i) {
    auto kernels = ptx::emitKernel(launches[i], optionsFor("sm_90a"));
    if (succeeded(kernels))
      text = kernels->front().images.front().ptx;
  };
  for (size_t i : {0, 1})
    emit(alone[i], i);
  {
    std::jthread first(emit, std::ref(together[0]), 0),
        second(emit, std::ref(together[1]), 1);
  }
  for (size_t i : {0, 1}) {
    EXPECT_FALSE(alone[i].empty());
    EXPECT_EQ(alone[i], together[i]);
  }
}
