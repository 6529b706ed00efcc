// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers ops that work row by row or over a sample: embedding, softmax, sums,
// norms, losses.

#include "passes/lowering/GraphLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace epifold;

static kernel::Accuracy accuracyOf(std::optional<graph::Accuracy> accuracy,
                                   Type element) {
  if (element.isF64())
    return kernel::Accuracy::F64;
  return accuracy ? static_cast<kernel::Accuracy>(*accuracy)
                  : kernel::Accuracy::F32;
}

void GraphLowering::lowerEmbedding(graph::EmbeddingOp op) {
  AffineExpr count = productOf(analysis.getSizes(op.getIndices()), context);
  Value indices = reshape(tensorOf(op.getIndices()), count);
  Value table = tensorOf(op.getTable());
  Value out = empty({count, analysis.getSizes(op).back()},
                    getElementTypeOrSelf(op.getType()));
  auto gather = kernel::GatherRowsOp::create(
      builder, location, TypeRange(out), table, indices, /*offsets=*/Value(),
      ValueRange(out), builder.getI64IntegerAttr(1), /*group=*/IntegerAttr(),
      builder.getUnitAttr());
  set(op, reshape(gather.getResult(0), analysis.getSizes(op)));
}

void GraphLowering::lowerSoftmax(graph::SoftmaxOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  Value input = rowsOf(op.getInput());
  Value out = empty(flattenRows(analysis.getSizes(op)), element);
  Value p = launch<kernel::SoftmaxOp>(input, out,
                                      accuracyOf(op.getAccuracy(), element))[0];
  set(op, reshape(p, analysis.getSizes(op)));
}

void GraphLowering::lowerReduceSum(graph::ReduceSumOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  Type computed = kernel::getComputeType(element);
  ArrayRef<AffineExpr> sizes = analysis.getSizes(op.getInput());
  if (op.getOrder() == graph::SumOrder::Tree) {
    Value input = rowsOf(op.getInput());
    AffineExpr rows = productOf(sizes.drop_back(), context);
    Value sums = launch<kernel::RowReduceOp>(input, empty(rows, computed),
                                             UnitAttr(), UnitAttr())[0];
    if (element != computed) {
      AffineMap identity = builder.getMultiDimIdentityMap(1);
      sums = map({sums}, {identity, identity}, empty(rows, element), nullptr,
                 std::nullopt, [&](ValueRange args) {
                   return SmallVector<Value>{
                       narrow(builder, location, args[0], element)};
                 });
    }
    set(op, reshape(sums, analysis.getSizes(op)));
    return;
  }
  // A few terms are summed where a launch has them all: elementwise, so that
  // what follows joins in.
  constexpr int64_t fewTerms = 32;
  auto terms = dyn_cast<AffineConstantExpr>(sizes[op.getDim()]);
  if (terms && terms.getValue() <= fewTerms && op.getDim() == 0 &&
      sizes.size() > 1) {
    SmallVector<AffineExpr> rows = flattenRows(sizes.drop_front());
    Value input = reshape(tensorOf(op.getInput()), {terms, rows[0], rows[1]});
    SmallVector<Value> ins(terms.getValue(), input);
    SmallVector<AffineMap> maps;
    for (int64_t term = 0; term < terms.getValue(); ++term)
      maps.push_back(
          AffineMap::get(2, 0,
                         {constant(term), builder.getAffineDimExpr(0),
                          builder.getAffineDimExpr(1)},
                         context));
    maps.push_back(builder.getMultiDimIdentityMap(2));
    Value sum = map(
        ins, maps, empty(rows, element), nullptr, std::nullopt,
        [&](ValueRange args) {
          Value total = widen(builder, location, args[0]);
          for (Value term : args.drop_front())
            total = arith::AddFOp::create(builder, location, total,
                                          widen(builder, location, term));
          return SmallVector<Value>{narrow(builder, location, total, element)};
        });
    set(op, reshape(sum, analysis.getSizes(op)));
    return;
  }
  AffineExpr outer = productOf(sizes.take_front(op.getDim()), context);
  AffineExpr inner = productOf(sizes.drop_front(op.getDim() + 1), context);
  Value input =
      reshape(tensorOf(op.getInput()), {outer, sizes[op.getDim()], inner});
  Value sums =
      launch<kernel::OrderedSumOp>(input, empty({outer, inner}, element))[0];
  set(op, reshape(sums, analysis.getSizes(op)));
}

/// ((x − mean) · rstd) · scale + bias, each op rounded in the compute type.
static Value normalise(OpBuilder &b, Location loc, Value x, Value mean,
                       Value rstd, Value scale, Value bias) {
  Value centred = arith::SubFOp::create(b, loc, x, mean);
  Value unit = arith::MulFOp::create(b, loc, centred, rstd);
  Value scaled = arith::MulFOp::create(b, loc, unit, scale);
  return arith::AddFOp::create(b, loc, scaled, bias);
}

void GraphLowering::lowerGroupNorm(graph::GroupNormOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  Type computed = kernel::getComputeType(element);
  SmallVector<AffineExpr> samples(analysis.getSizes(op.getInput()));
  if (samples.size() == 2)
    samples.insert(samples.begin(), constant(1));
  AffineExpr groups = constant(op.getGroups());
  AffineExpr channels = samples[2].floorDiv(groups);
  Value x = reshape(tensorOf(op.getInput()), samples);
  Value leaves = empty({samples[0], groups, samples[1].ceilDiv(kernel::kLeaf),
                        channels.ceilDiv(kernel::kLeaf), constant(3)},
                       computed);
  leaves = launch<kernel::LeafStatsOp>(
      x, leaves, builder.getI64IntegerAttr(op.getGroups()))[0];
  Value stats = launch<kernel::MergeStatsOp>(
      leaves, empty({samples[0], groups, constant(2)}, computed),
      op.getEpsilonAttr())[0];

  // The domain is [sample, time, group, channel] so that each operand's index
  // is a plain dimension.
  SmallVector<AffineExpr> domain{samples[0], samples[1], groups, channels};
  AffineExpr d0 = builder.getAffineDimExpr(0), d2 = builder.getAffineDimExpr(2),
             d3 = builder.getAffineDimExpr(3);
  AffineMap identity = builder.getMultiDimIdentityMap(4);
  auto stat = [&](int64_t which) {
    return AffineMap::get(4, 0, {d0, d2, constant(which)}, context);
  };
  AffineMap perChannel = AffineMap::get(4, 0, {d2, d3}, context);
  Value scale = reshape(tensorOf(op.getScale()), {groups, channels}),
        bias = reshape(tensorOf(op.getBias()), {groups, channels});
  Value y = map(
      {reshape(x, domain), stats, stats, scale, bias},
      {identity, stat(0), stat(1), perChannel, perChannel, identity},
      empty(domain, element), nullptr, std::nullopt, [&](ValueRange args) {
        auto wide = [&](Value v) { return widen(builder, location, v); };
        Value value = normalise(builder, location, wide(args[0]), args[1],
                                args[2], wide(args[3]), wide(args[4]));
        return SmallVector<Value>{narrow(builder, location, value, element)};
      });
  set(op, reshape(y, analysis.getSizes(op)));
}

void GraphLowering::lowerLayerNorm(graph::LayerNormOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  SmallVector<AffineExpr> rows = flattenRows(analysis.getSizes(op));
  Value x = rowsOf(op.getInput());
  Value stats = launch<kernel::RowStatsOp>(
      x, empty({rows[0], constant(2)}, kernel::getComputeType(element)),
      op.getEpsilonAttr())[0];
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
  AffineMap identity = builder.getMultiDimIdentityMap(2),
            perColumn = AffineMap::get(2, 0, {d1}, context);
  auto stat = [&](int64_t which) {
    return AffineMap::get(2, 0, {d0, constant(which)}, context);
  };
  Value y = map(
      {x, stats, stats, tensorOf(op.getScale()), tensorOf(op.getBias())},
      {identity, stat(0), stat(1), perColumn, perColumn, identity},
      empty(rows, element), nullptr, std::nullopt, [&](ValueRange args) {
        auto wide = [&](Value v) { return widen(builder, location, v); };
        Value value = normalise(builder, location, wide(args[0]), args[1],
                                args[2], wide(args[3]), wide(args[4]));
        return SmallVector<Value>{narrow(builder, location, value, element)};
      });
  set(op, reshape(y, analysis.getSizes(op)));
}

void GraphLowering::lowerRmsNorm(graph::RmsNormOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  FloatType computed = kernel::getComputeType(element);
  SmallVector<AffineExpr> rows = flattenRows(analysis.getSizes(op));
  Value x = rowsOf(op.getInput());
  Value meanSquare = launch<kernel::RowReduceOp>(x, empty(rows[0], computed),
                                                 builder.getUnitAttr(),
                                                 builder.getUnitAttr())[0];
  AffineMap identity = builder.getMultiDimIdentityMap(2);
  AffineMap perRow =
      AffineMap::get(2, 0, {builder.getAffineDimExpr(0)}, context);
  AffineMap perColumn =
      AffineMap::get(2, 0, {builder.getAffineDimExpr(1)}, context);
  auto constantOf = [&](double value) {
    return arith::ConstantOp::create(builder, location,
                                     builder.getFloatAttr(computed, value));
  };
  // One root and one division a row, not an element.
  AffineMap rowIdentity = builder.getMultiDimIdentityMap(1);
  Value inverse =
      map({meanSquare}, {rowIdentity, rowIdentity}, empty(rows[0], computed),
          nullptr, std::nullopt, [&](ValueRange args) {
            Value shifted = arith::AddFOp::create(
                builder, location, args[0],
                constantOf(op.getEpsilon().convertToDouble()));
            auto accuracy = computed.isF64() ? kernel::Accuracy::F64
                                             : kernel::Accuracy::F32;
            Value root = kernel::MathOp::create(builder, location, computed,
                                                kernel::MathFunction::Sqrt,
                                                accuracy, shifted);
            return SmallVector<Value>{
                arith::DivFOp::create(builder, location, constantOf(1), root)};
          });
  Value y = map(
      {x, inverse, tensorOf(op.getScale())},
      {identity, perRow, perColumn, identity}, empty(rows, element), nullptr,
      std::nullopt, [&](ValueRange args) {
        Value unit = arith::MulFOp::create(
            builder, location, widen(builder, location, args[0]), args[1]);
        Value scaled = arith::MulFOp::create(builder, location, unit,
                                             widen(builder, location, args[2]));
        return SmallVector<Value>{narrow(builder, location, scaled, element)};
      });
  set(op, reshape(y, analysis.getSizes(op)));
}

void GraphLowering::lowerCrossEntropy(graph::CrossEntropyOp op) {
  Type computed = getElementTypeOrSelf(op.getType());
  AffineExpr rows = productOf(analysis.getSizes(op.getTargets()), context);
  Value logits = rowsOf(op.getLogits());
  Value targets = reshape(tensorOf(op.getTargets()), rows);
  Value losses = launch<kernel::RowNllOp>(
      ValueRange{logits, targets}, empty(rows, computed),
      accuracyOf(op.getAccuracy(), computed))[0];
  Value row = view(losses, constant(0), {constant(1), rows});
  Value mean = launch<kernel::RowReduceOp>(
      row, empty(constant(1), computed), UnitAttr(), builder.getUnitAttr())[0];
  set(op, view(mean, constant(0), {}));
}
