// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses, checks and prints graphs.

#include "compiler/src/GraphImpl.h"

#include "backends/ptx/PtxBackend.h"
#include "ir/graph/GraphDialect.h"
#include "ir/kernel/KernelDialect.h"
#include "ir/kernel/MathMode.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/MemoryPlan.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace epifold {

std::shared_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, kernel::KernelDialect, func::FuncDialect,
                  arith::ArithDialect, math::MathDialect>();
  ptx::registerPtxDialects(registry);
  auto context = std::make_shared<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

//===--- Diagnostics
//---------------------------------------------------------------------------------------------===//

/// "moe.mlir:12:8: ", or nothing for what was built in C++.
static std::string placeOf(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  return place ? place.getFilename().str() + ":" +
                     std::to_string(place.getLine()) + ":" +
                     std::to_string(place.getColumn()) + ": "
               : std::string();
}

static void append(std::string &text, Diagnostic &diagnostic) {
  llvm::raw_string_ostream stream(text);
  if (!text.empty())
    stream << "\n";
  stream << placeOf(diagnostic.getLocation());
  if (diagnostic.getSeverity() == DiagnosticSeverity::Note)
    stream << "note: ";
  stream << diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes()) {
    // The printed op repeats the graph; the place says where it is.
    if (!StringRef(note.str()).starts_with("see current operation"))
      append(text, note);
  }
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler_(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error ||
            diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          append(text_, diagnostic);
        return success();
      }) {}

Error DiagnosticCollector::takeError(ErrorCode code,
                                     const std::string &fallback) {
  return Error(code, text_.empty() ? fallback : std::exchange(text_, {}));
}

//===--- Types
//---------------------------------------------------------------------------------------------------===//

std::optional<DataType> dataTypeOf(mlir::Type type) {
  if (type.isF64())
    return DataType::F64;
  if (type.isF32())
    return DataType::F32;
  if (type.isBF16())
    return DataType::BF16;
  if (type.isF16())
    return DataType::F16;
  if (type.isInteger(64))
    return DataType::I64;
  if (type.isInteger(32))
    return DataType::I32;
  if (type.isInteger(8))
    return DataType::I8;
  if (type.isInteger(1))
    return DataType::I1;
  return std::nullopt;
}

mlir::Type typeOf(DataType type, MLIRContext *context) {
  switch (type) {
  case DataType::F64:
    return Float64Type::get(context);
  case DataType::F32:
    return Float32Type::get(context);
  case DataType::BF16:
    return BFloat16Type::get(context);
  case DataType::F16:
    return Float16Type::get(context);
  case DataType::I64:
    return IntegerType::get(context, 64);
  case DataType::I32:
    return IntegerType::get(context, 32);
  case DataType::I8:
    return IntegerType::get(context, 8);
  case DataType::I1:
    return IntegerType::get(context, 1);
  default:
    return {};
  }
}

//===--- Graph
//---------------------------------------------------------------------------------------------------===//

func::FuncOp Graph::Impl::function() const {
  return *const_cast<OwningOpRef<ModuleOp> &>(module)
              ->getOps<func::FuncOp>()
              .begin();
}

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::Graph(Graph &&) noexcept = default;
Graph &Graph::operator=(Graph &&) noexcept = default;
Graph::~Graph() = default;

static StringRef nameOf(DictionaryAttr attributes, StringRef key) {
  auto name = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  return name ? name.getValue() : StringRef();
}

static Expected<void> checkSignature(func::FuncOp function) {
  llvm::StringSet<> names;
  auto check = [&](Location location, StringRef what, unsigned i,
                   mlir::Type type, StringRef name) -> Expected<void> {
    std::string place = (placeOf(location) + what + " " + Twine(i) + " of @" +
                         function.getName())
                            .str();
    if (name.empty())
      return Error(ErrorCode::InvalidArgument,
                   place +
                       (what == "argument"
                            ? " has no name; give it graph.input = \"…\" or "
                              "graph.param = \"…\""
                            : " has no name; give it graph.result = \"…\""));
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !dataTypeOf(tensor.getElementType()))
      return Error(ErrorCode::InvalidArgument,
                   place + " ('" + name.str() +
                       "') must be a ranked tensor of f64, f32, bf16, f16, "
                       "i64, i32, i8 or i1");
    if (!names.insert(name).second)
      return Error(ErrorCode::InvalidArgument,
                   place + ": the name '" + name.str() + "' is taken");
    return {};
  };
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr attributes =
        function.getArgAttrDict(argument.getArgNumber());
    StringRef name = nameOf(attributes, graph::GraphDialect::inputAttrName);
    StringRef parameter =
        nameOf(attributes, graph::GraphDialect::paramAttrName);
    if (!name.empty() && !parameter.empty())
      return Error(ErrorCode::InvalidArgument,
                   placeOf(argument.getLoc()) + "argument '" + name.str() +
                       "' is both an input and a parameter");
    if (auto ok = check(argument.getLoc(), "argument", argument.getArgNumber(),
                        argument.getType(), name.empty() ? parameter : name);
        !ok)
      return ok.error();
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (auto ok = check(function.getLoc(), "result", i, type,
                        nameOf(function.getResultAttrDict(i),
                               graph::GraphDialect::resultAttrName));
        !ok)
      return ok.error();
  if (function.getNumResults() == 0)
    return Error(ErrorCode::InvalidArgument,
                 "@" + function.getName().str() + " returns nothing");
  return {};
}

/// Refuses tensors whose bytes do not fit in 63 bits, for all that computes
/// with them does so in int64_t. A dynamic dimension is checked at each run.
static Expected<void> checkByteCounts(func::FuncOp function) {
  auto isTooLarge = [](mlir::Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      return false;
    int64_t bytes = getElementBytes(shaped.getElementType());
    return llvm::any_of(shaped.getShape(), [&](int64_t size) {
      return !ShapedType::isDynamic(size) &&
             llvm::MulOverflow(bytes, size, bytes);
    });
  };
  auto refuse = [](Location location, const std::string &what) {
    return Error(ErrorCode::InvalidArgument,
                 placeOf(location) + what + " has 2^63 bytes or more");
  };
  for (BlockArgument argument : function.getArguments())
    if (isTooLarge(argument.getType()))
      return refuse(argument.getLoc(),
                    "argument " + std::to_string(argument.getArgNumber()));
  for (Operation &op : function.getBody().front())
    if (llvm::any_of(op.getResultTypes(), isTooLarge))
      return refuse(op.getLoc(),
                    "the result of " + op.getName().getStringRef().str());
  return {};
}

Expected<Graph> makeGraph(std::shared_ptr<MLIRContext> context,
                          OwningOpRef<ModuleOp> module) {
  auto functions = module->getOps<func::FuncOp>();
  if (std::distance(functions.begin(), functions.end()) != 1)
    return Error(
        ErrorCode::InvalidArgument,
        "a graph is one func.func, this module has " +
            std::to_string(std::distance(functions.begin(), functions.end())));
  func::FuncOp function = *functions.begin();
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return Error(ErrorCode::InvalidArgument,
                 "@" + function.getName().str() +
                     " must have a body of one block");
  if (auto ok = checkSignature(function); !ok)
    return ok.error();
  if (auto ok = checkByteCounts(function); !ok)
    return ok.error();
  auto impl = std::make_unique<Graph::Impl>();
  impl->context = std::move(context);
  impl->module = std::move(module);
  return Graph(std::move(impl));
}

Expected<Graph> Graph::parse(std::string_view source, const std::string &name) {
  std::shared_ptr<MLIRContext> context = makeContext();
  DiagnosticCollector diagnostics(context.get());
  llvm::SourceMgr sources;
  // The parser needs a terminating zero, which a view does not promise.
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(
                                 StringRef(source.data(), source.size()), name),
                             llvm::SMLoc());
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, context.get());
  if (!module)
    return diagnostics.takeError(ErrorCode::InvalidArgument,
                                 name + " is not a graph");
  // The diagnostics still need the context when the graph is refused.
  return makeGraph(context, std::move(module));
}

std::string Graph::toText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->module->print(stream);
  return text;
}

std::vector<uint8_t> Graph::toBytecode() const {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  (void)writeBytecodeToFile(*impl_->module, stream);
  return {bytes.begin(), bytes.end()};
}

std::vector<TensorSignature> Graph::signature() const {
  std::vector<TensorSignature> entries;
  func::FuncOp function = impl_->function();
  auto add = [&](TensorSignature::Kind kind, StringRef name, mlir::Type type) {
    auto tensor = cast<RankedTensorType>(type);
    TensorSignature entry{
        name.str(), kind, *dataTypeOf(tensor.getElementType()), {}};
    for (int64_t size : tensor.getShape())
      entry.shape.push_back(ShapedType::isDynamic(size) ? kDynamic : size);
    entries.push_back(std::move(entry));
  };
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr attributes =
        function.getArgAttrDict(argument.getArgNumber());
    StringRef input = nameOf(attributes, graph::GraphDialect::inputAttrName);
    if (!input.empty())
      add(TensorSignature::Kind::Input, input, argument.getType());
    else
      add(TensorSignature::Kind::Parameter,
          nameOf(attributes, graph::GraphDialect::paramAttrName),
          argument.getType());
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    add(TensorSignature::Kind::Result,
        nameOf(function.getResultAttrDict(i),
               graph::GraphDialect::resultAttrName),
        type);
  return entries;
}

//===--- Math mode
//-----------------------------------------------------------------------------------------------===//

Expected<MathMode> parseMathMode(std::string_view name) {
  std::optional<kernel::MathMode> mode = kernel::symbolizeMathMode(name);
  if (!mode)
    return Error(ErrorCode::InvalidArgument, "unknown math mode '" +
                                                 std::string(name) +
                                                 "'; modes are portable, fast");
  return *mode == kernel::MathMode::Fast ? MathMode::Fast : MathMode::Portable;
}

MathMode Graph::mathMode() const {
  return kernel::getMathMode(impl_->function()) == kernel::MathMode::Fast
             ? MathMode::Fast
             : MathMode::Portable;
}

void Graph::setMathMode(MathMode mode) {
  func::FuncOp function = impl_->function();
  if (mode == MathMode::Portable)
    function->removeAttr(kernel::mathModeAttrName);
  else
    function->setAttr(
        kernel::mathModeAttrName,
        StringAttr::get(function.getContext(),
                        kernel::stringifyMathMode(kernel::MathMode::Fast)));
}

} // namespace epifold
