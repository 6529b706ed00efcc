// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds graph ops, inferring the types of their results.

#include "epifold/GraphBuilder.h"

#include "compiler/src/GraphImpl.h"
#include "ir/graph/GraphDialect.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace epifold::graph;

namespace epifold {

struct GraphBuilder::Impl {
  Impl()
      : context(makeContext()), builder(context.get()),
        location(builder.getUnknownLoc()) {
    start();
  }

  void start() {
    module = ModuleOp::create(location);
    builder.setInsertionPointToStart(module->getBody());
    function = func::FuncOp::create(builder, location, "main",
                                    builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  static mlir::Value value(GraphValue handle) {
    return mlir::Value::getFromOpaquePointer(handle.handle());
  }
  static GraphValue handle(mlir::Value value) {
    return GraphValue(value.getAsOpaquePointer());
  }
  static ShapedType shaped(mlir::Value value) {
    return cast<ShapedType>(value.getType());
  }
  static SmallVector<mlir::Value>
  valuesOf(const std::vector<GraphValue> &handles) {
    return llvm::map_to_vector(handles, [](GraphValue h) { return value(h); });
  }

  static SmallVector<int64_t> shapeOf(const std::vector<int64_t> &sizes) {
    return llvm::map_to_vector(sizes, [](int64_t size) {
      return size == kDynamic ? ShapedType::kDynamic : size;
    });
  }

  GraphValue argument(StringRef attribute, const std::string &name,
                      DataType type, const std::vector<int64_t> &shape) {
    auto tensor =
        RankedTensorType::get(shapeOf(shape), typeOf(type, context.get()));
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(
        index, tensor,
        builder.getDictionaryAttr(
            builder.getNamedAttr(attribute, builder.getStringAttr(name))),
        location);
    return handle(function.getArgument(index));
  }

  /// The type of an elementwise result: ragged when an operand is, with the
  /// broadcast shape.
  mlir::Type broadcast(ValueRange operands, mlir::Type element) {
    SmallVector<ArrayRef<int64_t>> shapes;
    ShapedType like = shaped(operands.front());
    for (mlir::Value operand : operands) {
      shapes.push_back(shaped(operand).getShape());
      if (isa<RaggedType>(operand.getType()))
        like = shaped(operand);
    }
    // Sizes that contradict each other are the verifier's to report.
    SmallVector<int64_t> shape =
        broadcastShapes(shapes).value_or(SmallVector<int64_t>(like.getShape()));
    return like.cloneWith(shape, element);
  }

  template <typename OpTy>
  GraphValue elementwise(ValueRange operands) {
    mlir::Type type =
        broadcast(operands, shaped(operands.front()).getElementType());
    OperationState state(location, OpTy::getOperationName(), operands, type,
                         {});
    return handle(builder.create(state)->getResult(0));
  }

  template <typename OpTy>
  GraphValue transcendental(GraphValue x,
                            std::optional<MathAccuracy> accuracy) {
    NamedAttrList attributes;
    if (accuracy)
      attributes.append(
          "accuracy",
          AccuracyAttr::get(context.get(),
                            static_cast<graph::Accuracy>(*accuracy)));
    mlir::Value input = value(x);
    OperationState state(location, OpTy::getOperationName(), input,
                         input.getType(), attributes);
    return handle(builder.create(state)->getResult(0));
  }

  mlir::Type elementOr(std::optional<DataType> type, mlir::Value like) {
    return type ? typeOf(*type, context.get()) : shaped(like).getElementType();
  }

  std::shared_ptr<MLIRContext> context;
  OpBuilder builder;
  Location location;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  SmallVector<mlir::Value> results;
  SmallVector<std::string> resultNames;
};

GraphBuilder::GraphBuilder() : impl_(std::make_unique<Impl>()) {}
GraphBuilder::~GraphBuilder() = default;

GraphValue GraphBuilder::input(const std::string &name, DataType type,
                               const std::vector<int64_t> &shape) {
  return impl_->argument(GraphDialect::inputAttrName, name, type, shape);
}
GraphValue GraphBuilder::parameter(const std::string &name, DataType type,
                                   const std::vector<int64_t> &shape) {
  return impl_->argument(GraphDialect::paramAttrName, name, type, shape);
}
void GraphBuilder::result(const std::string &name, GraphValue value) {
  impl_->results.push_back(Impl::value(value));
  impl_->resultNames.push_back(name);
}

GraphValue GraphBuilder::scalar(double value, DataType type) {
  auto tensor = RankedTensorType::get({}, typeOf(type, impl_->context.get()));
  auto data = DenseElementsAttr::get(
      tensor,
      Attribute(impl_->builder.getFloatAttr(tensor.getElementType(), value)));
  return Impl::handle(
      ConstantOp::create(impl_->builder, impl_->location, data));
}

//===--- Views
//---------------------------------------------------------------------------------------------------===//

GraphValue GraphBuilder::select(GraphValue x, int64_t dim, int64_t index) {
  ShapedType type = Impl::shaped(Impl::value(x));
  SmallVector<int64_t> shape(type.getShape());
  if (dim >= 0 && dim < type.getRank())
    shape.erase(shape.begin() + dim);
  return Impl::handle(SelectOp::create(impl_->builder, impl_->location,
                                       type.clone(shape), Impl::value(x), dim,
                                       index));
}

GraphValue GraphBuilder::slice(GraphValue x, int64_t dim, int64_t begin,
                               std::optional<int64_t> end) {
  ShapedType type = Impl::shaped(Impl::value(x));
  SmallVector<int64_t> shape(type.getShape());
  if (dim >= 0 && dim < type.getRank() && !type.isDynamicDim(dim)) {
    auto [first, last] = resolveSlice(begin, end, shape[dim]);
    shape[dim] = last - first;
  }
  Builder &b = impl_->builder;
  return Impl::handle(SliceOp::create(
      impl_->builder, impl_->location, type.clone(shape), Impl::value(x),
      b.getI64IntegerAttr(dim), b.getI64IntegerAttr(begin),
      end ? b.getI64IntegerAttr(*end) : IntegerAttr()));
}

GraphValue GraphBuilder::reshape(GraphValue x,
                                 const std::vector<int64_t> &shape) {
  ShapedType type = Impl::shaped(Impl::value(x));
  return Impl::handle(ReshapeOp::create(impl_->builder, impl_->location,
                                        type.clone(Impl::shapeOf(shape)),
                                        Impl::value(x)));
}

GraphValue GraphBuilder::transpose(GraphValue x,
                                   const std::vector<int64_t> &permutation) {
  ShapedType type = Impl::shaped(Impl::value(x));
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(dim >= 0 && dim < type.getRank() ? type.getDimSize(dim)
                                                     : 1);
  return Impl::handle(TransposeOp::create(impl_->builder, impl_->location,
                                          type.clone(shape), Impl::value(x),
                                          permutation));
}

GraphValue GraphBuilder::stack(const std::vector<GraphValue> &values) {
  SmallVector<mlir::Value> inputs = Impl::valuesOf(values);
  mlir::Type type = stackType(inputs.front().getType(), inputs.size());
  return Impl::handle(
      StackOp::create(impl_->builder, impl_->location, type, inputs));
}

GraphValue GraphBuilder::concat(const std::vector<GraphValue> &values,
                                int64_t dim) {
  SmallVector<mlir::Value> inputs = Impl::valuesOf(values);
  ShapedType type = Impl::shaped(inputs.front());
  SmallVector<int64_t> shape(type.getShape());
  for (mlir::Value input : ArrayRef<mlir::Value>(inputs).drop_front()) {
    int64_t size = Impl::shaped(input).getDimSize(dim);
    shape[dim] =
        ShapedType::isDynamic(size) || ShapedType::isDynamic(shape[dim])
            ? ShapedType::kDynamic
            : shape[dim] + size;
  }
  return Impl::handle(ConcatOp::create(impl_->builder, impl_->location,
                                       type.clone(shape), inputs, dim));
}

//===--- Elementwise
//---------------------------------------------------------------------------------------------===//

GraphValue GraphBuilder::cast(GraphValue x, DataType type) {
  mlir::Value input = Impl::value(x);
  mlir::Type element = typeOf(type, impl_->context.get());
  if (Impl::shaped(input).getElementType() == element)
    return x;
  return Impl::handle(CastOp::create(impl_->builder, impl_->location,
                                     Impl::shaped(input).clone(element),
                                     input));
}

#define EPIFOLD_BINARY(NAME, OP)                                               \
  GraphValue GraphBuilder::NAME(GraphValue a, GraphValue b) {                  \
    return impl_->elementwise<OP>({Impl::value(a), Impl::value(b)});           \
  }
EPIFOLD_BINARY(add, AddOp)
EPIFOLD_BINARY(sub, SubOp)
EPIFOLD_BINARY(mul, MulOp)
EPIFOLD_BINARY(div, DivOp)
EPIFOLD_BINARY(max, MaxOp)
EPIFOLD_BINARY(min, MinOp)
#undef EPIFOLD_BINARY

GraphValue GraphBuilder::neg(GraphValue x) {
  return impl_->elementwise<NegOp>(Impl::value(x));
}
GraphValue GraphBuilder::relu(GraphValue x) {
  return impl_->elementwise<ReluOp>(Impl::value(x));
}

#define EPIFOLD_TRANSCENDENTAL(NAME, OP)                                       \
  GraphValue GraphBuilder::NAME(GraphValue x,                                  \
                                std::optional<MathAccuracy> accuracy) {        \
    return impl_->transcendental<OP>(x, accuracy);                             \
  }
EPIFOLD_TRANSCENDENTAL(exp, ExpOp)
EPIFOLD_TRANSCENDENTAL(tanh, TanhOp)
EPIFOLD_TRANSCENDENTAL(sigmoid, SigmoidOp)
EPIFOLD_TRANSCENDENTAL(silu, SiluOp)
EPIFOLD_TRANSCENDENTAL(gelu, GeluOp)
#undef EPIFOLD_TRANSCENDENTAL

//===--- Products
//------------------------------------------------------------------------------------------------===//

GraphValue GraphBuilder::matmul(GraphValue x, GraphValue w,
                                std::optional<DataType> type) {
  mlir::Value lhs = Impl::value(x), rhs = Impl::value(w);
  SmallVector<int64_t> shape(Impl::shaped(lhs).getShape());
  shape.back() = Impl::shaped(rhs).getDimSize(0);
  mlir::Type result =
      Impl::shaped(lhs).cloneWith(shape, impl_->elementOr(type, lhs));
  return Impl::handle(
      MatmulOp::create(impl_->builder, impl_->location, result, lhs, rhs));
}

GraphValue GraphBuilder::causalConv1d(GraphValue x, GraphValue w,
                                      int64_t dilation,
                                      std::optional<DataType> type) {
  mlir::Value input = Impl::value(x), weight = Impl::value(w);
  SmallVector<int64_t> shape(Impl::shaped(input).getShape());
  shape.back() = Impl::shaped(weight).getDimSize(0);
  mlir::Type result =
      RankedTensorType::get(shape, impl_->elementOr(type, input));
  return Impl::handle(CausalConv1dOp::create(
      impl_->builder, impl_->location, result, input, weight,
      impl_->builder.getI64IntegerAttr(dilation)));
}

//===--- Rows, norms, losses
//-------------------------------------------------------------------------------------===//

GraphValue GraphBuilder::embedding(GraphValue indices, GraphValue table) {
  mlir::Value index = Impl::value(indices), rows = Impl::value(table);
  SmallVector<int64_t> shape(Impl::shaped(index).getShape());
  shape.push_back(Impl::shaped(rows).getShape().back());
  return Impl::handle(EmbeddingOp::create(impl_->builder, impl_->location,
                                          Impl::shaped(rows).clone(shape),
                                          index, rows));
}

GraphValue GraphBuilder::softmax(GraphValue x) {
  mlir::Value input = Impl::value(x);
  return Impl::handle(SoftmaxOp::create(
      impl_->builder, impl_->location, input.getType(), input, AccuracyAttr()));
}

GraphValue GraphBuilder::reduceSum(GraphValue x, int64_t dim, bool keepDim,
                                   bool ascending) {
  mlir::Value input = Impl::value(x);
  SmallVector<int64_t> shape(Impl::shaped(input).getShape());
  if (keepDim)
    shape[dim] = 1;
  else
    shape.erase(shape.begin() + dim);
  return Impl::handle(ReduceSumOp::create(
      impl_->builder, impl_->location, Impl::shaped(input).clone(shape), input,
      dim, keepDim, ascending ? SumOrder::Ascending : SumOrder::Tree));
}

GraphValue GraphBuilder::groupNorm(GraphValue x, GraphValue scale,
                                   GraphValue bias, int64_t groups,
                                   double epsilon) {
  Builder &b = impl_->builder;
  return Impl::handle(GroupNormOp::create(
      impl_->builder, impl_->location, Impl::value(x).getType(), Impl::value(x),
      Impl::value(scale), Impl::value(bias), b.getI64IntegerAttr(groups),
      b.getF64FloatAttr(epsilon)));
}

GraphValue GraphBuilder::layerNorm(GraphValue x, GraphValue scale,
                                   GraphValue bias, double epsilon) {
  return Impl::handle(LayerNormOp::create(
      impl_->builder, impl_->location, Impl::value(x).getType(), Impl::value(x),
      Impl::value(scale), Impl::value(bias),
      impl_->builder.getF64FloatAttr(epsilon)));
}

GraphValue GraphBuilder::rmsNorm(GraphValue x, GraphValue scale,
                                 double epsilon) {
  return Impl::handle(RmsNormOp::create(
      impl_->builder, impl_->location, Impl::value(x).getType(), Impl::value(x),
      Impl::value(scale), impl_->builder.getF64FloatAttr(epsilon)));
}

GraphValue GraphBuilder::crossEntropy(GraphValue logits, GraphValue targets) {
  mlir::Type type =
      RankedTensorType::get({}, getComputeType(Impl::value(logits).getType()));
  return Impl::handle(CrossEntropyOp::create(
      impl_->builder, impl_->location, type, Impl::value(logits),
      Impl::value(targets), AccuracyAttr()));
}

//===--- Routing
//-------------------------------------------------------------------------------------------------===//

GraphBuilder::TopK GraphBuilder::topK(GraphValue x, int64_t k) {
  mlir::Value input = Impl::value(x);
  SmallVector<int64_t> shape(Impl::shaped(input).getShape());
  shape.back() = k;
  auto indices = RankedTensorType::get(shape, impl_->builder.getI32Type());
  auto op = TopKOp::create(impl_->builder, impl_->location,
                           Impl::shaped(input).clone(shape), indices, input, k);
  return {Impl::handle(op.getValues()), Impl::handle(op.getIndices())};
}

GraphBuilder::Routing GraphBuilder::route(GraphValue indices, int64_t experts) {
  mlir::Value input = Impl::value(indices);
  auto type = RoutingType::get(impl_->context.get(), experts,
                               Impl::shaped(input).getShape().back());
  auto counts = RankedTensorType::get({experts}, impl_->builder.getI64Type());
  auto op =
      RouteOp::create(impl_->builder, impl_->location, type, counts, input);
  return {Impl::handle(op.getRouting()), Impl::handle(op.getCounts())};
}

/// The rows of one expert or of all, of `width` columns.
static RaggedType rowsType(RoutingType routing, std::optional<int64_t> expert,
                           int64_t width, mlir::Type element) {
  SmallVector<int64_t> shape{ShapedType::kDynamic, width};
  if (!expert)
    shape.insert(shape.begin(), routing.getExperts());
  return RaggedType::get(routing.getContext(), shape, element);
}

GraphValue GraphBuilder::dispatch(GraphValue x, GraphValue routing,
                                  std::optional<int64_t> expert) {
  mlir::Value input = Impl::value(x), table = Impl::value(routing);
  auto type = rowsType(llvm::cast<RoutingType>(table.getType()), expert,
                       Impl::shaped(input).getShape().back(),
                       Impl::shaped(input).getElementType());
  return Impl::handle(DispatchOp::create(
      impl_->builder, impl_->location, type, input, table,
      expert ? impl_->builder.getI64IntegerAttr(*expert) : IntegerAttr()));
}

GraphValue GraphBuilder::dispatchSlot(GraphValue x, GraphValue routing,
                                      std::optional<int64_t> expert) {
  mlir::Value input = Impl::value(x), table = Impl::value(routing);
  auto type = rowsType(llvm::cast<RoutingType>(table.getType()), expert, 1,
                       Impl::shaped(input).getElementType());
  return Impl::handle(DispatchSlotOp::create(
      impl_->builder, impl_->location, type, input, table,
      expert ? impl_->builder.getI64IntegerAttr(*expert) : IntegerAttr()));
}

GraphValue GraphBuilder::combine(GraphValue routing,
                                 const std::vector<GraphValue> &rows) {
  SmallVector<mlir::Value> inputs = Impl::valuesOf(rows);
  auto type = llvm::cast<RaggedType>(inputs.front().getType());
  // One row a token, of which the routing's indices have as many.
  int64_t tokens = ShapedType::kDynamic;
  if (auto route = Impl::value(routing).getDefiningOp<RouteOp>())
    tokens = Impl::shaped(route.getIndices()).getDimSize(0);
  auto result =
      RankedTensorType::get({tokens, type.getWidth()}, type.getElementType());
  return Impl::handle(CombineOp::create(impl_->builder, impl_->location, result,
                                        Impl::value(routing), inputs));
}

//===--- Finish
//--------------------------------------------------------------------------------------------------===//

Expected<Graph> GraphBuilder::finish() {
  func::ReturnOp::create(impl_->builder, impl_->location, impl_->results);
  func::FuncOp function = impl_->function;
  SmallVector<mlir::Type> types = llvm::map_to_vector(
      impl_->results, [](mlir::Value v) { return v.getType(); });
  function.setType(
      impl_->builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [i, name] : llvm::enumerate(impl_->resultNames))
    function.setResultAttr(i, GraphDialect::resultAttrName,
                           impl_->builder.getStringAttr(name));

  std::unique_ptr<Impl> built = std::exchange(impl_, std::make_unique<Impl>());
  DiagnosticCollector diagnostics(built->context.get());
  if (failed(verify(*built->module)))
    return diagnostics.takeError(ErrorCode::InvalidArgument,
                                 "the graph is not valid");
  return makeGraph(built->context, std::move(built->module));
}

} // namespace epifold
