// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Registers the kernel dialect and verifies its ops.

#include "ir/kernel/KernelDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace epifold::kernel;

#include "ir/kernel/KernelDialect.cpp.inc"
#include "ir/kernel/KernelEnums.cpp.inc"

#define GET_OP_CLASSES
#include "ir/kernel/KernelOps.cpp.inc"

namespace {
/// Constants of a region stay in it: a launch's scalar code is whole by itself.
struct KeepConstantsInRegions : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *) const final { return true; }
};
} // namespace

void KernelDialect::initialize() {
  addInterfaces<KeepConstantsInRegions>();
  addOperations<
#define GET_OP_LIST
#include "ir/kernel/KernelOps.cpp.inc"
      >();
}

/// The terminator that a region without values gets by itself.
void YieldOp::build(OpBuilder &, OperationState &) {}

FloatType epifold::kernel::getComputeType(Type elementType) {
  if (elementType.isF64())
    return Float64Type::get(elementType.getContext());
  return Float32Type::get(elementType.getContext());
}

Value epifold::kernel::getDestination(Value value) {
  while (auto launch = value.getDefiningOp<DestinationStyleOpInterface>())
    value = launch.getDpsInitOperand(cast<OpResult>(value).getResultNumber())
                ->get();
  return value;
}

static ShapedType shaped(Value value) {
  return cast<ShapedType>(value.getType());
}
static Type element(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// Results must be the outs, one for one.
static LogicalResult verifyOuts(Operation *op, ValueRange outs,
                                ResultRange results) {
  if (outs.empty())
    return op->emitOpError("needs at least one out");
  if (outs.size() != results.size())
    return op->emitOpError("has ")
           << outs.size() << " outs but " << results.size() << " results";
  for (auto [out, result] : llvm::zip(outs, results))
    if (out.getType() != result.getType())
      return op->emitOpError("result type ")
             << result.getType() << " differs from its out's " << out.getType();
  return success();
}

/// The region gets `expected` types and yields the outs' element types.
static LogicalResult verifyRegion(Operation *op, Region &region,
                                  TypeRange expected, ValueRange outs) {
  Block &block = region.front();
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op->emitOpError("region takes (")
           << block.getArgumentTypes() << ") but must take (" << expected
           << ")";
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().size() != outs.size())
    return op->emitOpError("yields ")
           << yield.getValues().size() << " values for " << outs.size()
           << " outs";
  for (auto [value, out] : llvm::zip(yield.getValues(), outs))
    if (value.getType() != element(out))
      return op->emitOpError("yields ")
             << value.getType() << " for an out of " << element(out);
  return success();
}

static LogicalResult verifyMaps(Operation *op, ArrayAttr maps,
                                ValueRange operands, unsigned dims) {
  if (maps.size() != operands.size())
    return op->emitOpError("has ") << maps.size() << " indexing maps for "
                                   << operands.size() << " operands";
  for (auto [attr, operand] :
       llvm::zip(maps.getAsValueRange<AffineMapAttr>(), operands)) {
    AffineMap map = attr;
    if (map.getNumDims() != dims || map.getNumSymbols() > 1)
      return op->emitOpError("indexing map ")
             << AffineMapAttr::get(map) << " must take " << dims
             << " dimensions and at most one symbol";
    if (map.getNumResults() != unsigned(shaped(operand).getRank()))
      return op->emitOpError("indexing map ")
             << AffineMapAttr::get(map) << " does not index an operand of type "
             << operand.getType();
  }
  return success();
}

static LogicalResult verifyGroup(Operation *op, std::optional<int64_t> group,
                                 Value offsets) {
  if (!group)
    return success();
  if (!offsets)
    return op->emitOpError("'group' needs 'offsets'");
  int64_t experts = shaped(offsets).getDimSize(0) - 1;
  if (*group < 0 || *group >= experts)
    return op->emitOpError("group ") << *group << " is outside the " << experts
                                     << " experts of 'offsets'";
  return success();
}

LogicalResult EmptyOp::verify() {
  auto type = shaped(getResult());
  if (getSizes().getNumResults() != unsigned(type.getRank()) ||
      getSizes().getNumDims() != 0)
    return emitOpError("'sizes' must give ")
           << type.getRank() << " sizes without dimensions";
  for (auto [expr, size] : llvm::zip(getSizes().getResults(), type.getShape()))
    if (auto constant = dyn_cast<AffineConstantExpr>(expr);
        (constant && constant.getValue() != size) ||
        (!constant && !ShapedType::isDynamic(size)))
      return emitOpError("'sizes' ")
             << getSizesAttr() << " contradicts the type " << type;
  return success();
}

LogicalResult ViewOp::verify() {
  if (getOffset().getNumResults() != 1)
    return emitOpError("'offset' must be one expression");
  if (getSizes().getNumResults() != unsigned(shaped(getResult()).getRank()))
    return emitOpError("'sizes' must give ")
           << shaped(getResult()).getRank() << " sizes";
  if (element(getInput()) != element(getResult()))
    return emitOpError("changes the element type from ")
           << element(getInput()) << " to " << element(getResult());
  return success();
}

LogicalResult MathOp::verify() {
  bool isDouble = getResult().getType().isF64();
  if (isDouble != (getAccuracy() == Accuracy::F64))
    return emitOpError("accuracy ")
           << stringifyAccuracy(getAccuracy()) << " does not fit "
           << getResult().getType();
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(verifyOuts(*this, getOuts(), getResults())) ||
      failed(verifyGroup(*this, getGroup(), getOffsets())))
    return failure();
  SmallVector<Value> operands(getIns());
  llvm::append_range(operands, getOuts());
  if (getDomain() < 0 || getDomain() >= int64_t(operands.size()))
    return emitOpError("domain ") << getDomain() << " names none of the "
                                  << operands.size() << " operands";
  if (failed(verifyMaps(*this, getIndexingMaps(), operands,
                        shaped(operands[getDomain()]).getRank())))
    return failure();
  if (!cast<AffineMapAttr>(getIndexingMaps()[getDomain()])
           .getValue()
           .isIdentity())
    return emitOpError("the domain operand's map must be the identity");
  SmallVector<Type> types = llvm::map_to_vector(getIns(), element);
  return verifyRegion(*this, getBody(), types, getOuts());
}

int64_t GemmOp::getTaps() {
  if (!isConvolution())
    return 1;
  auto type = shaped(getB().front());
  return type.getDimSize(type.getRank() - 3);
}
int64_t GemmOp::getGroups() {
  auto type = shaped(getB().front());
  return type.getRank() == (isConvolution() ? 4 : 3) ? type.getDimSize(0) : 1;
}
int64_t GemmOp::getRowsOfB() {
  return shaped(getB().front()).getShape().drop_back().back();
}
int64_t GemmOp::getResultColumns() {
  return getColumns().value_or(getRowsOfB());
}
int64_t GemmOp::getBegin(unsigned j) {
  return getBBegins() ? (*getBBegins())[j] : 0;
}
int64_t GemmOp::getDepth() { return shaped(getB().front()).getShape().back(); }
Type GemmOp::getAccumulatorType() { return getComputeType(element(getA())); }

LogicalResult GemmOp::verify() {
  if (failed(verifyOuts(*this, getOuts(), getResults())) ||
      failed(verifyGroup(*this, getGroup(), getOffsets())))
    return failure();
  if (getB().empty())
    return emitOpError("needs at least one B");
  if (shaped(getA()).getShape().back() != getDepth())
    return emitOpError("A has ") << shaped(getA()).getShape().back()
                                 << " columns but B has " << getDepth();
  for (Value b : getB()) {
    if (b.getType() != getB().front().getType())
      return emitOpError("B operands differ in type: ")
             << b.getType() << " and " << getB().front().getType();
    if (element(b) != element(getA()))
      return emitOpError("A is ")
             << element(getA()) << " but B is " << element(b);
  }
  if (getColumns().has_value() != getBBegins().has_value())
    return emitOpError("'columns' and 'b_begins' come together");
  if (getBBegins() && getBBegins()->size() != getB().size())
    return emitOpError("has ") << getBBegins()->size() << " b_begins for "
                               << getB().size() << " B operands";
  for (unsigned j = 0; j < getB().size(); ++j)
    if (getBegin(j) < 0 || getResultColumns() < 0 ||
        getBegin(j) > getRowsOfB() - getResultColumns())
      return emitOpError("uses rows ")
             << getBegin(j) << " to " << getBegin(j) + getResultColumns()
             << " of a B with " << getRowsOfB();
  if (isConvolution() && (isRagged() || shaped(getA()).getRank() != 3))
    return emitOpError(
        "a convolution takes A as [batch, time, channels] without offsets");
  if (getGather() && !isRagged())
    return emitOpError("'gather' needs 'offsets'");
  if (isRagged() && !getGroup() &&
      getGroups() != shaped(getOffsets()).getDimSize(0) - 1)
    return emitOpError("B has ")
           << getGroups() << " groups but offsets are for "
           << shaped(getOffsets()).getDimSize(0) - 1;
  SmallVector<Value> operands(getExtras());
  llvm::append_range(operands, getOuts());
  if (failed(verifyMaps(*this, getIndexingMaps(), operands, 3)))
    return failure();
  SmallVector<Type> types(getB().size(), getAccumulatorType());
  llvm::append_range(types, llvm::map_range(getExtras(), element));
  return verifyRegion(*this, getEpilogue(), types, getOuts());
}

LogicalResult GatherRowsOp::verify() {
  if (failed(verifyOuts(*this, getOuts(), getResults())) ||
      failed(verifyGroup(*this, getGroup(), getOffsets())))
    return failure();
  if (shaped(getSrc()).getRank() != 2 ||
      shaped(getOuts().front()).getRank() != 2 ||
      shaped(getIndex()).getRank() != 1)
    return emitOpError(
        "takes src [rows, width], index [m] and an out [m, width]");
  if (element(getSrc()) != element(getOuts().front()))
    return emitOpError("changes the element type");
  return success();
}

/// Checks numbers of ins and outs and their ranks.
static LogicalResult verifyRanks(Operation *op, ValueRange ins,
                                 ArrayRef<int64_t> inRanks, ValueRange outs,
                                 ArrayRef<int64_t> outRanks,
                                 ResultRange results) {
  auto check = [&](StringRef what, ValueRange values,
                   ArrayRef<int64_t> ranks) -> LogicalResult {
    if (values.size() != ranks.size())
      return op->emitOpError("takes ")
             << ranks.size() << " " << what << ", got " << values.size();
    for (auto [value, rank] : llvm::zip(values, ranks))
      if (shaped(value).getRank() != rank)
        return op->emitOpError("takes ")
               << what << " of rank " << rank << ", got " << value.getType();
    return success();
  };
  if (failed(check("ins", ins, inRanks)) ||
      failed(check("outs", outs, outRanks)))
    return failure();
  return verifyOuts(op, outs, results);
}

#define EPIFOLD_VERIFY_RANKS(OP, INS, OUTS)                                    \
  LogicalResult OP::verify() {                                                 \
    static const int64_t inRanks[] = INS, outRanks[] = OUTS;                   \
    return verifyRanks(*this, getIns(), inRanks, getOuts(), outRanks,          \
                       getResults());                                          \
  }
#define RANKS(...) {__VA_ARGS__}

EPIFOLD_VERIFY_RANKS(SoftmaxOp, RANKS(2), RANKS(2))
EPIFOLD_VERIFY_RANKS(RowReduceOp, RANKS(2), RANKS(1))
EPIFOLD_VERIFY_RANKS(OrderedSumOp, RANKS(3), RANKS(2))
EPIFOLD_VERIFY_RANKS(LeafStatsOp, RANKS(3), RANKS(5))
EPIFOLD_VERIFY_RANKS(MergeStatsOp, RANKS(5), RANKS(3))
EPIFOLD_VERIFY_RANKS(RowStatsOp, RANKS(2), RANKS(2))
EPIFOLD_VERIFY_RANKS(TopKOp, RANKS(2), RANKS(2, 2))
EPIFOLD_VERIFY_RANKS(RouteHistogramOp, RANKS(1), RANKS(2))
EPIFOLD_VERIFY_RANKS(RouteScanOp, RANKS(2), RANKS(2, 1))
EPIFOLD_VERIFY_RANKS(RouteScatterOp, RANKS(1, 2, 1), RANKS(1, 1, 1))
EPIFOLD_VERIFY_RANKS(CombineOp, RANKS(2, 1), RANKS(2))
EPIFOLD_VERIFY_RANKS(RowNllOp, RANKS(2, 1), RANKS(1))

LogicalResult RouteOp::verify() {
  SmallVector<int64_t> outRanks = {2, 2, 1, 1, 2, 1, 1, 2};
  outRanks.append(int64_t(getKeepsProbabilities()) + int64_t(getKeepsValues()),
                  2);
  if (failed(
          verifyRanks(*this, getIns(), {2}, getOuts(), outRanks, getResults())))
    return failure();
  if (getKeepsProbabilities() && !getSoftmax())
    return emitOpError("has no probabilities to keep without 'softmax'");
  if (getKeepsValues() && !getNormalize())
    return emitOpError("keeps values that are the weights without 'normalize'");
  int64_t experts = shaped(getIns().front()).getDimSize(1);
  for (auto [out, sizes] :
       {std::pair(kRouteCounts, SmallVector<int64_t>{experts}),
        std::pair(kRouteOffsets, SmallVector<int64_t>{experts + 1}),
        std::pair(kRouteHistogram, SmallVector<int64_t>{kRouteParts, experts})})
    if (!llvm::equal(shaped(getOuts()[out]).getShape(), sizes))
      return emitOpError("routes to ")
             << experts << " experts but has out " << unsigned(out) << " "
             << getOuts()[out].getType();
  return success();
}

/// The region of an op that holds launches: they write the op's outs or what
/// `isOwnBuffer` says, and it yields what became of the outs.
template <typename Op>
static LogicalResult
verifyLaunchesInside(Op op, llvm::function_ref<bool(Value)> isOwnBuffer) {
  if (failed(verifyOuts(op, op.getOuts(), op.getResults())))
    return failure();
  Block &block = op.getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), op->getOperandTypes()))
    return op.emitOpError("region takes (")
           << block.getArgumentTypes() << ") but must take ("
           << op->getOperandTypes() << ")";
  auto isOut = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() >= op.getIns().size();
  };
  for (Operation &inner : block.without_terminator()) {
    if (isa<ViewOp>(inner) ||
        (inner.getNumResults() == 1 && isOwnBuffer(inner.getResult(0))))
      continue;
    auto launch = dyn_cast<DestinationStyleOpInterface>(inner);
    if (!launch || isa<PersistentOp>(inner)) {
      InFlightDiagnostic error =
          op.emitOpError("holds an op that is neither a launch nor a view");
      error.attachNote(inner.getLoc()) << "'" << inner.getName() << "' is here";
      return error;
    }
    for (Value out : launch.getDpsInits())
      if (Value buffer = getDestination(out);
          !isOut(buffer) && !isOwnBuffer(buffer)) {
        InFlightDiagnostic error =
            op.emitOpError("holds a launch whose out is none of its outs");
        error.attachNote(inner.getLoc())
            << "'" << inner.getName() << "' is here";
        return error;
      }
  }
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().size() != op.getOuts().size())
    return op.emitOpError("yields ")
           << yield.getValues().size() << " values for " << op.getOuts().size()
           << " outs";
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (getDestination(value) != block.getArgument(op.getIns().size() + i))
      return op.emitOpError("yields for out ")
             << i << " a value that is kept elsewhere";
  return success();
}

LogicalResult PersistentOp::verify() {
  return verifyLaunchesInside(*this, [](Value) { return false; });
}

LogicalResult CascadeOp::verify() {
  if (failed(verifyLaunchesInside(*this, [](Value value) {
        return isa_and_present<EmptyOp>(value.getDefiningOp());
      })))
    return failure();
  auto launches = getBody().getOps<DestinationStyleOpInterface>();
  auto count = std::distance(launches.begin(), launches.end());
  if (count < 2 || count > 3)
    return emitOpError("holds ") << count << " launches but takes two or three";
  return success();
}

Operation *CascadeOp::getLaunch(unsigned number) {
  for (auto launch : getBody().getOps<DestinationStyleOpInterface>())
    if (number-- == 0)
      return launch;
  return nullptr;
}
std::optional<unsigned> CascadeOp::findOperand(Value value) {
  auto argument = dyn_cast<BlockArgument>(getDestination(value));
  return argument ? std::optional(argument.getArgNumber()) : std::nullopt;
}
