// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Takes a kernel op through its emitter, the LLVM pipeline and ptxas.

#include "backends/ptx/PtxBackend.h"

#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/LlvmPipeline.h"
#include "backends/ptx/PtxasCheck.h"
#include "backends/ptx/routing/RoutingEmitters.h"
#include "backends/ptx/rows/RowEmitters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

void epifold::ptx::registerPtxDialects(DialectRegistry &registry) {
  registry.insert<kernel::KernelDialect, arith::ArithDialect, math::MathDialect,
                  cf::ControlFlowDialect, scf::SCFDialect, LLVM::LLVMDialect,
                  NVVM::NVVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

std::string epifold::ptx::getKernelKey(Operation *op) {
  // A copy without its operands' names: the printer then numbers block
  // arguments alike wherever the op stood.
  OpBuilder builder(op->getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  Block &block = *module->getBody();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block.addArgument(operand.getType(),
                                             builder.getUnknownLoc()));
  builder.setInsertionPointToStart(&block);
  Operation *copy = builder.clone(*op, mapping);
  if (copy->hasAttr("group"))
    copy->setAttr("group", builder.getI64IntegerAttr(0));
  std::string key;
  llvm::raw_string_ostream stream(key);
  copy->print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return key;
}

FailureOr<KernelSource>
epifold::ptx::emitSource(Operation *op, const TargetFeatures &features) {
  return llvm::TypeSwitch<Operation *, FailureOr<KernelSource>>(op)
      .Case([](kernel::MapOp op) { return emitMap(op); })
      .Case([&](kernel::GemmOp op) { return emitGemm(op, features); })
      .Case([](kernel::SoftmaxOp op) { return emitSoftmax(op); })
      .Case([](kernel::RowReduceOp op) { return emitRowReduce(op); })
      .Case([](kernel::RowStatsOp op) { return emitRowStats(op); })
      .Case([](kernel::RowNllOp op) { return emitRowNll(op); })
      .Case([](kernel::LeafStatsOp op) { return emitLeafStats(op); })
      .Case([](kernel::MergeStatsOp op) { return emitMergeStats(op); })
      .Case([](kernel::OrderedSumOp op) { return emitOrderedSum(op); })
      .Case([](kernel::GatherRowsOp op) { return emitGatherRows(op); })
      .Case([](kernel::CombineOp op) { return emitCombine(op); })
      .Case([](kernel::TopKOp op) { return emitTopK(op); })
      .Case([](kernel::RouteHistogramOp op) { return emitRouteHistogram(op); })
      .Case([](kernel::RouteScanOp op) { return emitRouteScan(op); })
      .Case([](kernel::RouteScatterOp op) { return emitRouteScatter(op); })
      .Default(
          [](Operation *op) { return op->emitOpError("has no PTX emitter"); });
}

static LogicalResult dump(Operation *op, const llvm::Twine &name,
                          llvm::StringRef directory, llvm::StringRef text) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  std::error_code error = llvm::sys::fs::create_directories(directory);
  if (!error) {
    llvm::raw_fd_ostream stream(path, error);
    if (!error)
      stream << text;
  }
  return error ? op->emitError("cannot write '")
                     << path << "': " << error.message()
               : success();
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

FailureOr<EmittedKernel> epifold::ptx::emitKernel(Operation *op,
                                                  const EmitOptions &options) {
  if (options.targets.empty())
    return op->emitOpError("is to be emitted for no target");
  for (llvm::StringRef target : options.targets)
    if (!isKnownTarget(target))
      return op->emitError("unknown PTX target '")
             << target << "'; name one of sm_80, sm_86, sm_89, sm_90a, …";
  std::optional<std::string> ptxas;
  if (options.checkWithPtxas && !(ptxas = findPtxas(options.ptxasPath)))
    return op->emitError("PTX is to be checked, but ptxas is neither in PATH "
                         "nor in /usr/local/cuda/bin");

  // Products have a source of their own for wgmma; all else is the same for
  // every target.
  auto hasWgmma = [&](llvm::StringRef target) {
    return isa<kernel::GemmOp>(op) && target == "sm_90a";
  };
  bool allHaveWgmma = llvm::all_of(options.targets, hasWgmma);
  std::optional<KernelSource> sources[2];
  EmittedKernel kernel;
  bool dumps = !options.dumpDirectory.empty();
  std::string name;
  for (const std::string &target : options.targets) {
    std::optional<KernelSource> &source = sources[hasWgmma(target)];
    if (source)
      continue;
    FailureOr<KernelSource> emitted =
        emitSource(op, {hasWgmma(target), allHaveWgmma});
    if (failed(emitted))
      return failure();
    source = std::move(*emitted);
    if (name.empty()) {
      kernel = source->description;
      name = kernel.entry + "-" +
             llvm::utohexstr(llvm::xxh3_64bits(getKernelKey(op)),
                             /*LowerCase=*/true, 16);
    }
    assert(kernel.entry == source->description.entry &&
           kernel.grid == source->description.grid &&
           kernel.block == source->description.block &&
           "one launch serves all targets");
    kernel.dynamicSharedBytes = std::max(
        kernel.dynamicSharedBytes, source->description.dynamicSharedBytes);
    if (dumps && failed(dump(op, name + "." + target + ".mlir",
                             options.dumpDirectory, print(*source->module))))
      return failure();
    if (failed(lowerToLlvmDialect(*source->module)))
      return failure();
  }
  for (const std::string &target : options.targets) {
    FailureOr<PtxText> text =
        compileToPtx(*sources[hasWgmma(target)]->module, target, dumps);
    if (failed(text))
      return failure();
    if (dumps && (failed(dump(op, name + "." + target + ".ll",
                              options.dumpDirectory, text->llvmIr)) ||
                  failed(dump(op, name + "." + target + ".ptx",
                              options.dumpDirectory, text->ptx))))
      return failure();
    if (ptxas) {
      PtxasReport report = checkWithPtxas(*ptxas, text->ptx, target);
      if (!report.error.empty())
        return op->emitOpError("gave PTX that does not assemble: ")
               << report.error;
      for (const std::string &remark : report.remarks)
        kernel.remarks.push_back(target + ": " + remark);
    }
    kernel.images.push_back({target, std::move(text->ptx)});
  }
  return kernel;
}
