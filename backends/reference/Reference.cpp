// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Binds a function's arguments, evaluates its ops in order and collects its
// results.

#include "backends/reference/Reference.h"

#include "backends/reference/Elements.h"
#include "backends/reference/Frame.h"
#include "backends/reference/GraphOps.h"
#include "backends/reference/IndexMap.h"
#include "backends/reference/KernelOps.h"
#include "backends/reference/KernelSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace epifold;
using namespace epifold::reference;
namespace func = mlir::func;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The name under which argument `index` travels in files, empty when it has
/// none.
static llvm::StringRef getArgumentName(func::FuncOp function, unsigned index) {
  for (llvm::StringRef attribute :
       {graph::GraphDialect::inputAttrName, graph::GraphDialect::paramAttrName})
    if (auto name =
            function.getArgAttrOfType<mlir::StringAttr>(index, attribute))
      return name.getValue();
  return {};
}

static bool isPermutation(llvm::ArrayRef<int64_t> layout) {
  llvm::SmallVector<int64_t> sorted(layout);
  llvm::sort(sorted);
  return llvm::equal(
      sorted, llvm::seq<int64_t>(0, static_cast<int64_t>(layout.size())));
}

static llvm::Error bindArgument(func::FuncOp function, unsigned index,
                                const std::map<std::string, Tensor> &inputs,
                                Frame &frame) {
  llvm::StringRef name = getArgumentName(function, index);
  if (name.empty())
    return fail("argument " + llvm::Twine(index) + " of '" +
                function.getName() +
                "' has no name: give it graph.input or graph.param");
  auto found = inputs.find(name.str());
  if (found == inputs.end())
    return fail("no tensor '" + name + "' was given, which argument " +
                llvm::Twine(index) + " of '" + function.getName() + "' needs");
  Tensor tensor = found->second;
  if (auto layout = function.getArgAttrOfType<mlir::DenseI64ArrayAttr>(
          index, "kernel.layout")) {
    if (layout.size() != tensor.getRank() || !isPermutation(layout))
      return fail("the layout of '" + name +
                  "' does not permute the dimensions of " + tensor.describe());
    tensor = permute(tensor, layout);
  }
  mlir::Value argument = function.getArgument(index);
  if (llvm::Error error = frame.define(argument, tensor)) {
    llvm::consumeError(std::move(error));
    std::string type;
    llvm::raw_string_ostream(type) << argument.getType();
    return fail("tensor '" + name + "' is " + tensor.describe() + " where '" +
                function.getName() + "' takes " + type);
  }
  return llvm::Error::success();
}

/// Reads one [argument, dimension] pair of `kernel.symbols`.
static std::optional<std::pair<int64_t, int64_t>>
readPair(mlir::Attribute attribute) {
  if (auto pair = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attribute);
      pair && pair.size() == 2)
    return std::pair(pair[0], pair[1]);
  auto pair = llvm::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!pair || pair.size() != 2 ||
      !llvm::all_of(pair, llvm::IsaPred<mlir::IntegerAttr>))
    return std::nullopt;
  return std::pair(llvm::cast<mlir::IntegerAttr>(pair[0]).getInt(),
                   llvm::cast<mlir::IntegerAttr>(pair[1]).getInt());
}

/// Gives s0, s1, … their values.
static llvm::Error bindSymbols(func::FuncOp function, Frame &frame) {
  auto size = [&](int64_t argument, int64_t dim) {
    return frame.getTensor(function.getArgument(argument)).getDim(dim);
  };
  if (auto pairs = function->getAttrOfType<mlir::ArrayAttr>("kernel.symbols")) {
    for (mlir::Attribute attribute : pairs) {
      auto pair = readPair(attribute);
      if (!pair || pair->first < 0 ||
          pair->first >= function.getNumArguments() || pair->second < 0 ||
          pair->second >=
              frame.getTensor(function.getArgument(pair->first)).getRank())
        return fail("'kernel.symbols' of '" + function.getName() +
                    "' must hold [argument, dimension] pairs");
      frame.symbols.push_back(size(pair->first, pair->second));
    }
    return llvm::Error::success();
  }
  for (mlir::BlockArgument argument : function.getArguments())
    for (auto [dim, declared] : llvm::enumerate(
             llvm::cast<mlir::ShapedType>(argument.getType()).getShape()))
      if (mlir::ShapedType::isDynamic(declared))
        frame.symbols.push_back(size(argument.getArgNumber(), dim));
  return llvm::Error::success();
}

/// Compares arguments with what `kernel.sizes` says of them: sizes that the
/// graph ties together must agree.
static llvm::Error checkSizes(func::FuncOp function, Frame &frame) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto sizes =
        function.getArgAttrOfType<mlir::AffineMapAttr>(index, "kernel.sizes");
    if (!sizes)
      continue;
    const Tensor &tensor = frame.getTensor(argument);
    if (sizes.getValue().getNumSymbols() > frame.symbols.size())
      return fail("'kernel.sizes' of argument " + llvm::Twine(index) + " of '" +
                  function.getName() +
                  "' uses symbols that 'kernel.symbols' does not name");
    Tensor::Shape wanted = evaluateMap(sizes.getValue(), {}, frame.symbols);
    for (auto [dim, size] : llvm::enumerate(wanted))
      if (tensor.getDim(dim) != size)
        return fail("tensor '" + getArgumentName(function, index) + "' is " +
                    tensor.describe() + ", but its dimension " +
                    llvm::Twine(dim) + " must be " + llvm::Twine(size) +
                    " as other arguments have it");
  }
  return llvm::Error::success();
}

template <typename Op>
static llvm::Error evaluateLaunches(Op op, Frame &frame);

static llvm::Error evaluateOp(mlir::Operation *op, Frame &frame) {
  auto evaluateThis = [&](auto typed) {
    return reference::evaluate(typed, frame);
  };
  return llvm::TypeSwitch<mlir::Operation *, llvm::Error>(op)
      .Case<graph::ConstantOp, graph::SelectOp, graph::SliceOp,
            graph::ReshapeOp, graph::TransposeOp, graph::StackOp,
            graph::ConcatOp>(evaluateThis)
      .Case<graph::MatmulOp, graph::ExpertMatmulOp, graph::CausalConv1dOp,
            graph::ExpertCausalConv1dOp>(evaluateThis)
      .Case<graph::EmbeddingOp, graph::SoftmaxOp, graph::ReduceSumOp,
            graph::CrossEntropyOp>(evaluateThis)
      .Case<graph::GroupNormOp, graph::LayerNormOp, graph::RmsNormOp>(
          evaluateThis)
      .Case<graph::TopKOp, graph::RouteOp, graph::DispatchOp,
            graph::DispatchSlotOp, graph::CombineOp>(evaluateThis)
      .Case<graph::ElementwiseOpInterface>(evaluateThis)
      .Case<kernel::EmptyOp, kernel::ViewOp, kernel::MapOp, kernel::GemmOp,
            kernel::GatherRowsOp, mlir::arith::ConstantOp>(evaluateThis)
      .Case<kernel::SoftmaxOp, kernel::RowReduceOp, kernel::OrderedSumOp,
            kernel::RowNllOp>(evaluateThis)
      .Case<kernel::LeafStatsOp, kernel::MergeStatsOp, kernel::RowStatsOp>(
          evaluateThis)
      .Case<kernel::TopKOp, kernel::RouteHistogramOp, kernel::RouteScanOp,
            kernel::RouteScatterOp, kernel::RouteOp, kernel::CombineOp>(
          evaluateThis)
      .Case<kernel::PersistentOp, kernel::CascadeOp>(
          [&](auto several) { return evaluateLaunches(several, frame); })
      .Default([](mlir::Operation *unknown) {
        return makeError(unknown, "has no reference evaluation; an elementwise "
                                  "op gets one by implementing "
                                  "ElementwiseOpInterface");
      });
}

/// The launches of a launch, one after the other, in a frame of their own.
template <typename Op>
static llvm::Error evaluateLaunches(Op op, Frame &frame) {
  mlir::Block &block = op.getBody().front();
  std::vector<Tensor> operands = getTensors(op.getIns(), frame);
  llvm::append_range(operands, takeOuts(op, frame));
  Frame inner(block, frame.getWorkers());
  inner.symbols = frame.symbols;
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), operands))
    if (llvm::Error error = inner.define(argument, std::move(tensor)))
      return error;
  for (mlir::Operation &launch : block.without_terminator()) {
    if (llvm::Error error = evaluateOp(&launch, inner))
      return error;
    inner.release(&launch);
  }
  std::vector<Tensor> outs =
      getTensors(block.getTerminator()->getOperands(), inner);
  frame.report(inner.getStatus());
  return defineOuts(op, std::move(outs), frame);
}

static llvm::Error collectResults(func::FuncOp function, Frame &frame,
                                  Result &result) {
  mlir::Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    if (!llvm::isa<mlir::RankedTensorType>(value.getType()))
      return fail(
          "result " + llvm::Twine(index) + " of '" + function.getName() +
          "' is no tensor; ragged rows and routings stay inside a graph");
    auto name = function.getResultAttrOfType<mlir::StringAttr>(
        index, graph::GraphDialect::resultAttrName);
    result.results.emplace_back(name ? name.str()
                                     : "result" + std::to_string(index),
                                frame.getTensor(value));
  }
  return llvm::Error::success();
}

llvm::Expected<Result>
epifold::reference::evaluate(func::FuncOp function,
                             const std::map<std::string, Tensor> &inputs,
                             const Options &options) {
  if (!function.getBody().hasOneBlock())
    return fail("'" + function.getName() +
                "' must have one block to be evaluated");
  mlir::Block &block = function.getBody().front();
  Workers workers(options.threads);
  Frame frame(block, workers);
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (llvm::Error error = bindArgument(function, index, inputs, frame))
      return error;
  if (llvm::Error error = bindSymbols(function, frame))
    return error;
  if (llvm::Error error = checkSizes(function, frame))
    return error;

  int64_t done = 0, total = frame.countNeeded() - 1;
  for (mlir::Operation &op : block.without_terminator()) {
    if (!frame.isNeeded(&op))
      continue;
    if (options.progress)
      options.progress(op, done++, total);
    if (llvm::Error error = evaluateOp(&op, frame))
      return error;
    frame.release(&op);
  }
  Result result;
  if (llvm::Error error = collectResults(function, frame, result))
    return error;
  result.status = frame.getStatus();
  return result;
}
