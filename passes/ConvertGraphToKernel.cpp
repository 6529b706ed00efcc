// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that replaces a function of graph ops by one of kernel ops.

#include "ir/kernel/MathMode.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "passes/Passes.h"
#include "passes/SizeAnalysis.h"
#include "passes/lowering/GraphLowering.h"

namespace epifold {
#define GEN_PASS_DEF_CONVERTGRAPHTOKERNELPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

/// `type` with its dimensions in the order of `layout`.
static RankedTensorType permute(RankedTensorType type,
                                ArrayRef<int64_t> layout) {
  SmallVector<int64_t> shape = llvm::map_to_vector(
      layout, [&](int64_t dim) { return type.getDimSize(dim); });
  return RankedTensorType::get(shape, type.getElementType());
}

static bool isGraphFunction(func::FuncOp function) {
  return !function.isExternal() &&
         llvm::any_of(function.getBody().front(),
                      [](Operation &op) {
                        return isa<graph::GraphDialect>(op.getDialect()) ||
                               isa<graph::ElementwiseOpInterface>(op) ||
                               isa<func::ReturnOp>(op);
                      }) &&
         llvm::none_of(function.getBody().front(), [](Operation &op) {
           return isa<kernel::KernelDialect>(op.getDialect());
         });
}

/// Names what the symbols s0, s1, … of the function's maps are, and the sizes
/// of arguments that are not static.
static void annotateSizes(func::FuncOp function, func::FuncOp source,
                          const SizeAnalysis &analysis, Builder &builder) {
  SmallVector<Attribute> symbols;
  for (auto [argument, dim] : analysis.getSymbols())
    symbols.push_back(
        builder.getI64ArrayAttr({int64_t(argument), int64_t(dim)}));
  function->setAttr("kernel.symbols", builder.getArrayAttr(symbols));
  for (BlockArgument argument : source.getArguments())
    if (!cast<ShapedType>(argument.getType()).hasStaticShape()) {
      auto sizes =
          AffineMap::get(0, analysis.getSymbols().size(),
                         analysis.getSizes(argument), builder.getContext());
      function.setArgAttr(argument.getArgNumber(), "kernel.sizes",
                          AffineMapAttr::get(sizes));
    }
}

static LogicalResult convertFunction(func::FuncOp source) {
  FailureOr<SizeAnalysis> analysis = SizeAnalysis::compute(source);
  if (failed(analysis))
    return failure();
  if (!source.getBody().hasOneBlock())
    return source.emitError("a graph has one block");

  // Build beside the source under a temporary name, then take its place.
  OpBuilder builder(source);
  SmallVector<Type> argumentTypes;
  SmallVector<SmallVector<int64_t>> layouts;
  for (BlockArgument argument : source.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    std::optional<SmallVector<int64_t>> layout;
    if (source.getArgAttr(argument.getArgNumber(),
                          graph::GraphDialect::paramAttrName))
      layout = planLayout(argument);
    argumentTypes.push_back(layout ? permute(type, *layout) : type);
    layouts.push_back(layout.value_or(SmallVector<int64_t>{}));
  }
  auto target = func::FuncOp::create(
      builder, source.getLoc(), source.getName(),
      builder.getFunctionType(argumentTypes,
                              source.getFunctionType().getResults()));
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  source.getAllArgAttrs(argumentAttrs);
  source.getAllResultAttrs(resultAttrs);
  target.setAllArgAttrs(argumentAttrs);
  target.setAllResultAttrs(resultAttrs);
  for (auto [i, layout] : llvm::enumerate(layouts))
    if (!layout.empty())
      target.setArgAttr(i, "kernel.layout",
                        builder.getDenseI64ArrayAttr(layout));
  annotateSizes(target, source, *analysis, builder);
  if (Attribute mode = source->getAttr(kernel::mathModeAttrName))
    target->setAttr(kernel::mathModeAttrName, mode);

  Block *block = target.addEntryBlock();
  builder.setInsertionPointToStart(block);
  GraphLowering lowering(builder, *analysis);
  for (auto [graphArgument, argument, layout] :
       llvm::zip(source.getArguments(), target.getArguments(), layouts))
    lowering.bindArgument(graphArgument, argument, layout);
  auto fail = [&] { return target.erase(), failure(); };
  for (Operation &op : source.getBody().front().without_terminator())
    if (failed(lowering.lower(&op)))
      return fail();
  auto returnOp =
      cast<func::ReturnOp>(source.getBody().front().getTerminator());
  SmallVector<Value> results;
  for (Value operand : returnOp.getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      returnOp.emitError("returns ")
          << operand.getType()
          << "; a graph's results are tensors (use graph.combine)";
      return fail();
    }
    results.push_back(lowering.materializeResult(operand));
  }
  func::ReturnOp::create(builder, returnOp.getLoc(), results);
  // Chaining the experts' parts of one buffer may have put a launch before the
  // one whose buffer it continues.
  sortTopologically(block);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (isa<kernel::EmptyOp>(op) && op.use_empty())
      op.erase();
  source.erase();
  return success();
}

namespace {
struct ConvertGraphToKernel
    : epifold::impl::ConvertGraphToKernelPassBase<ConvertGraphToKernel> {
  void runOnOperation() override {
    for (func::FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isGraphFunction(function) && failed(convertFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
