// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prints the PTX, parameters and launch shape of every kernel op in a file; the
// tests' window on the PTX backend.

#include "backends/ptx/PtxBackend.h"
#include "backends/ptx/PtxasCheck.h"

#include "ir/kernel/KernelDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>

using namespace mlir;
using namespace epifold;

static llvm::cl::opt<std::string> inputPath(llvm::cl::Positional,
                                            llvm::cl::desc("<file>"),
                                            llvm::cl::init("-"));
static llvm::cl::list<std::string> targets(
    "target", llvm::cl::CommaSeparated,
    llvm::cl::desc("PTX targets (sm_80 and sm_90a when none is named)"));
static llvm::cl::opt<std::string>
    ptxasPath("ptxas", llvm::cl::desc("The ptxas to check with (when there is "
                                      "none, images stay unchecked)"));
static llvm::cl::opt<bool>
    quiet("quiet",
          llvm::cl::desc("Print no PTX, only what ptxas says and the time"));
static llvm::cl::opt<std::string>
    dumpDirectory("dump-dir",
                  llvm::cl::desc("Write MLIR, LLVM IR and PTX there"));

static void printTensorMap(const ptx::TensorMap &map) {
  llvm::outs() << "// tensor map of operand" << map.operand << ": sizes";
  for (AffineExpr size : map.sizes)
    llvm::outs() << " " << size;
  llvm::outs() << ", strides";
  for (AffineExpr stride : map.strides)
    llvm::outs() << " " << stride;
  llvm::outs() << ", box";
  for (int64_t size : map.box)
    llvm::outs() << " " << size;
  llvm::outs() << "\n";
}

static void printDescription(const ptx::EmittedKernel &kernel) {
  llvm::outs() << "// kernel " << kernel.entry << "\n// parameters:";
  for (const ptx::KernelParameter &parameter : kernel.parameters) {
    switch (parameter.kind) {
    case ptx::KernelParameter::Kind::Operand:
      llvm::outs() << " operand" << parameter.operand;
      break;
    case ptx::KernelParameter::Kind::Dim:
      llvm::outs() << " dim" << parameter.operand << "." << parameter.dim;
      break;
    case ptx::KernelParameter::Kind::Group:
      llvm::outs() << " group";
      break;
    case ptx::KernelParameter::Kind::Status:
      llvm::outs() << " status";
      break;
    case ptx::KernelParameter::Kind::TensorMap:
      llvm::outs() << " map" << parameter.map;
      break;
    case ptx::KernelParameter::Kind::Symbol:
      llvm::outs() << " symbol" << parameter.dim;
      break;
    }
  }
  llvm::outs() << "\n// grid " << kernel.grid << " over";
  for (auto [operand, dim] : kernel.gridDims) {
    bool isSymbol = operand == ptx::EmittedKernel::kFunction;
    llvm::outs() << " " << (isSymbol ? "function" : std::to_string(operand))
                 << "." << dim;
  }
  llvm::outs() << "\n// block " << kernel.block[0] << " " << kernel.block[1]
               << " " << kernel.block[2] << ", dynamic shared "
               << kernel.dynamicSharedBytes
               << (kernel.isResident ? ", resident\n" : "\n");
  llvm::for_each(kernel.tensorMaps, printTensorMap);
  if (kernel.limitedSize)
    llvm::outs() << "// for " << kernel.limitedSize << " up to "
                 << kernel.sizeLimit << "\n";
}

static LogicalResult emit(Operation *op, const ptx::EmitOptions &options) {
  auto start = std::chrono::steady_clock::now();
  FailureOr<std::vector<ptx::EmittedKernel>> kernels =
      ptx::emitKernel(op, options);
  if (failed(kernels))
    return failure();
  std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  bool isFine = true;
  for (const ptx::EmittedKernel &kernel : *kernels) {
    printDescription(kernel);
    for (const ptx::KernelImage &image : kernel.images)
      if (!quiet)
        llvm::outs() << "// target " << image.target << "\n"
                     << image.ptx << "\n";
    for (const std::string &remark : kernel.remarks)
      op->emitError("ptxas: ") << remark;
    isFine &= kernel.remarks.empty();
  }
  if (quiet)
    llvm::outs() << llvm::formatv("// {0:f1} ms\n", elapsed.count());
  return success(isFine);
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Emits the kernel ops of a file as PTX.\n");
  DialectRegistry registry;
  registry.insert<func::FuncDialect>();
  ptx::registerPtxDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(inputPath, sources, &context);
  if (!module)
    return 1;

  ptx::EmitOptions options;
  options.targets.assign(targets.begin(), targets.end());
  if (options.targets.empty())
    options.targets = {"sm_80", "sm_90a"};
  options.ptxasPath = ptxasPath;
  options.checkWithPtxas = ptx::findPtxas(ptxasPath).has_value();
  options.dumpDirectory = dumpDirectory;
  bool isFine = true;
  module->walk<WalkOrder::PreOrder>([&](DestinationStyleOpInterface op) {
    if (isa<kernel::KernelDialect>(op->getDialect()))
      isFine &= succeeded(emit(op, options));
    return WalkResult::skip(); // What is in it is part of it.
  });
  return isFine ? 0 : 1;
}
