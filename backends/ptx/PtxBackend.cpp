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

#include <functional>
#include <map>

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

/// Lets the kernel be launched while the launch before it still runs.
///
/// It waits for the end of that launch before it touches memory, so the order
/// of the whole stream is as without overlap: whoever waits for a kernel has
/// waited for all before it. Kernels that know better wait by themselves.
static void overlapPrevious(KernelSource &source) {
  if (source.description.overlapsPrevious)
    return;
  auto function = *source.module->getOps<LLVM::LLVMFuncOp>().begin();
  auto builder =
      ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &function.front());
  for (NVVM::GridDepActionKind action :
       {NVVM::GridDepActionKind::wait,
        NVVM::GridDepActionKind::launch_dependents})
    NVVM::GriddepcontrolOp::create(builder, action);
  source.description.overlapsPrevious = true;
}

/// The product that `op` is, or begins with.
static kernel::GemmOp findProduct(Operation *op) {
  if (auto cascade = dyn_cast<kernel::CascadeOp>(op))
    op = cascade.getFirst();
  return dyn_cast<kernel::GemmOp>(op);
}

/// The source of any launch that has no variants.
static FailureOr<KernelSource> emitSource(Operation *op);

/// Of a launch that is part of another: the product that any target and size
/// can do with.
static FailureOr<KernelSource> emitInnerSource(Operation *op) {
  kernel::GemmOp gemm = findProduct(op);
  if (!gemm)
    return emitSource(op);
  FailureOr<std::vector<KernelSource>> variants = emitGemm(gemm, {});
  if (failed(variants))
    return failure();
  return std::move(variants->back());
}

static FailureOr<KernelSource> emitSource(Operation *op) {
  return llvm::TypeSwitch<Operation *, FailureOr<KernelSource>>(op)
      .Case([](kernel::MapOp op) { return emitMap(op); })
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
      .Case([](kernel::CascadeOp op) { return emitCascade(op); })
      .Case([](kernel::PersistentOp op) {
        return emitPersistent(op, emitInnerSource);
      })
      .Default(
          [](Operation *op) { return op->emitOpError("has no PTX emitter"); });
}

FailureOr<std::vector<KernelSource>>
epifold::ptx::emitSources(Operation *op, const TargetFeatures &features) {
  auto emit = [&]() -> FailureOr<std::vector<KernelSource>> {
    if (kernel::GemmOp gemm = findProduct(op))
      return emitGemm(gemm, features);
    if (auto route = dyn_cast<kernel::RouteOp>(op))
      return emitRoute(route);
    FailureOr<KernelSource> source = emitSource(op);
    if (failed(source))
      return failure();
    std::vector<KernelSource> sources;
    sources.push_back(std::move(*source));
    return sources;
  };
  FailureOr<std::vector<KernelSource>> sources = emit();
  if (succeeded(sources) && features.hasDependentLaunch)
    llvm::for_each(*sources, overlapPrevious);
  return sources;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

TargetFeatures epifold::ptx::featuresOf(Operation *op, llvm::StringRef target,
                                        llvm::ArrayRef<TunedSchedule> tuned) {
  unsigned version = 0;
  target.drop_while([](char c) { return !llvm::isDigit(c); })
      .consumeInteger(10, version);
  TargetFeatures features = {findProduct(op) && target == "sm_90a",
                             version >= 90};
  if (tuned.empty() || !isa<kernel::GemmOp>(op))
    return features;
  std::optional<std::string> product = describeProduct(op);
  for (const TunedSchedule &entry : tuned)
    if (entry.product == product && entry.target == target)
      features.measured.push_back(entry.measured);
  return features;
}

namespace {
/// Takes the sources of one op to PTX.
class KernelEmission {
public:
  KernelEmission(Operation *op, const EmitOptions &options,
                 llvm::ArrayRef<TunedSchedule> tuned,
                 const std::optional<std::string> &ptxas)
      : op(op), options(options), tuned(tuned), ptxas(ptxas) {}

  FailureOr<std::vector<EmittedKernel>> run();

private:
  FailureOr<EmittedKernel> emit(KernelSource &source,
                                ArrayRef<std::string> targets,
                                llvm::StringRef name);
  FailureOr<KernelImage> emitImage(ModuleOp module, const std::string &target,
                                   llvm::StringRef name,
                                   SmallVectorImpl<std::string> &remarks);
  LogicalResult dump(const llvm::Twine &name, llvm::StringRef text);

  Operation *op;
  const EmitOptions &options;
  llvm::ArrayRef<TunedSchedule> tuned;
  const std::optional<std::string> &ptxas;
};
} // namespace

/// Writes a file of the dump directory, when there is one.
LogicalResult KernelEmission::dump(const llvm::Twine &name,
                                   llvm::StringRef text) {
  if (options.dumpDirectory.empty())
    return success();
  llvm::SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, name);
  std::error_code error =
      llvm::sys::fs::create_directories(options.dumpDirectory);
  if (!error) {
    llvm::raw_fd_ostream stream(path, error);
    if (!error)
      stream << text;
  }
  return error ? op->emitError("cannot write '")
                     << path << "': " << error.message()
               : success();
}

FailureOr<KernelImage>
KernelEmission::emitImage(ModuleOp module, const std::string &target,
                          llvm::StringRef name,
                          SmallVectorImpl<std::string> &remarks) {
  FailureOr<PtxText> text =
      compileToPtx(module, target, !options.dumpDirectory.empty());
  if (failed(text) || failed(dump(name + "." + target + ".ll", text->llvmIr)) ||
      failed(dump(name + "." + target + ".ptx", text->ptx)))
    return failure();
  if (ptxas) {
    PtxasReport report = checkWithPtxas(*ptxas, text->ptx, target);
    if (!report.error.empty())
      return op->emitOpError("gave PTX that does not assemble: ")
             << report.error;
    for (const std::string &remark : report.remarks)
      remarks.push_back((target + llvm::Twine(": ") + remark).str());
  }
  return KernelImage{target, std::move(text->ptx)};
}

FailureOr<EmittedKernel> KernelEmission::emit(KernelSource &source,
                                              ArrayRef<std::string> targets,
                                              llvm::StringRef name) {
  EmittedKernel kernel = std::move(source.description);
  if (!options.dumpDirectory.empty() &&
      failed(
          dump(name + "." + targets.front() + ".mlir", print(*source.module))))
    return failure();
  if (failed(lowerToLlvmDialect(*source.module)))
    return failure();
  for (const std::string &target : targets) {
    FailureOr<KernelImage> image =
        emitImage(*source.module, target, name, kernel.remarks);
    if (failed(image))
      return failure();
    kernel.images.push_back(std::move(*image));
  }
  return kernel;
}

FailureOr<std::vector<EmittedKernel>> KernelEmission::run() {
  std::map<TargetFeatures, SmallVector<std::string>, std::greater<>> targets;
  for (const std::string &target : options.targets)
    targets[featuresOf(op, target, tuned)].push_back(target);
  std::string hash = options.dumpDirectory.empty()
                         ? ""
                         : llvm::utohexstr(llvm::xxh3_64bits(getKernelKey(op)),
                                           /*LowerCase=*/true, 16);
  std::vector<EmittedKernel> kernels;
  for (const auto &[features, sharers] : targets) {
    FailureOr<std::vector<KernelSource>> sources = emitSources(op, features);
    if (failed(sources))
      return failure();
    assert(!sources->back().description.limitedSize &&
           "the last variant is for any size");
    for (auto [i, source] : llvm::enumerate(*sources)) {
      std::string name = source.description.entry + "-" + hash;
      if (sources->size() > 1)
        name += "-" + std::to_string(i);
      FailureOr<EmittedKernel> kernel = emit(source, sharers, name);
      if (failed(kernel))
        return failure();
      kernels.push_back(std::move(*kernel));
    }
  }
  return kernels;
}

FailureOr<std::vector<EmittedKernel>>
epifold::ptx::emitKernel(Operation *op, const EmitOptions &options) {
  return emitKernel(op, options, {});
}

FailureOr<std::vector<EmittedKernel>>
epifold::ptx::emitKernel(Operation *op, const EmitOptions &options,
                         llvm::ArrayRef<TunedSchedule> tuned) {
  if (options.targets.empty())
    return op->emitOpError("is to be emitted for no target");
  for (llvm::StringRef target : options.targets)
    if (!isKnownTarget(target))
      return op->emitError("unknown PTX target '")
             << target << "'; name one of sm_80, sm_86, sm_89, sm_90a, …";
  std::optional<std::string> ptxas;
  if (options.checkWithPtxas)
    ptxas = findPtxas(options.ptxasPath);
  if (options.checkWithPtxas && !ptxas)
    return op->emitError("PTX is to be checked, but ptxas is neither in PATH "
                         "nor in /usr/local/cuda/bin");
  return KernelEmission(op, options, tuned, ptxas).run();
}
