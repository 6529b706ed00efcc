// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers kernel modules with LLVM's NVPTX backend under the exactness contract.

#include "backends/ptx/LlvmPipeline.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

/// A PTX version that has sm_90a and that every driver since CUDA 12.4 takes.
static constexpr llvm::StringLiteral kPtxFeature = "+ptx84";

static const llvm::Target &getNvptx() {
  static const llvm::Target *target = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(
        llvm::Triple("nvptx64-nvidia-cuda"), error);
  }();
  return *target;
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(llvm::StringRef target) {
  llvm::TargetOptions options;
  // Nothing is contracted, so every add and mul carries `.rn` and ptxas
  // contracts nothing either.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(getNvptx().createTargetMachine(
      llvm::Triple("nvptx64-nvidia-cuda"), target, kPtxFeature, options,
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

bool epifold::ptx::isKnownTarget(llvm::StringRef target) {
  unsigned version = 0;
  llvm::StringRef digits = target;
  if (!digits.consume_front("sm_"))
    return false;
  digits.consume_back("a");
  if (digits.getAsInteger(10, version) || version < 80 || version > 90)
    return false;
  // Asked of a machine that exists: one for an unknown GPU would print a
  // complaint.
  return createTargetMachine("sm_80")->getMCSubtargetInfo()->isCPUStringValid(
      target);
}

namespace {
/// The math dialect's exact ops. Its transcendentals stay illegal: the contract
/// has kernel.math for them.
template <typename From, typename To>
struct ConvertExactMath : OpConversionPattern<From> {
  using OpConversionPattern<From>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(From op, typename From::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<To>(op, TypeRange(op.getType()),
                                    adaptor.getOperands());
    return success();
  }
};
} // namespace

LogicalResult epifold::ptx::lowerToLlvmDialect(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter converter(context);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<ModuleOp>();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  patterns.add<ConvertExactMath<math::AbsFOp, LLVM::FAbsOp>,
               ConvertExactMath<math::FmaOp, LLVM::FMAOp>>(context);
  return applyFullConversion(module, target, std::move(patterns));
}

/// Enough to clean up what emitters leave: folds, common subexpressions,
/// invariant code. None of these passes reassociates or contracts floats
/// without fast-math flags, which the emitters never set.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  llvm::AAManager aliases = builder.buildDefaultAAPipeline();
  machine.registerDefaultAliasAnalyses(aliases);
  functions.registerPass([&] { return std::move(aliases); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager manager;
  manager.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  manager.run(module, modules);
}

FailureOr<epifold::ptx::PtxText>
epifold::ptx::compileToPtx(ModuleOp module, llvm::StringRef target,
                           bool keepLlvmIr) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context, "epifold");
  if (!translated)
    return failure();
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  optimize(*translated, *machine);

  PtxText text;
  if (keepLlvmIr) {
    llvm::raw_string_ostream stream(text.llvmIr);
    translated->print(stream, nullptr);
  }
  llvm::SmallString<0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("LLVM cannot write assembly for '")
           << target << "'";
  codegen.run(*translated);
  text.ptx = buffer.str().str();
  return text;
}
