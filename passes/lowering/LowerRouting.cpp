// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers routing: top-k, the tables of a routing, dispatch and combine.

#include "passes/lowering/GraphLowering.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace epifold;

void GraphLowering::lowerTopK(graph::TopKOp op) {
  SmallVector<AffineExpr> rows = flattenRows(analysis.getSizes(op.getValues()));
  Value values = empty(rows, getElementTypeOrSelf(op.getValues().getType()));
  Value indices = empty(rows, builder.getI32Type());
  ResultRange results = launch<kernel::TopKOp>(rowsOf(op.getInput()),
                                               ValueRange{values, indices});
  set(op.getValues(), reshape(results[0], analysis.getSizes(op.getValues())));
  set(op.getIndices(), reshape(results[1], analysis.getSizes(op.getIndices())));
}

void GraphLowering::lowerRoute(graph::RouteOp op) {
  auto type = cast<graph::RoutingType>(op.getRouting().getType());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  LoweredRouting routing;
  routing.topk = type.getTopk();
  routing.slots = productOf(analysis.getSizes(op.getIndices()), context);
  AffineExpr chunks = routing.slots.ceilDiv(kernel::kRouteChunk),
             experts = constant(type.getExperts());
  Value indices = reshape(tensorOf(op.getIndices()), routing.slots);
  Value histogram = launch<kernel::RouteHistogramOp>(
      indices, empty({chunks, experts}, i32))[0];
  ResultRange scanned = launch<kernel::RouteScanOp>(
      histogram,
      ValueRange{empty({chunks, experts}, i32), empty(experts, i64)});
  set(op.getCounts(), scanned[1]);
  if (op.getRouting().use_empty()) // Only the counts are needed.
    return;
  ResultRange tables = launch<kernel::RouteScatterOp>(
      ValueRange{indices, scanned[0], scanned[1]},
      ValueRange{empty(routing.slots, i32), empty(routing.slots, i32),
                 empty(experts + 1, i64)});
  routing.slotOfRow = tables[0];
  routing.rowOfSlot = tables[1];
  routing.offsets = tables[2];
  routings[op.getRouting()] = routing;
}

void GraphLowering::lowerDispatch(Operation *op, Value input,
                                  Value routingValue,
                                  std::optional<int64_t> expert,
                                  bool slotValues) {
  const LoweredRouting &routing = routings.find(routingValue)->second;
  Value result = op->getResult(0);
  Value source = slotValues
                     ? reshape(tensorOf(input), {routing.slots, constant(1)})
                     : tensorOf(input);
  Value out =
      empty(analysis.getSizes(result), getElementTypeOrSelf(result.getType()));
  IntegerAttr group =
      expert ? builder.getI64IntegerAttr(*expert) : IntegerAttr();
  auto gather = kernel::GatherRowsOp::create(
      builder, location, TypeRange(out), source, routing.slotOfRow,
      routing.offsets, ValueRange(out),
      builder.getI64IntegerAttr(slotValues ? 1 : routing.topk), group,
      UnitAttr());
  Lowered rows;
  rows.offsets = routing.offsets;
  rows.expert = expert;
  setLike(result, gather.getResult(0), rows);
}

/// Makes the experts' rows parts of one buffer: the launch that writes expert
/// e's takes the buffer that expert e−1's wrote.
Value GraphLowering::chainExperts(graph::CombineOp op) {
  Value buffer;
  for (Value input : op.getInputs()) {
    Lowered rows = values.find(input)->second;
    auto launch = rows.tensor.getDefiningOp<DestinationStyleOpInterface>();
    OpOperand *out = launch ? launch.getDpsInitOperand(
                                  cast<OpResult>(rows.tensor).getResultNumber())
                            : nullptr;
    // Whether the rows have a buffer of their own, which no other launch goes
    // on writing.
    bool owns =
        out && isa_and_nonnull<kernel::EmptyOp>(out->get().getDefiningOp()) &&
        llvm::none_of(rows.tensor.getUses(), [](OpOperand &use) {
          auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
          return user && user.isDpsInit(&use);
        });
    if (!owns) {
      // The rows are another value's as well (passed through unchanged): copy
      // them into this buffer.
      AffineMap identity = builder.getMultiDimIdentityMap(2);
      Value target =
          buffer
              ? buffer
              : empty(rows.sizes, getElementTypeOrSelf(rows.tensor.getType()));
      buffer =
          map({rows.tensor}, {identity, identity}, target, &rows, /*domain=*/1,
              [](ValueRange args) { return SmallVector<Value>(args); });
      continue;
    }
    if (buffer)
      out->set(buffer);
    buffer = rows.tensor;
  }
  return buffer;
}

LogicalResult GraphLowering::lowerCombine(graph::CombineOp op) {
  const LoweredRouting &routing = routings.find(op.getRouting())->second;
  bool grouped =
      cast<graph::RaggedType>(op.getInputs().front().getType()).isGrouped();
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    const Lowered &rows = values.find(input)->second;
    if (rows.offsets != routing.offsets)
      return op.emitOpError("input ") << i << " holds rows of another routing";
    if (!grouped && rows.expert != int64_t(i))
      return op.emitOpError("input ")
             << i << " holds the rows of expert " << rows.expert.value_or(-1)
             << "; give expert 0 first";
  }
  Value rows = grouped ? tensorOf(op.getInputs().front()) : chainExperts(op);
  Value out = empty(analysis.getSizes(op), getElementTypeOrSelf(op.getType()));
  set(op,
      launch<kernel::CombineOp>(ValueRange{rows, routing.rowOfSlot}, out,
                                builder.getI64IntegerAttr(routing.topk))[0]);
  return success();
}
