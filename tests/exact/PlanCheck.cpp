// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Replays a kernel function on its memory plan, keeping account of whose value
// each buffer holds.

#include "tests/exact/PlanCheck.h"

#include "compiler/src/Lowering.h"
#include "passes/MemoryPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace epifold::exact {

namespace {

/// The replay of one function.
class Replay {
public:
  Replay(func::FuncOp function, const Graph &graph,
         const runtime::TensorMap &inputs)
      : function(function), plan(function), owners(plan.getBuffers().size()) {
    readSymbols(graph, inputs);
  }

  /// What is wrong, or nothing.
  std::string run() {
    for (BlockArgument argument : function.getArguments()) {
      rootOf[argument] = argument;
      owners[plan.getPlace(argument).buffer] = argument;
    }
    for (Operation &op : function.getBody().front()) {
      // Reads come first: a launch may overwrite nothing that it reads.
      for (Value operand : op.getOperands())
        if (!isa_and_nonnull<kernel::EmptyOp>(operand.getDefiningOp()))
          checkRead(op, operand);
      define(op);
      if (!fault.empty())
        break;
    }
    return fault;
  }

private:
  void readSymbols(const Graph &graph, const runtime::TensorMap &inputs) {
    auto pairs = function->getAttrOfType<ArrayAttr>("kernel.symbols");
    const std::vector<TensorSignature> signature = graph.signature();
    for (Attribute attribute : pairs) {
      auto pair = cast<ArrayAttr>(attribute);
      auto argument = cast<IntegerAttr>(pair[0]).getInt();
      auto dim = cast<IntegerAttr>(pair[1]).getInt();
      auto found = inputs.find(signature[argument].name);
      symbols.push_back(getAffineConstantExpr(
          found == inputs.end() ? 1 : found->second.shape()[dim],
          function.getContext()));
    }
  }

  int64_t evaluate(AffineExpr expr) const {
    auto known = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(expr.replaceSymbols(symbols), 0, 0));
    return known ? known.getValue() : -1;
  }

  void report(Operation &op, const llvm::Twine &what) {
    if (fault.empty())
      llvm::raw_string_ostream(fault)
          << "'" << op.getName() << "' at " << op.getLoc() << " " << what;
  }

  int64_t sizeOf(const MemoryPlan::Buffer &buffer) const {
    int64_t size = 0;
    for (AffineExpr bytes : buffer.bytes)
      size = std::max(size, evaluate(bytes));
    return size;
  }

  void checkBounds(Operation &op, Value value) {
    const MemoryPlan::Place place = plan.getPlace(value);
    const int64_t begin = evaluate(place.offset),
                  bytes = evaluate(plan.getBytes(value)),
                  size = sizeOf(plan.getBuffers()[place.buffer]);
    if (begin < 0 || bytes < 0 || begin + bytes > size)
      report(op, "has a value at bytes " + llvm::Twine(begin) + " to " +
                     llvm::Twine(begin + bytes) + " of buffer " +
                     llvm::Twine(place.buffer) + " of " + llvm::Twine(size));
  }

  void checkRead(Operation &op, Value value) {
    const unsigned buffer = plan.getPlace(value).buffer;
    if (owners[buffer] != rootOf.lookup(value))
      report(op, "reads a value whose buffer " + llvm::Twine(buffer) +
                     " was given to another");
    checkBounds(op, value);
  }

  void define(Operation &op) {
    if (auto launch = dyn_cast<DestinationStyleOpInterface>(op)) {
      for (OpOperand &out : launch.getDpsInitsMutable()) {
        Value result = launch.getTiedOpResult(&out);
        const bool isNew =
            isa_and_nonnull<kernel::EmptyOp>(out.get().getDefiningOp());
        rootOf[result] = isNew ? result : rootOf.lookup(out.get());
        checkBounds(op, result);
        if (!isNew)
          continue;
        const unsigned buffer = plan.getPlace(result).buffer;
        for (Value operand : op.getOperands())
          if (rootOf.contains(operand) &&
              plan.getPlace(operand).buffer == buffer)
            report(op, "overwrites what it reads");
        owners[buffer] = result;
      }
      return;
    }
    if (auto view = dyn_cast<kernel::ViewOp>(op)) {
      rootOf[view] = rootOf.lookup(view.getInput());
      checkBounds(op, view);
      return;
    }
    if (op.hasTrait<OpTrait::ConstantLike>() &&
        isa<RankedTensorType>(op.getResult(0).getType())) {
      rootOf[op.getResult(0)] = op.getResult(0);
      owners[plan.getPlace(op.getResult(0)).buffer] = op.getResult(0);
    }
  }

  func::FuncOp function;
  MemoryPlan plan;
  SmallVector<AffineExpr> symbols;
  std::vector<Value> owners;     // of each buffer: the root that it holds
  DenseMap<Value, Value> rootOf; // the first launch's result of a chain
  std::string fault;
};

} // namespace

Expected<LoweredGraph> lowerAndCheckPlan(const Graph &graph,
                                         const std::string &fusion,
                                         const runtime::TensorMap &inputs) {
  auto module = lowerToKernels(graph, fusion);
  if (!module)
    return module.error();
  LoweredGraph lowered;
  llvm::raw_string_ostream stream(lowered.kernels);
  (*module)->print(stream);
  auto function = *(*module)->getOps<func::FuncOp>().begin();
  lowered.planFault = Replay(function, graph, inputs).run();
  return lowered;
}

} // namespace epifold::exact
