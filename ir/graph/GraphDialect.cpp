// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Registers the graph dialect, its types and attributes.

#include "ir/graph/GraphDialect.h"
#include "ir/kernel/MathMode.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace epifold::graph;

#include "ir/graph/GraphDialect.cpp.inc"
#include "ir/graph/GraphEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/graph/GraphTypes.cpp.inc"

#include "ir/graph/GraphInterfaces.cpp.inc"

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/graph/GraphTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/graph/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.getValue().empty())
    return op->emitError() << "'" << attribute.getName().getValue()
                           << "' must be a non-empty string, got "
                           << attribute.getValue();
  return success();
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name != kernel::mathModeAttrName || !isa<FunctionOpInterface>(op))
    return op->emitError() << "'" << name
                           << "' is not an op attribute of the graph dialect; "
                              "a function may have '"
                           << kernel::mathModeAttrName << "'";
  auto mode = dyn_cast<StringAttr>(attribute.getValue());
  if (!mode || !kernel::symbolizeMathMode(mode.getValue()))
    return op->emitError() << "'" << name
                           << "' must be \"portable\" or \"fast\", got "
                           << attribute.getValue();
  return success();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name != inputAttrName && name != paramAttrName)
    return op->emitError()
           << "'" << name
           << "' is not an argument attribute of the graph dialect; it has '"
           << inputAttrName << "' and '" << paramAttrName << "'";
  return verifyName(op, attribute);
}

LogicalResult
GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                          NamedAttribute attribute) {
  if (attribute.getName() != resultAttrName)
    return op->emitError()
           << "'" << attribute.getName().getValue()
           << "' is not a result attribute of the graph dialect; it has '"
           << resultAttrName << "'";
  return verifyName(op, attribute);
}

//===--- Types
//---------------------------------------------------------------------------------------------------===//

Type RaggedType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape) ||
      parser.parseType(elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<RaggedType>(loc, parser.getContext(), shape,
                                       elementType);
}

void RaggedType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType() << '>';
}

LogicalResult RaggedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType) {
  if (shape.size() != 2 && shape.size() != 3)
    return emitError()
           << "ragged rows are [?, width] or [experts, ?, width], got "
           << shape.size() << " dimensions";
  if (!ShapedType::isDynamic(shape[shape.size() - 2]))
    return emitError() << "the row count of ragged rows must be '?', got "
                       << shape[shape.size() - 2];
  if (ShapedType::isDynamic(shape.back()) ||
      (shape.size() == 3 && ShapedType::isDynamic(shape.front())))
    return emitError() << "only the row count of ragged rows may be dynamic";
  if (!isa<FloatType>(elementType))
    return emitError() << "ragged rows hold floats, got " << elementType;
  return success();
}

bool RaggedType::hasRank() const { return true; }

ShapedType RaggedType::cloneWith(std::optional<ArrayRef<int64_t>> shape,
                                 Type elementType) const {
  return RaggedType::get(getContext(), shape.value_or(getShape()), elementType);
}

//===--- Shared type arithmetic
//----------------------------------------------------------------------------------===//

FloatType epifold::graph::getComputeType(Type type) {
  if (getElementTypeOrSelf(type).isF64())
    return Float64Type::get(type.getContext());
  return Float32Type::get(type.getContext());
}

std::optional<SmallVector<int64_t>>
epifold::graph::broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes) {
    for (auto [i, size] : llvm::enumerate(shape)) {
      int64_t &merged = result[rank - shape.size() + i];
      if (merged == 1)
        merged = size;
      else if (size != 1 && size != merged) {
        if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(merged))
          return std::nullopt;
        merged = ShapedType::isDynamic(merged) ? size : merged;
      }
    }
  }
  return result;
}

ShapedType epifold::graph::stackType(Type type, int64_t experts) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || (isa<RaggedType>(type) && cast<RaggedType>(type).isGrouped()))
    return {};
  SmallVector<int64_t> shape(shaped.getShape());
  shape.insert(shape.begin(), experts);
  return shaped.clone(shape);
}

std::pair<int64_t, int64_t>
epifold::graph::resolveSlice(int64_t begin, std::optional<int64_t> end,
                             int64_t size) {
  auto fromEnd = [&](int64_t bound) {
    return bound < 0 ? bound + size : bound;
  };
  return {fromEnd(begin), end ? fromEnd(*end) : size};
}
