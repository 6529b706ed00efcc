// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that computes the softmax of a few columns where an epilogue reads
// it.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/Passes.h"
#include "passes/ReshapeMap.h"

namespace epifold {
#define GEN_PASS_DEF_FUSESOFTMAXINTOEPILOGUEPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-softmax-into-epilogue";

/// Columns whose exponentials a thread may compute for each of its rows.
static constexpr int64_t kMostColumns = 8;

namespace {
/// A softmax that an extra is, in another shape perhaps; its columns are the
/// last dimension, or the first one where they were transposed.
struct SoftmaxRead {
  kernel::SoftmaxOp op;
  bool columnIsFirst = false;
};
} // namespace

static int64_t lastSize(Value value) {
  return cast<ShapedType>(value.getType()).getShape().back();
}
static int64_t firstSize(Value value) {
  return cast<ShapedType>(value.getType()).getShape().front();
}

/// What `value` is all of in another shape, with the same columns.
static Value withoutReshape(Value value, int64_t (*columnsOf)(Value)) {
  auto view = value.getDefiningOp<kernel::ViewOp>();
  if (!view || !isReshape(view) ||
      cast<ShapedType>(view.getInput().getType()).getRank() == 0 ||
      columnsOf(value) != columnsOf(view.getInput()))
    return value;
  return view.getInput();
}

/// Whether `op` only moves the last dimension of its input before the others.
static bool movesLastDimension(kernel::MapOp op) {
  if (op.getIns().size() != 1 || op.getOuts().size() != 1 || op.getOffsets() ||
      op.getDomain() != 1)
    return false;
  Block &body = op.getBody().front();
  if (body.getTerminator()->getOperand(0) != body.getArgument(0))
    return false;
  auto map = cast<AffineMapAttr>(op.getIndexingMaps()[0]).getValue();
  SmallVector<AffineExpr> moved;
  for (unsigned dim : llvm::seq(map.getNumDims()))
    moved.push_back(
        getAffineDimExpr((dim + 1) % map.getNumDims(), op.getContext()));
  return ArrayRef(moved) == map.getResults();
}

static SoftmaxRead findSoftmax(Value extra) {
  if (auto op =
          withoutReshape(extra, lastSize).getDefiningOp<kernel::SoftmaxOp>())
    return {op};
  auto moved = withoutReshape(extra, firstSize).getDefiningOp<kernel::MapOp>();
  if (!moved || !movesLastDimension(moved))
    return {};
  return {withoutReshape(moved.getIns().front(), lastSize)
              .getDefiningOp<kernel::SoftmaxOp>(),
          true};
}

/// Whether `op` alone reads `value`, or what it is in another shape.
static bool isReadBy(Value value, Operation *op) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user == op)
      return true;
    auto map = dyn_cast<kernel::MapOp>(user);
    return (isa<kernel::ViewOp>(user) || (map && movesLastDimension(map))) &&
           isReadBy(user->getResult(0), op);
  });
}

/// The map of the softmax's input `[r, c]` for an extra's `map`: one index is
/// the product's row, one the column, the others are zero.
static std::optional<AffineMap> findRowMap(AffineMap map, bool columnIsFirst) {
  AffineExpr row = getAffineDimExpr(1, map.getContext());
  ArrayRef<AffineExpr> rows = columnIsFirst ? map.getResults().drop_front()
                                            : map.getResults().drop_back();
  AffineExpr column =
      columnIsFirst ? map.getResults().front() : map.getResults().back();
  bool hasRow = false;
  for (AffineExpr index : rows) {
    if (index == row && !hasRow)
      hasRow = true;
    else if (index != getAffineConstantExpr(0, map.getContext()))
      return std::nullopt;
  }
  if (!hasRow || column.isFunctionOfDim(1) || column.isFunctionOfDim(2))
    return std::nullopt;
  return AffineMap::get(3, map.getNumSymbols(), {row, column},
                        map.getContext());
}

/// exp(x − m) / Σ exp(x_j − m), as `kernel.softmax` computes it: the sum by the
/// row tree, whose first merges are of neighbours.
static Value computeSoftmax(OpBuilder &b, Location loc, kernel::SoftmaxOp op,
                            Value own, ArrayRef<Value> row) {
  Type element = own.getType(), type = kernel::getComputeType(element);
  auto widen = [&](Value x) -> Value {
    return element == type ? x : arith::ExtFOp::create(b, loc, type, x);
  };
  SmallVector<Value> terms = llvm::map_to_vector(row, widen);
  Value maximum = terms.front();
  for (Value x : ArrayRef(terms).drop_front())
    maximum = arith::MaximumFOp::create(b, loc, maximum, x);
  auto exponential = [&](Value x) -> Value {
    Value below = arith::SubFOp::create(b, loc, x, maximum);
    return kernel::MathOp::create(b, loc, type, kernel::MathFunction::Exp,
                                  op.getAccuracy(), below);
  };
  for (Value &x : terms)
    x = exponential(x);
  for (size_t distance = 1; distance < terms.size(); distance *= 2)
    for (size_t i = 0; i + distance < terms.size(); i += 2 * distance)
      terms[i] = arith::AddFOp::create(b, loc, terms[i], terms[i + distance]);
  Value quotient =
      arith::DivFOp::create(b, loc, exponential(widen(own)), terms.front());
  Type result = getElementTypeOrSelf(op.getType(0));
  return result == type ? quotient
                        : arith::TruncFOp::create(b, loc, result, quotient);
}

namespace {

struct FuseSoftmax : OpRewritePattern<kernel::GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(kernel::GemmOp op,
                                PatternRewriter &rewriter) const override {
    kernel::SoftmaxOp softmax;
    for (Value extra : op.getExtras())
      if (!softmax)
        softmax = findSoftmax(extra).op;
    if (!softmax)
      return notACandidate();
    auto refuse = [&](const Twine &reason) {
      return epifold::refuse(rewriter, op, softmax, reason);
    };
    Value input = softmax.getIns().front();
    int64_t columns = cast<ShapedType>(input.getType()).getDimSize(1);
    if (columns > kMostColumns)
      return refuse("each thread would compute " + Twine(columns) +
                    " exponentials a row");
    if (op.isRagged())
      return refuse("the product's rows are those of experts");
    if (!isReadBy(softmax.getResult(0), op))
      return refuse("the softmax is needed elsewhere");
    SmallVector<std::optional<AffineMap>> rowMaps;
    for (auto [extra, map] :
         llvm::zip(op.getExtras(),
                   op.getIndexingMaps().getAsValueRange<AffineMapAttr>())) {
      SoftmaxRead read = findSoftmax(extra);
      bool isRead = read.op == softmax;
      rowMaps.push_back(isRead ? findRowMap(map, read.columnIsFirst)
                               : std::nullopt);
      if (isRead && !rowMaps.back())
        return refuse("it is read at other rows than the product's");
    }
    reportFused(fusionName, softmax, op);
    fuse(op, softmax, rowMaps, rewriter);
    return success();
  }

private:
  static void fuse(kernel::GemmOp op, kernel::SoftmaxOp softmax,
                   ArrayRef<std::optional<AffineMap>> rowMaps,
                   PatternRewriter &rewriter) {
    Value input = softmax.getIns().front();
    int64_t columns = cast<ShapedType>(input.getType()).getDimSize(1);
    SmallVector<AffineMap> maps(
        op.getIndexingMaps().getAsValueRange<AffineMapAttr>());
    IndexedOperands extras;
    // For each extra where it is now, or where its row's elements are: its own,
    // then all.
    SmallVector<SmallVector<unsigned>> positions;
    for (auto [extra, map, rowMap] : llvm::zip(op.getExtras(), maps, rowMaps)) {
      SmallVector<unsigned> &position = positions.emplace_back();
      if (!rowMap) {
        position.push_back(extras.add(extra, map));
        continue;
      }
      position.push_back(extras.add(input, *rowMap));
      for (int64_t column : llvm::seq(columns)) {
        AffineExpr index[] = {rowMap->getResult(0),
                              rewriter.getAffineConstantExpr(column)};
        position.push_back(
            extras.add(input, AffineMap::get(3, 0, index, op.getContext())));
      }
    }
    SmallVector<AffineMap> newMaps(extras.getMaps());
    llvm::append_range(newMaps,
                       ArrayRef(maps).drop_front(op.getExtras().size()));
    auto fused = kernel::GemmOp::create(
        rewriter, fuseLocations(op, softmax), op.getResultTypes(), op.getA(),
        op.getB(), op.getGather(), op.getOffsets(), extras.getValues(),
        op.getOuts(), rewriter.getAffineMapArrayAttr(newMaps),
        op.getDilationAttr(), op.getGroupAttr(), op.getGatherDivisorAttr(),
        op.getColumnsAttr(), op.getBBeginsAttr());
    SmallVector<Type> types(op.getB().size(), op.getAccumulatorType());
    for (Value extra : extras.getValues())
      types.push_back(getElementTypeOrSelf(extra.getType()));
    SmallVector<Location> locations(types.size(), op.getLoc());
    Block *block =
        rewriter.createBlock(&fused.getEpilogue(), {}, types, locations);
    SmallVector<Value> arguments(
        block->getArguments().take_front(op.getB().size()));
    for (ArrayRef<unsigned> position : positions) {
      SmallVector<Value> given =
          llvm::map_to_vector(position, [&](unsigned p) -> Value {
            return block->getArgument(op.getB().size() + p);
          });
      arguments.push_back(given.size() == 1
                              ? given.front()
                              : computeSoftmax(rewriter, softmax.getLoc(),
                                               softmax, given.front(),
                                               ArrayRef(given).drop_front()));
    }
    kernel::YieldOp::create(
        rewriter, op.getLoc(),
        inlineScalarCode(rewriter, op.getEpilogue().front(), arguments));
    rewriter.replaceOp(op, fused);
  }
};

struct FuseSoftmaxIntoEpilogue
    : epifold::impl::FuseSoftmaxIntoEpiloguePassBase<FuseSoftmaxIntoEpilogue> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseSoftmaxIntoEpiloguePatterns(patterns);
    if (failed(applyFusion(fusionName, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void epifold::populateFuseSoftmaxIntoEpiloguePatterns(
    RewritePatternSet &patterns) {
  patterns.add<FuseSoftmax>(patterns.getContext());
}
