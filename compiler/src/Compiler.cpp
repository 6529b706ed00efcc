// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs the pipeline on a graph and packs the executable.

#include "epifold/Compiler.h"

#include "backends/ptx/PtxBackend.h"
#include "compiler/src/Export.h"
#include "compiler/src/GraphImpl.h"
#include "compiler/src/Lowering.h"
#include "compiler/src/Products.h"
#include "compiler/src/RemarkScope.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace epifold {

std::string versionString() {
  return "epifold " EPIFOLD_VERSION " (MLIR " LLVM_VERSION_STRING ")";
}

/// A copy of the graph's module after the passes that `build` adds.
static Expected<OwningOpRef<ModuleOp>> runPasses(
    const Graph &graph, const std::string &fusion,
    const FusionRemarkHandler &onRemark,
    llvm::function_ref<std::optional<std::string>(OpPassManager &, StringRef)>
        build) {
  MLIRContext *context = graph.impl().context.get();
  OwningOpRef<ModuleOp> module = graph.impl().module->clone();
  PassManager manager(context);
  if (auto reason = build(manager, fusion))
    return Error(ErrorCode::InvalidArgument, *reason);
  DiagnosticCollector diagnostics(context);
  RemarkScope remarks(*context, onRemark);
  if (failed(manager.run(*module)))
    return diagnostics.takeError(ErrorCode::Compile,
                                 "the graph could not be lowered");
  return module;
}

Expected<OwningOpRef<ModuleOp>>
lowerToKernels(const Graph &graph, const std::string &fusion,
               const FusionRemarkHandler &onRemark) {
  return runPasses(graph, fusion, onRemark, buildPipeline);
}

static Expected<void>
writeStage(const CompileOptions &options, StringRef name,
           llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (options.dumpDirectory.empty())
    return {};
  std::error_code code =
      llvm::sys::fs::create_directories(options.dumpDirectory);
  std::string path = options.dumpDirectory + "/" + name.str();
  if (!code) {
    llvm::raw_fd_ostream stream(path, code);
    if (!code)
      print(stream);
  }
  if (code)
    return Error(ErrorCode::Io, "cannot write " + path + ": " + code.message());
  return {};
}

static Expected<void> checkTargets(const std::vector<std::string> &targets) {
  if (targets.empty())
    return Error(ErrorCode::InvalidArgument,
                 "no target given; name one or more of sm_80, sm_90a");
  return {};
}

Expected<CompiledGraph> compile(const Graph &graph,
                                const CompileOptions &options) {
  if (auto ok = checkTargets(options.targets); !ok)
    return ok.error();
  if (auto ok =
          writeStage(options, "graph.mlir",
                     [&](llvm::raw_ostream &os) { os << graph.toText(); });
      !ok)
    return ok.error();
  Expected<OwningOpRef<ModuleOp>> module =
      lowerToKernels(graph, options.fusion, options.onFusionRemark);
  if (!module)
    return module.error();
  if (auto ok =
          writeStage(options, "kernel.mlir",
                     [&](llvm::raw_ostream &os) { (*module)->print(os); });
      !ok)
    return ok.error();

  CompiledGraph compiled;
  runtime::ExecutableDesc desc;
  desc.producer = versionString();
  desc.fusion = options.fusion;
  DiagnosticCollector diagnostics(graph.impl().context.get());
  func::FuncOp function = *(*module)->getOps<func::FuncOp>().begin();
  if (failed(exportFunction(function, options, desc, compiled.remarks)))
    return diagnostics.takeError(ErrorCode::Compile,
                                 "a kernel could not be emitted");
  desc.graph = graph.toBytecode();
  if (auto ok = runtime::validate(desc); !ok)
    return ok.error().withContext(
        "the compiler made an executable that is not valid");
  compiled.kernels = desc.modules.size();
  compiled.launches = desc.launches.size();
  compiled.executable = runtime::serialize(desc);
  return compiled;
}

Expected<std::string> emitStage(const Graph &graph, const std::string &stage,
                                const CompileOptions &options) {
  if (stage == "graph" || stage == "kernel") {
    Expected<OwningOpRef<ModuleOp>> module =
        runPasses(graph, options.fusion, options.onFusionRemark,
                  stage == "graph" ? buildGraphPipeline : buildPipeline);
    if (!module)
      return module.error();
    std::string text;
    llvm::raw_string_ostream stream(text);
    (*module)->print(stream);
    return text;
  }
  if (stage != "schedules" && stage != "ptx")
    return Error(ErrorCode::InvalidArgument,
                 "unknown stage '" + stage +
                     "'; stages are graph, kernel, schedules, ptx");
  if (auto ok = checkTargets(options.targets); !ok)
    return ok.error();
  if (stage == "schedules") {
    Expected<std::vector<ProductReport>> products =
        listProducts(graph, options);
    if (!products)
      return products.error();
    return printProducts(*products);
  }
  Expected<OwningOpRef<ModuleOp>> module =
      lowerToKernels(graph, options.fusion, options.onFusionRemark);
  if (!module)
    return module.error();
  CompileOptions first = options;
  first.targets.resize(1);
  runtime::ExecutableDesc desc;
  std::vector<std::string> remarks;
  DiagnosticCollector diagnostics(graph.impl().context.get());
  if (failed(exportFunction(*(*module)->getOps<func::FuncOp>().begin(), first,
                            desc, remarks)))
    return diagnostics.takeError(ErrorCode::Compile,
                                 "a kernel could not be emitted");
  std::string text;
  for (const runtime::ModuleDesc &kernel : desc.modules)
    text.append(kernel.images.front().ptx.begin(),
                kernel.images.front().ptx.end());
  return text;
}

} // namespace epifold
