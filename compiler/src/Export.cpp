// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes launch plan, buffer plan and tensor table of a kernel function.

#include "compiler/src/Export.h"

#include "compiler/src/GraphImpl.h"
#include "compiler/src/Products.h"
#include "compiler/src/WorkEstimate.h"
#include "ir/graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/MemoryPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <atomic>
#include <thread>

using namespace mlir;

namespace epifold {
namespace {

class Exporter {
public:
  Exporter(func::FuncOp function, const CompileOptions &options,
           runtime::ExecutableDesc &desc)
      : function(function), options(options), desc(desc), plan(function) {}

  LogicalResult run(std::vector<std::string> &remarks) {
    addSymbols();
    addBuffers();
    addTensors();
    collectKernels();
    if (failed(emitKernels(remarks)))
      return failure();
    for (Operation &op : function.getBody().front())
      if (kernelOf.contains(&op))
        addLaunch(&op);
    return success();
  }

private:
  runtime::ExprIndex expr(AffineExpr e) {
    using runtime::ExprOp;
    auto binary = [&](ExprOp op) {
      auto node = cast<AffineBinaryOpExpr>(e);
      runtime::ExprIndex lhs = expr(node.getLHS());
      return desc.addBinary(op, lhs, expr(node.getRHS()));
    };
    switch (e.getKind()) {
    case AffineExprKind::Constant:
      return desc.addConstant(cast<AffineConstantExpr>(e).getValue());
    case AffineExprKind::SymbolId:
      return desc.addSymbol(cast<AffineSymbolExpr>(e).getPosition());
    case AffineExprKind::Add:
      return binary(ExprOp::Add);
    case AffineExprKind::Mul:
      return binary(ExprOp::Mul);
    case AffineExprKind::FloorDiv:
      return binary(ExprOp::FloorDiv);
    case AffineExprKind::CeilDiv:
      return binary(ExprOp::CeilDiv);
    case AffineExprKind::Mod: { // a mod b = a − (a floordiv b)·b
      auto node = cast<AffineBinaryOpExpr>(e);
      return expr(node.getLHS() -
                  node.getLHS().floorDiv(node.getRHS()) * node.getRHS());
    }
    case AffineExprKind::DimId:
      break;
    }
    llvm_unreachable("sizes are expressions over symbols");
  }

  /// Symbols are named after the argument dimension that defines them.
  void addSymbols() {
    auto symbols = function->getAttrOfType<ArrayAttr>("kernel.symbols");
    for (ArrayAttr entry : symbols.getAsRange<ArrayAttr>()) {
      auto argument = cast<IntegerAttr>(entry[0]).getInt(),
           dim = cast<IntegerAttr>(entry[1]).getInt();
      desc.symbols.push_back(
          (argumentName(argument).first + "[" + Twine(dim) + "]").str());
    }
  }

  void addBuffers() {
    for (const MemoryPlan::Buffer &buffer : plan.getBuffers()) {
      runtime::BufferDesc entry;
      entry.size = expr(buffer.bytes.front());
      for (AffineExpr bytes : ArrayRef<AffineExpr>(buffer.bytes).drop_front())
        entry.size =
            desc.addBinary(runtime::ExprOp::Max, entry.size, expr(bytes));
      switch (buffer.kind) {
      case MemoryPlan::Kind::Scratch:
        entry.kind = runtime::BufferKind::Scratch;
        break;
      case MemoryPlan::Kind::Argument:
        entry.kind = argumentName(buffer.number).second
                         ? runtime::BufferKind::Parameter
                         : runtime::BufferKind::Input;
        break;
      case MemoryPlan::Kind::Result:
        entry.kind = runtime::BufferKind::Result;
        break;
      case MemoryPlan::Kind::Constant:
        entry.kind = runtime::BufferKind::Constant;
        entry.data = bytesOf(buffer.constant);
        break;
      }
      desc.buffers.push_back(std::move(entry));
    }
    status = desc.buffers.size();
    desc.buffers.push_back({runtime::BufferKind::Status,
                            desc.addConstant(sizeof(runtime::StatusWord)),
                            {}});
  }

  static std::vector<uint8_t> bytesOf(ElementsAttr constant) {
    auto dense = cast<DenseElementsAttr>(constant);
    ArrayRef<char> raw = dense.getRawData();
    std::vector<uint8_t> bytes;
    int64_t elements = dense.getNumElements();
    if (dense.getElementType().isInteger(
            1)) { // Packed bits; memory has a byte an element.
      for (bool value : dense.getValues<bool>())
        bytes.push_back(value);
      return bytes;
    }
    for (int64_t i = 0; i < (dense.isSplat() ? elements : 1); ++i)
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    return bytes;
  }

  /// File name of an argument, and whether it is a parameter.
  std::pair<StringRef, bool> argumentName(unsigned argument) {
    auto input = function.getArgAttrOfType<StringAttr>(
        argument, graph::GraphDialect::inputAttrName);
    if (input)
      return {input.getValue(), false};
    return {function
                .getArgAttrOfType<StringAttr>(
                    argument, graph::GraphDialect::paramAttrName)
                .getValue(),
            true};
  }

  void addTensors() {
    for (BlockArgument argument : function.getArguments()) {
      auto [name, isParameter] = argumentName(argument.getArgNumber());
      runtime::TensorDesc tensor;
      tensor.name = name.str();
      tensor.kind = isParameter ? runtime::TensorKind::Parameter
                                : runtime::TensorKind::Input;
      tensor.type =
          *dataTypeOf(cast<ShapedType>(argument.getType()).getElementType());
      tensor.buffer = plan.getPlace(argument).buffer;
      SmallVector<AffineExpr> sizes(plan.getSizes(argument));
      if (auto layout = function.getArgAttrOfType<DenseI64ArrayAttr>(
              argument.getArgNumber(), "kernel.layout")) {
        // The function sees the packed sizes; files have the logical ones.
        for (auto [i, dim] : llvm::enumerate(layout.asArrayRef())) {
          tensor.layout.push_back(dim);
          sizes[dim] = plan.getSizes(argument)[i];
        }
      }
      for (AffineExpr size : sizes)
        tensor.shape.push_back(expr(size));
      desc.tensors.push_back(std::move(tensor));
    }
    auto returnOp =
        cast<func::ReturnOp>(function.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands())) {
      runtime::TensorDesc tensor;
      tensor.name = function
                        .getResultAttrOfType<StringAttr>(
                            i, graph::GraphDialect::resultAttrName)
                        .getValue()
                        .str();
      tensor.kind = runtime::TensorKind::Result;
      tensor.type =
          *dataTypeOf(cast<ShapedType>(value.getType()).getElementType());
      tensor.buffer = plan.getPlace(value).buffer;
      for (AffineExpr size : plan.getSizes(value))
        tensor.shape.push_back(expr(size));
      desc.tensors.push_back(std::move(tensor));
    }
  }

  void collectKernels() {
    llvm::StringMap<unsigned> known;
    for (Operation &op : function.getBody().front()) {
      if (!isa<DestinationStyleOpInterface>(op))
        continue;
      auto [entry, isNew] =
          known.try_emplace(ptx::getKernelKey(&op), representatives.size());
      if (isNew)
        representatives.push_back(&op);
      kernelOf[&op] = entry->second;
    }
  }

  LogicalResult emitKernels(std::vector<std::string> &remarks) {
    ptx::EmitOptions emit;
    emit.targets.assign(options.targets.begin(), options.targets.end());
    emit.checkWithPtxas = options.checkWithPtxas;
    emit.ptxasPath = options.ptxas;
    emit.dumpDirectory = options.dumpDirectory;
    std::vector<ptx::TunedSchedule> tuned = tunedSchedulesOf(options.tuning);
    kernels.resize(representatives.size());
    std::atomic<size_t> next = 0;
    std::atomic<bool> anyFailed = false;
    auto work = [&] {
      for (size_t i = next++; i < representatives.size() && !anyFailed;
           i = next++) {
        FailureOr<std::vector<ptx::EmittedKernel>> variants =
            ptx::emitKernel(representatives[i], emit, tuned);
        if (failed(variants))
          anyFailed = true;
        else
          kernels[i] = std::move(*variants);
      }
    };
    size_t threads = options.threads
                         ? options.threads
                         : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> workers;
    for (size_t i = 1; i < std::min(threads, representatives.size()); ++i)
      workers.emplace_back(work);
    work();
    for (std::thread &worker : workers)
      worker.join();
    if (anyFailed)
      return failure();
    for (const std::vector<ptx::EmittedKernel> &variants : kernels) {
      firstModules.push_back(desc.modules.size());
      for (const ptx::EmittedKernel &variant : variants) {
        addModule(variant);
        llvm::append_range(remarks, variant.remarks);
      }
    }
    return success();
  }

  void addModule(const ptx::EmittedKernel &kernel) {
    runtime::ModuleDesc module;
    module.entry = kernel.entry;
    for (const ptx::KernelImage &image : kernel.images)
      module.images.push_back(
          {image.target,
           std::vector<uint8_t>(image.ptx.begin(), image.ptx.end()),
           {}});
    desc.modules.push_back(std::move(module));
  }

  void addLaunch(Operation *op) {
    unsigned number = kernelOf[op];
    runtime::KernelLaunch launch;
    for (auto [i, kernel] : llvm::enumerate(kernels[number]))
      launch.variants.push_back(
          variantOf(op, kernel, firstModules[number] + i));
    runtime::LaunchDesc entry;
    entry.body = std::move(launch);
    entry.label = labelOf(op);
    WorkEstimate work = estimateWork(op, plan);
    entry.flops = expr(work.flops);
    entry.bytes = expr(work.bytes);
    desc.launches.push_back(std::move(entry));
  }

  runtime::KernelVariant variantOf(Operation *op,
                                   const ptx::EmittedKernel &kernel,
                                   runtime::ModuleIndex module) {
    runtime::KernelVariant variant;
    variant.module = module;
    SmallVector<AffineExpr> sizes;
    for (auto [operand, dim] : kernel.gridDims)
      sizes.push_back(operand == ptx::EmittedKernel::kFunction
                          ? getAffineSymbolExpr(dim, op->getContext())
                          : plan.getSizes(op->getOperand(operand))[dim]);
    auto sizeExpr = [&](AffineExpr size) {
      return expr(size.replaceSymbols(sizes));
    };
    if (kernel.limitedSize)
      variant.limit = {sizeExpr(kernel.limitedSize), kernel.sizeLimit};
    for (auto [i, size] : llvm::enumerate(kernel.grid.getResults()))
      variant.grid[i] = sizeExpr(size);
    for (auto [i, threads] : llvm::enumerate(kernel.block))
      variant.block[i] = threads;
    variant.sharedBytes = kernel.dynamicSharedBytes;
    variant.overlapsPrevious = kernel.overlapsPrevious;
    variant.isResident = kernel.isResident;
    for (const ptx::KernelParameter &parameter : kernel.parameters) {
      if (parameter.kind != ptx::KernelParameter::Kind::TensorMap) {
        variant.args.push_back(argumentOf(op, parameter));
        continue;
      }
      const ptx::TensorMap &map = kernel.tensorMaps[parameter.map];
      runtime::TensorMapArg argument;
      argument.base = pointerTo(op, map.operand);
      argument.type =
          *dataTypeOf(cast<ShapedType>(op->getOperand(map.operand).getType())
                          .getElementType());
      llvm::append_range(argument.sizes, llvm::map_range(map.sizes, sizeExpr));
      llvm::append_range(argument.strides,
                         llvm::map_range(map.strides, sizeExpr));
      argument.box.assign(map.box.begin(), map.box.end());
      variant.args.push_back(std::move(argument));
    }
    return variant;
  }

  runtime::PointerArg pointerTo(Operation *op, unsigned number) {
    // An out that no launch has written yet has its place as this launch's
    // result.
    auto launch = cast<DestinationStyleOpInterface>(op);
    OpOperand &use = op->getOpOperand(number);
    MemoryPlan::Place place = plan.getPlace(
        launch.isDpsInit(&use) ? launch.getTiedOpResult(&use) : use.get());
    runtime::PointerArg pointer;
    pointer.buffer = place.buffer;
    if (place.offset != getAffineConstantExpr(0, op->getContext()))
      pointer.offset = expr(place.offset);
    return pointer;
  }

  /// Of any parameter but a tensor map.
  runtime::ArgDesc argumentOf(Operation *op,
                              const ptx::KernelParameter &parameter) {
    using Kind = ptx::KernelParameter::Kind;
    switch (parameter.kind) {
    case Kind::Operand:
      return pointerTo(op, parameter.operand);
    case Kind::Dim:
      return runtime::IntArg{expr(
          plan.getSizes(op->getOperand(parameter.operand))[parameter.dim])};
    case Kind::Group:
      return runtime::IntArg{
          desc.addConstant(op->getAttrOfType<IntegerAttr>("group").getInt())};
    case Kind::Status:
      return runtime::PointerArg{status, std::nullopt};
    case Kind::Symbol:
      return runtime::IntArg{desc.addSymbol(parameter.dim)};
    case Kind::TensorMap:
      break;
    }
    llvm_unreachable("tensor maps are handled by the caller");
  }

  static std::string labelOf(Operation *op) {
    std::string label = op->getName().stripDialect().str();
    if (isa<kernel::PersistentOp, kernel::CascadeOp>(op)) {
      SmallVector<StringRef> names;
      for (auto launch : op->getRegion(0).getOps<DestinationStyleOpInterface>())
        names.push_back(launch->getName().stripDialect());
      label += " (" + llvm::join(names, ", ") + ")";
    }
    if (auto group = op->getAttrOfType<IntegerAttr>("group"))
      label += " of expert " + std::to_string(group.getInt());
    if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
      label += " (" + place.getFilename().str() + ":" +
               std::to_string(place.getLine()) + ")";
    return label;
  }

  func::FuncOp function;
  const CompileOptions &options;
  runtime::ExecutableDesc &desc;
  MemoryPlan plan;
  runtime::BufferIndex status = 0;
  SmallVector<Operation *> representatives;
  DenseMap<Operation *, unsigned> kernelOf;
  std::vector<std::vector<ptx::EmittedKernel>> kernels; // with variants
  std::vector<runtime::ModuleIndex> firstModules;       // by kernel
};

} // namespace

LogicalResult exportFunction(func::FuncOp function,
                             const CompileOptions &options,
                             runtime::ExecutableDesc &desc,
                             std::vector<std::string> &remarks) {
  return Exporter(function, options, desc).run(remarks);
}

} // namespace epifold
