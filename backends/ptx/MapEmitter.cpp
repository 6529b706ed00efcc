// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits elementwise launches: the innermost dimension across threads in 16-byte
// pieces, rows over the grid; before that, in a cascade, the statistics of the
// block's sample.

#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/MapRegion.h"
#include "backends/ptx/RaggedRows.h"
#include "backends/ptx/rows/LeafMerge.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kThreads = 256;

class MapEmitter {
public:
  explicit MapEmitter(kernel::MapOp op) : op(op), region(op) {
    rank = region.getShape().getRank();
    hasColumns = rank > (op.getOffsets() ? 1 : 0);
    rowDims = hasColumns ? rank - 1 : rank;
    if (auto cascade = dyn_cast<kernel::CascadeOp>(op->getParentOp())) {
      merge = cast<kernel::MergeStatsOp>(cascade.getFirst());
      leaves = *cascade.findOperand(merge.getIns().front());
    }
    chooseBlock();
  }

  KernelSource emit();

private:
  using Values = KernelBuilder::Values;

  void chooseBlock();
  int64_t rowsOfThread();
  void setGrid(KernelBuilder &b);
  RowRange rowRange(KernelBuilder &b);
  Values delinearize(KernelBuilder &b, Value row);
  Value expertOf(KernelBuilder &b, Value row);

  kernel::MapOp op;
  MapRegion region;
  /// Of a cascade: what it begins with, and the operand that holds the leaves.
  kernel::MergeStatsOp merge;
  unsigned leaves = 0;
  unsigned rank, rowDims;
  bool hasColumns;
  int64_t columnThreads =
      1; // threads of a block along it; the others take further rows
};
} // namespace

/// The split of a block's threads that leaves the fewest idle.
void MapEmitter::chooseBlock() {
  if (!hasColumns)
    return;
  columnThreads = kThreads;
  int64_t columns = region.getShape().getShape().back();
  if (ShapedType::isDynamic(columns))
    return;
  int64_t pieces = columns / region.getWidth(), fewestIdle = INT64_MAX;
  for (int64_t threads = kThreads; threads >= 1; threads /= 2) {
    int64_t idle = llvm::alignTo(pieces, threads) - pieces;
    // Below a warp the rows' accesses no longer join.
    if (idle < fewestIdle && (threads >= 32 || threads >= pieces)) {
      fewestIdle = idle;
      columnThreads = threads;
    }
  }
}

/// Rows that a thread takes one after the other, as far as there are so many.
int64_t MapEmitter::rowsOfThread() {
  // The rows of one expert are a fraction of the buffer; its blocks walk
  // further instead of standing idle.
  if (op.getOffsets())
    return op.getGroup() ? 16 : 4;
  if (!merge)
    return 1;
  // A block that merges a sample's leaves should then have something to do,
  // unless there are too few rows to go round.
  constexpr int64_t kManyPoints = 4 << 20, kRows = 4;
  RankedTensorType shape = region.getShape();
  return shape.hasStaticShape() && shape.getNumElements() < kManyPoints ? 1
                                                                        : kRows;
}

void MapEmitter::setGrid(KernelBuilder &b) {
  unsigned domain = region.getDomain();
  AffineExpr rows = b.gridConstant(1), columnBlocks = b.gridConstant(1),
             samples = b.gridConstant(1);
  if (merge)
    samples = b.gridSize(leaves, 0);
  // The outermost dimension is the sample, if there are several.
  bool hasSamples = merge && b.tensorType(leaves).getDimSize(0) != 1;
  for (unsigned dim : llvm::seq(rowDims))
    if (dim > 0 || !hasSamples)
      rows = rows * b.gridSize(domain, dim);
  if (hasColumns)
    columnBlocks =
        b.gridSize(domain, rank - 1).ceilDiv(region.getWidth() * columnThreads);
  b.setGrid(rows.ceilDiv(kThreads / columnThreads * rowsOfThread()) * samples *
            columnBlocks);
}

RowRange MapEmitter::rowRange(KernelBuilder &b) {
  unsigned domain = region.getDomain();
  if (!op.getOffsets())
    return {b.i64(0), b.sizeProduct(domain, 0, rowDims)};
  RowRange experts =
      raggedRows(b, op.getIns().size(), op.getGroup().has_value());
  Value inner = b.sizeProduct(domain, 1, std::max(1u, rowDims));
  return {b.mul(experts.begin, inner), b.mul(experts.end, inner)};
}

MapEmitter::Values MapEmitter::delinearize(KernelBuilder &b, Value row) {
  Values point(rowDims);
  for (unsigned dim = rowDims; dim-- > 1;) {
    Value size = b.size(region.getDomain(), dim);
    point[dim] = b.rem(row, size);
    row = b.div(row, size);
  }
  if (rowDims > 0)
    point[0] = row;
  return point;
}

Value MapEmitter::expertOf(KernelBuilder &b, Value row) {
  if (op.getGroup())
    return b.group();
  if (!op.getOffsets() || !region.usesExpert())
    return {};
  return b.toI64(findGroup(b, op.getIns().size(), row,
                           [](Value offset, Value) { return offset; }));
}

KernelSource MapEmitter::emit() {
  int64_t width = region.getWidth();
  KernelBuilder b(region.getLaunch(), width > 1 ? "map_vector" : "map_scalar",
                  {kThreads, 1, 1});
  setGrid(b);
  Value columnBlocks = b.i32(1), columnBlock = b.i32(0), column = b.i64(0),
        columns = b.i64(1);
  if (hasColumns) {
    columns = b.size(region.getDomain(), rank - 1);
    columnBlocks = b.toI32(b.ceilDiv(columns, width * columnThreads));
    columnBlock = b.rem(b.blockId(), columnBlocks);
    Value thread = b.rem(b.threadId(), b.i32(columnThreads));
    column =
        b.mul(b.toI64(b.add(b.mul(columnBlock, b.i32(columnThreads)), thread)),
              b.i64(width));
  }
  Value rowThreads = b.i32(kThreads / columnThreads);
  Value rowBlock = b.div(b.blockId(), columnBlocks),
        rowBlocks = b.div(b.gridDim(), columnBlocks);
  RowRange rows = rowRange(b);
  Values statistics;
  if (merge) {
    Value samples = b.size(leaves, 0);
    rowBlocks = b.div(rowBlocks, b.toI32(samples));
    Value sample = b.toI64(b.div(rowBlock, rowBlocks));
    rowBlock = b.rem(rowBlock, rowBlocks);
    Value rowsOfSample = b.div(rows.end, samples);
    rows.begin = b.mul(sample, rowsOfSample);
    rows.end = b.add(rows.begin, rowsOfSample);
    Type element =
        cast<ShapedType>(merge.getOuts().front().getType()).getElementType();
    for (Value value : SampleMerger(b, leaves, kThreads)
                           .merge(sample, merge.getEpsilon().convertToDouble()))
      statistics.push_back(b.round(value, element));
  }
  auto statisticOf = [&](AffineMap map) {
    return statistics[cast<AffineConstantExpr>(map.getResults().back())
                          .getValue()];
  };
  Value firstRow = b.add(b.mul(rowBlock, rowThreads),
                         b.div(b.threadId(), b.i32(columnThreads)));
  Value step = b.mul(rowBlocks, rowThreads);
  b.ifThen(b.lt(column, columns), [&] {
    b.forLoop(b.add(rows.begin, b.toI64(firstRow)), rows.end, b.toI64(step),
              [&](Value row) {
                Values point = delinearize(b, row);
                Value expert = expertOf(b, rowDims > 0 ? point[0] : row);
                if (hasColumns)
                  point.push_back(column);
                region.store(b, region.compute(b, point, expert, statisticOf),
                             point, expert);
              });
  });
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitMap(kernel::MapOp op) {
  return MapEmitter(op).emit();
}
