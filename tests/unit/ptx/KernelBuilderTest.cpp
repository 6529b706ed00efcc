// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tests what a kernel's frame becomes in PTX: tensor maps, size limits and
// overlapping launches.

#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/LlvmPipeline.h"
#include "backends/ptx/PtxasCheck.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr llvm::StringLiteral kCopyOfRows = R"(
  func.func @f(%x: tensor<?x64xbf16>, %o: tensor<?x64xbf16>) {
    %0 = kernel.map ins(%x : tensor<?x64xbf16>) outs(%o : tensor<?x64xbf16>)
      attributes {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], domain = 1 : i64} {
    ^bb0(%a: bf16):
      kernel.yield %a : bf16
    } -> tensor<?x64xbf16>
    return
  })";

class KernelBuilderTest : public ::testing::Test {
protected:
  KernelBuilderTest() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect>();
    registerPtxDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kCopyOfRows, &context);
    if (module)
      module->walk([&](kernel::MapOp launch) { op = launch; });
  }

  /// A kernel that copies a box of the first operand, by its tensor map, to
  /// shared memory.
  KernelSource boxCopy() {
    KernelBuilder b(op, "box_copy", {1, 1, 1});
    AffineExpr rows = b.gridSize(0, 0);
    b.setGrid(rows.ceilDiv(8));
    b.setSizeLimit(rows, 16);
    mlir::Value map = b.tensorMap(
        {0, {b.gridConstant(64), rows}, {b.gridConstant(128)}, {64, 8}});
    mlir::Value memory = b.dynamicShared(1024 + 8, 1024);
    mlir::Value barrier = b.elementPointer(memory, b.getI8Type(), b.i32(1024));
    // The copy addresses the memory of any block of a cluster.
    constexpr unsigned kClusterSpace = 7;
    mlir::Value target = LLVM::AddrSpaceCastOp::create(
        b, LLVM::LLVMPointerType::get(&context, kClusterSpace), memory);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, target, map, ValueRange{b.i32(0), b.mul(b.blockId(), b.i32(8))},
        barrier, ValueRange(), mlir::Value(), mlir::Value(),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(),
        mlir::Value());
    return b.finish();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  kernel::MapOp op;
};

/// The text from the first `begin` on.
llvm::StringRef from(llvm::StringRef text, llvm::StringRef begin) {
  size_t at = text.find(begin);
  return at == llvm::StringRef::npos ? "" : text.substr(at);
}
} // namespace

TEST_F(KernelBuilderTest, ATensorMapIsReadWhereTheParameterLies) {
  ASSERT_TRUE(op);
  KernelSource source = boxCopy();
  ASSERT_TRUE(succeeded(lowerToLlvmDialect(*source.module)));
  FailureOr<PtxText> text = compileToPtx(*source.module, "sm_90a", false);
  ASSERT_TRUE(succeeded(text));
  llvm::StringRef ptx = text->ptx;
  // Three parameters of 8 bytes come before: two pointers and a size; the size
  // of the second operand is one more.
  EXPECT_TRUE(ptx.contains(".param .align 64 .b8 box_copy_param_4[128]"))
      << text->ptx;
  // Its address is taken; a copy would be loaded and stored piece by piece.
  EXPECT_TRUE(ptx.contains("cvta.param.u64")) << text->ptx;
  EXPECT_FALSE(ptx.contains(".local")) << text->ptx;
  EXPECT_FALSE(ptx.contains("ld.param.b8")) << text->ptx;
  EXPECT_TRUE(ptx.contains("cp.async.bulk.tensor.2d.shared::cluster.global"))
      << text->ptx;
  if (std::optional<std::string> ptxas = findPtxas())
    EXPECT_EQ(checkWithPtxas(*ptxas, ptx, "sm_90a").error, "");
}

TEST_F(KernelBuilderTest, TensorMapsFollowTheOtherParameters) {
  ASSERT_TRUE(op);
  KernelSource source = boxCopy();
  const EmittedKernel &kernel = source.description;
  ASSERT_EQ(kernel.parameters.size(), 5u);
  EXPECT_EQ(kernel.parameters.back().kind, KernelParameter::Kind::TensorMap);
  EXPECT_EQ(kernel.parameters.back().map, 0u);
  ASSERT_EQ(kernel.tensorMaps.size(), 1u);
  EXPECT_EQ(kernel.tensorMaps[0].box, (llvm::SmallVector<int64_t>{64, 8}));
}

TEST_F(KernelBuilderTest, ALimitIsOverTheSymbolsOfTheGrid) {
  ASSERT_TRUE(op);
  KernelSource source = boxCopy();
  const EmittedKernel &kernel = source.description;
  EXPECT_EQ(kernel.limitedSize, getAffineSymbolExpr(0, &context));
  EXPECT_EQ(kernel.sizeLimit, 16);
  ASSERT_EQ(kernel.gridDims.size(), 1u);
  EXPECT_EQ(kernel.gridDims[0], std::pair(0u, 0u));
  EXPECT_EQ(kernel.grid.getNumSymbols(), 1u);
}

TEST_F(KernelBuilderTest, AKernelWaitsForTheLaunchBeforeBeforeItReads) {
  ASSERT_TRUE(op);
  EmitOptions options;
  options.targets = {"sm_80", "sm_90", "sm_90a"};
  auto kernels = emitKernel(op, options);
  ASSERT_TRUE(succeeded(kernels));
  // The newer targets share a variant, which comes first.
  ASSERT_EQ(kernels->size(), 2u);
  const EmittedKernel &overlapping = kernels->front(), &plain = kernels->back();
  EXPECT_TRUE(overlapping.overlapsPrevious);
  ASSERT_EQ(overlapping.images.size(), 2u);
  for (const KernelImage &image : overlapping.images) {
    llvm::StringRef body = from(image.ptx, "griddepcontrol.wait;");
    EXPECT_TRUE(body.contains("ld.global")) << image.ptx;
    EXPECT_TRUE(body.contains("griddepcontrol.launch_dependents;"))
        << image.ptx;
    EXPECT_EQ(llvm::StringRef(image.ptx).count("ld.global"),
              body.count("ld.global"));
    EXPECT_EQ(llvm::StringRef(image.ptx).count("st.global"),
              body.count("st.global"));
  }
  EXPECT_FALSE(plain.overlapsPrevious);
  ASSERT_EQ(plain.images.size(), 1u);
  EXPECT_EQ(plain.images[0].target, "sm_80");
  EXPECT_FALSE(llvm::StringRef(plain.images[0].ptx).contains("griddepcontrol"));
}
