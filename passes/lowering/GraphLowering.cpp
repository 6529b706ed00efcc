// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Dispatches graph ops to their lowerings and builds the kernel ops they share.

#include "passes/lowering/GraphLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace epifold;

GraphLowering::GraphLowering(OpBuilder &builder, const SizeAnalysis &analysis)
    : builder(builder), context(builder.getContext()),
      location(builder.getUnknownLoc()), analysis(analysis) {}

void GraphLowering::bindArgument(Value graphArgument, Value argument,
                                 ArrayRef<int64_t> layout) {
  if (!layout.empty())
    layouts[argument] = SmallVector<int64_t>(layout);
  values[graphArgument] =
      Lowered{argument,
              SmallVector<AffineExpr>(analysis.getSizes(graphArgument)),
              {},
              {},
              {}};
}

LogicalResult GraphLowering::lower(Operation *op) {
  location = getLaunchLocation(op);
  if (auto elementwise = dyn_cast<graph::ElementwiseOpInterface>(op))
    return lowerElementwise(elementwise);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](graph::ConstantOp o) { return lowerConstant(o), success(); })
      .Case([&](graph::SelectOp o) { return lowerSelect(o), success(); })
      .Case([&](graph::SliceOp o) { return lowerSlice(o); })
      .Case([&](graph::TransposeOp o) { return lowerTranspose(o), success(); })
      .Case([&](graph::StackOp o) { return lowerStack(o), success(); })
      .Case([&](graph::ConcatOp o) { return lowerConcat(o); })
      .Case([&](graph::ReshapeOp o) {
        set(o, reshape(tensorOf(o.getInput()), analysis.getSizes(o)));
        return success();
      })
      .Case([&](graph::MatmulOp o) { return lowerMatmul(o), success(); })
      .Case([&](graph::ExpertMatmulOp o) {
        return lowerExpertMatmul(o), success();
      })
      .Case([&](graph::CausalConv1dOp o) {
        return lowerConvolution(o, o.getInput(), o.getWeight(), o.getDilation(),
                                /*experts=*/false),
               success();
      })
      .Case([&](graph::ExpertCausalConv1dOp o) {
        return lowerConvolution(o, o.getInput(), o.getWeight(), o.getDilation(),
                                /*experts=*/true),
               success();
      })
      .Case([&](graph::EmbeddingOp o) { return lowerEmbedding(o), success(); })
      .Case([&](graph::SoftmaxOp o) { return lowerSoftmax(o), success(); })
      .Case([&](graph::ReduceSumOp o) { return lowerReduceSum(o), success(); })
      .Case([&](graph::GroupNormOp o) { return lowerGroupNorm(o), success(); })
      .Case([&](graph::LayerNormOp o) { return lowerLayerNorm(o), success(); })
      .Case([&](graph::RmsNormOp o) { return lowerRmsNorm(o), success(); })
      .Case([&](graph::CrossEntropyOp o) {
        return lowerCrossEntropy(o), success();
      })
      .Case([&](graph::TopKOp o) { return lowerTopK(o), success(); })
      .Case([&](graph::RouteOp o) { return lowerRoute(o), success(); })
      .Case([&](graph::DispatchOp o) {
        return lowerDispatch(o, o.getInput(), o.getRouting(), o.getExpert(),
                             /*slotValues=*/false),
               success();
      })
      .Case([&](graph::DispatchSlotOp o) {
        return lowerDispatch(o, o.getInput(), o.getRouting(), o.getExpert(),
                             /*slotValues=*/true),
               success();
      })
      .Case([&](graph::CombineOp o) { return lowerCombine(o); })
      .Default([](Operation *other) {
        return other->emitOpError("has no lowering to kernels");
      });
}

//===--- Values
//--------------------------------------------------------------------------------------------------===//

AffineExpr GraphLowering::constant(int64_t value) const {
  return getAffineConstantExpr(value, context);
}

RankedTensorType GraphLowering::typeOf(ArrayRef<AffineExpr> sizes,
                                       Type element) const {
  SmallVector<int64_t> shape;
  for (AffineExpr size : sizes) {
    auto known = dyn_cast<AffineConstantExpr>(size);
    shape.push_back(known ? known.getValue() : ShapedType::kDynamic);
  }
  return RankedTensorType::get(shape, element);
}

/// A map without dimensions over all symbols that `exprs` use.
static AffineMap symbolMap(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  unsigned symbols = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  return AffineMap::get(0, symbols, exprs, context);
}

Value GraphLowering::empty(ArrayRef<AffineExpr> sizes, Type element) {
  return kernel::EmptyOp::create(builder, location, typeOf(sizes, element),
                                 symbolMap(sizes, context));
}

/// The buffer that `tensor` is a view of, and where in it it starts.
static std::pair<Value, AffineExpr> rootOf(Value tensor, MLIRContext *context) {
  AffineExpr start = getAffineConstantExpr(0, context);
  while (auto view = tensor.getDefiningOp<kernel::ViewOp>()) {
    start = start + view.getOffset().getResult(0);
    tensor = view.getInput();
  }
  return {tensor, start};
}

/// Elements to a multiple of which a tensor of `sizes` must start: kernels read
/// rows in the largest pieces, up to 16 bytes, that divide them.
static int64_t requiredAlignment(ArrayRef<AffineExpr> sizes,
                                 int64_t elementBytes) {
  int64_t limit = 16 / elementBytes;
  if (sizes.empty())
    return 1;
  if (auto width = dyn_cast<AffineConstantExpr>(sizes.back()))
    return std::gcd(limit, width.getValue());
  return sizes.size() == 1 ? limit : 1;
}

Value GraphLowering::view(Value tensor, AffineExpr offset,
                          ArrayRef<AffineExpr> sizes) {
  Type element = getElementTypeOrSelf(tensor.getType());
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  auto [root, start] = rootOf(tensor, context);
  start = start + offset;
  if (start.getLargestKnownDivisor() % requiredAlignment(sizes, bytes) != 0) {
    auto first = dyn_cast<AffineConstantExpr>(start);
    if (!first) {
      auto source = tensor.getDefiningOp<kernel::ViewOp>();
      if (offset != constant(0) || !source)
        return {};
      // The source itself starts where it may: its copy starts a buffer.
      AffineMap identity =
          builder.getMultiDimIdentityMap(source.getSizes().getNumResults());
      Value copied =
          copy(tensor, identity, empty(source.getSizes().getResults(), element),
               identity, false);
      return view(copied, offset, sizes);
    }
    AffineExpr count = productOf(sizes, context);
    AffineExpr end = start + count;
    Value row = kernel::ViewOp::create(builder, location, typeOf(end, element),
                                       root, symbolMap(constant(0), context),
                                       symbolMap(end, context));
    AffineExpr moved = builder.getAffineDimExpr(0) + first.getValue();
    Value copied = copy(row, AffineMap::get(1, 0, moved), empty(count, element),
                        builder.getMultiDimIdentityMap(1), false);
    return view(copied, constant(0), sizes);
  }
  return kernel::ViewOp::create(builder, location, typeOf(sizes, element),
                                tensor, symbolMap(offset, context),
                                symbolMap(sizes, context));
}

/// Sizes of a tensor that a launch or a view made; none of an argument's.
static ArrayRef<AffineExpr> madeSizes(Value tensor) {
  if (auto view = tensor.getDefiningOp<kernel::ViewOp>())
    return view.getSizes().getResults();
  if (auto launch = tensor.getDefiningOp<DestinationStyleOpInterface>()) {
    unsigned number = cast<OpResult>(tensor).getResultNumber();
    Value out = launch.getDpsInitOperand(number)->get();
    if (auto empty = out.getDefiningOp<kernel::EmptyOp>())
      return empty.getSizes().getResults();
  }
  return {};
}

/// Whether a view shows all elements of its input, as far as the input's own
/// sizes tell.
static bool isWhole(kernel::ViewOp view) {
  MLIRContext *context = view.getContext();
  AffineExpr shown = productOf(view.getSizes().getResults(), context);
  if (view.getOffset().getResult(0) != getAffineConstantExpr(0, context))
    return false;
  if (auto type = cast<ShapedType>(view.getInput().getType());
      type.hasStaticShape())
    return shown == getAffineConstantExpr(type.getNumElements(), context);
  ArrayRef<AffineExpr> sizes = madeSizes(view.getInput());
  return !sizes.empty() && productOf(sizes, context) == shown;
}

/// The tensor that `tensor` is another shape of.
static Value reshapedFrom(Value tensor) {
  for (auto view = tensor.getDefiningOp<kernel::ViewOp>();
       view && isWhole(view); view = tensor.getDefiningOp<kernel::ViewOp>())
    tensor = view.getInput();
  return tensor;
}

SmallVector<AffineExpr> epifold::findOriginalSizes(Value tensor) {
  return SmallVector<AffineExpr>(madeSizes(reshapedFrom(tensor)));
}

Value GraphLowering::reshape(Value tensor, ArrayRef<AffineExpr> sizes) {
  // A reshaped value is a view of the original, not of another view of it: what
  // gets its first shape back is then the value itself.
  tensor = reshapedFrom(tensor);
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type == typeOf(sizes, type.getElementType()) &&
      type.getNumDynamicDims() <= 1)
    return tensor;
  return view(tensor, constant(0), sizes);
}

Value GraphLowering::tensorOf(Value graphValue) {
  Lowered &lowered = values.find(graphValue)->second;
  if (!lowered.tensor) {
    Value out = empty(lowered.sizes, lowered.splat.getType());
    TypedAttr splat = lowered.splat;
    lowered.tensor =
        map({}, builder.getMultiDimIdentityMap(lowered.sizes.size()), out,
            nullptr, std::nullopt, [&](ValueRange) {
              return SmallVector<Value>{
                  arith::ConstantOp::create(builder, location, splat)};
            });
  }
  return lowered.tensor;
}

SmallVector<AffineExpr>
GraphLowering::flattenRows(ArrayRef<AffineExpr> sizes) const {
  return {productOf(sizes.drop_back(), context), sizes.back()};
}

Value GraphLowering::rowsOf(Value graphValue) {
  const Lowered &lowered = values.find(graphValue)->second;
  SmallVector<AffineExpr> rows = flattenRows(lowered.sizes);
  return reshape(tensorOf(graphValue), rows);
}

void GraphLowering::set(Value graphValue, Value tensor) {
  values[graphValue] =
      Lowered{tensor,
              SmallVector<AffineExpr>(analysis.getSizes(graphValue)),
              {},
              {},
              {}};
}

void GraphLowering::setLike(Value graphValue, Value tensor,
                            const Lowered &rows) {
  Lowered lowered{tensor,
                  SmallVector<AffineExpr>(analysis.getSizes(graphValue)),
                  rows.offsets,
                  rows.expert,
                  {}};
  values[graphValue] = std::move(lowered);
}

//===--- Launches
//------------------------------------------------------------------------------------------------===//

Value epifold::widen(OpBuilder &builder, Location location, Value value) {
  FloatType type = kernel::getComputeType(value.getType());
  return type == value.getType()
             ? value
             : arith::ExtFOp::create(builder, location, type, value)
                   .getResult();
}

Value epifold::narrow(OpBuilder &builder, Location location, Value value,
                      Type element) {
  return element == value.getType()
             ? value
             : arith::TruncFOp::create(builder, location, element, value)
                   .getResult();
}

static ArrayAttr mapArray(OpBuilder &builder, ArrayRef<AffineMap> maps) {
  return builder.getAffineMapArrayAttr(maps);
}

/// Starts the only block of `region` with `types` as arguments, at the
/// builder's new insertion point.
static Block *startRegion(OpBuilder &builder, Location location, Region &region,
                          ArrayRef<Type> types) {
  SmallVector<Location> locations(types.size(), location);
  return builder.createBlock(&region, region.end(), types, locations);
}

Value GraphLowering::map(ArrayRef<Value> ins, ArrayRef<AffineMap> maps,
                         Value out, const Lowered *rows,
                         std::optional<int64_t> domain, ScalarCode code) {
  OpBuilder::InsertionGuard guard(builder);
  IntegerAttr expert = rows && rows->expert
                           ? builder.getI64IntegerAttr(*rows->expert)
                           : IntegerAttr();
  auto op = kernel::MapOp::create(
      builder, location, TypeRange(out), ins, rows ? rows->offsets : Value(),
      ValueRange(out), mapArray(builder, maps),
      builder.getI64IntegerAttr(domain.value_or(ins.size())), expert);
  SmallVector<Type> types = llvm::map_to_vector(
      ins, [](Value in) { return getElementTypeOrSelf(in.getType()); });
  Block *block = startRegion(builder, location, op.getBody(), types);
  kernel::YieldOp::create(builder, location, code(block->getArguments()));
  return op.getResult(0);
}

Value GraphLowering::copy(Value input, AffineMap inMap, Value out,
                          AffineMap outMap, bool domainIsInput) {
  return map({input}, {inMap, outMap}, out, nullptr, domainIsInput ? 0 : 1,
             [](ValueRange args) { return SmallVector<Value>(args); });
}

Value GraphLowering::gemm(const Product &product, Value out) {
  OpBuilder::InsertionGuard guard(builder);
  auto attribute = [&](std::optional<int64_t> value) {
    return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
  };
  IntegerAttr columns;
  DenseI64ArrayAttr begins;
  if (product.range) {
    auto [begin, end] = *product.range;
    columns = builder.getI64IntegerAttr(end - begin);
    begins = builder.getDenseI64ArrayAttr(begin);
  }
  auto op = kernel::GemmOp::create(
      builder, location, TypeRange(out), product.a, ValueRange(product.b),
      /*gather=*/Value(), product.offsets, /*extras=*/ValueRange(),
      ValueRange(out), mapArray(builder, product.outMap),
      attribute(product.dilation), attribute(product.expert),
      builder.getI64IntegerAttr(1), columns, begins);
  Block *block = startRegion(builder, location, op.getEpilogue(),
                             {op.getAccumulatorType()});
  Value rounded = narrow(builder, location, block->getArgument(0),
                         getElementTypeOrSelf(out.getType()));
  kernel::YieldOp::create(builder, location, rounded);
  return op.getResult(0);
}

//===--- Results
//-------------------------------------------------------------------------------------------------===//

/// The buffer that `value` is all of: the empty tensor's use at the start of
/// its chain of launches, or null.
static Value wholeBuffer(Value value) {
  value = reshapedFrom(value);
  while (Operation *op = value.getDefiningOp()) {
    if (auto launch = dyn_cast<DestinationStyleOpInterface>(op)) {
      Value out =
          launch.getDpsInitOperand(cast<OpResult>(value).getResultNumber())
              ->get();
      if (isa_and_nonnull<kernel::EmptyOp>(out.getDefiningOp()))
        return value;
      value = out;
      continue;
    }
    return {};
  }
  return {};
}

Value GraphLowering::materializeResult(Value graphValue) {
  Value tensor = tensorOf(graphValue);
  if (Value root = wholeBuffer(tensor); root && usedRoots.insert(root).second)
    return tensor;
  const Lowered &lowered = values.find(graphValue)->second;
  AffineMap identity = builder.getMultiDimIdentityMap(lowered.sizes.size());
  Value out = empty(lowered.sizes, getElementTypeOrSelf(tensor.getType()));
  Value copied = copy(tensor, identity, out, identity, /*domainIsInput=*/false);
  usedRoots.insert(copied);
  return copied;
}
