// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits elementwise launches: the innermost dimension across threads in 16-byte
// pieces, rows over the grid.

#include "backends/ptx/IndexExpressions.h"
#include "backends/ptx/KernelEmitters.h"
#include "backends/ptx/RaggedRows.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kThreads = 256;

/// One tensor that the launch reads or writes, by kernel operand number.
struct Access {
  unsigned operand;
  AffineMap map;
};

class MapEmitter {
public:
  explicit MapEmitter(kernel::MapOp op) : op(op), shape(collect()) {
    rank = shape.getRank();
    // A ragged row may be a single element: then there are no columns.
    hasColumns = rank > (op.getOffsets() ? 1 : 0);
    rowDims = hasColumns ? rank - 1 : rank;
    chooseWidth();
    chooseBlock();
  }

  KernelSource emit();

private:
  using Values = KernelBuilder::Values;

  RankedTensorType collect();
  void chooseWidth();
  void chooseBlock();
  void setGrid(KernelBuilder &b);
  RowRange rowRange(KernelBuilder &b);
  Values delinearize(KernelBuilder &b, Value row);
  Value expertOf(KernelBuilder &b, Value row);
  void emitPoint(KernelBuilder &b, Values point, Value expert);
  Values loadAccess(KernelBuilder &b, const Access &access, ValueRange point,
                    Value expert);
  void storeAccess(KernelBuilder &b, const Access &access, ValueRange values,
                   ValueRange point, Value expert);
  Values shifted(KernelBuilder &b, ValueRange point, int64_t lane);
  bool isVector(const Access &access) {
    return width > 1 &&
           movementAlong(access.map, rank - 1) == Movement::Contiguous;
  }
  RankedTensorType typeOf(const Access &access) {
    return cast<RankedTensorType>(op->getOperand(access.operand).getType());
  }

  kernel::MapOp op;
  SmallVector<Access> ins, outs;
  unsigned domain = 0, offsets = 0;
  RankedTensorType shape;
  unsigned rank, rowDims;
  bool hasColumns;
  int64_t width = 1; // elements of a thread along the innermost dimension
  int64_t columnThreads =
      1; // threads of a block along it; the others take further rows
};
} // namespace

RankedTensorType MapEmitter::collect() {
  offsets = op.getIns().size();
  unsigned firstOut = offsets + (op.getOffsets() ? 1 : 0);
  SmallVector<AffineMap> maps(
      op.getIndexingMaps().getAsValueRange<AffineMapAttr>());
  for (unsigned i : llvm::seq(maps.size())) {
    bool isIn = i < op.getIns().size();
    Access access{isIn ? i : firstOut + i - unsigned(op.getIns().size()),
                  maps[i]};
    (isIn ? ins : outs).push_back(access);
    if (i == op.getDomain())
      domain = access.operand;
  }
  return cast<RankedTensorType>(op->getOperand(domain).getType());
}

/// As many elements as the widest 16-byte access takes, if every tensor that
/// runs along the innermost dimension allows.
void MapEmitter::chooseWidth() {
  if (!hasColumns || ShapedType::isDynamic(shape.getShape().back()))
    return;
  int64_t limit = 1;
  for (const Access &access : llvm::concat<const Access>(ins, outs))
    if (movementAlong(access.map, rank - 1) == Movement::Contiguous)
      limit = std::max<int64_t>(
          limit,
          std::min<int64_t>(8, 128 / typeOf(access).getElementTypeBitWidth()));
  while (shape.getShape().back() % limit != 0)
    limit /= 2;
  for (const Access &access : outs)
    if (movementAlong(access.map, rank - 1) != Movement::Contiguous)
      return;
  for (const Access &access : llvm::concat<const Access>(ins, outs))
    if (movementAlong(access.map, rank - 1) == Movement::Contiguous)
      limit = vectorAlignment(typeOf(access), access.map, rank - 1, limit);
  width = limit;
}

/// The split of a block's threads that leaves the fewest idle.
void MapEmitter::chooseBlock() {
  if (!hasColumns)
    return;
  columnThreads = kThreads;
  if (ShapedType::isDynamic(shape.getShape().back()))
    return;
  int64_t pieces = shape.getShape().back() / width, fewestIdle = INT64_MAX;
  for (int64_t threads = kThreads; threads >= 1; threads /= 2) {
    int64_t idle = llvm::alignTo(pieces, threads) - pieces;
    // Below a warp the rows' accesses no longer join.
    if (idle < fewestIdle && (threads >= 32 || threads >= pieces)) {
      fewestIdle = idle;
      columnThreads = threads;
    }
  }
}

void MapEmitter::setGrid(KernelBuilder &b) {
  AffineExpr rows = b.gridConstant(1), columnBlocks = b.gridConstant(1);
  for (unsigned dim : llvm::seq(rowDims))
    rows = rows * b.gridSize(domain, dim);
  if (hasColumns)
    columnBlocks = b.gridSize(domain, rank - 1).ceilDiv(width * columnThreads);
  // The rows of one expert are a fraction of the buffer; its blocks walk
  // further instead of standing idle.
  int64_t rowsPerThread = !op.getOffsets() ? 1 : op.getGroup() ? 16 : 4;
  b.setGrid(rows.ceilDiv(kThreads / columnThreads * rowsPerThread) *
            columnBlocks);
}

RowRange MapEmitter::rowRange(KernelBuilder &b) {
  if (!op.getOffsets())
    return {b.i64(0), b.sizeProduct(domain, 0, rowDims)};
  RowRange experts = raggedRows(b, offsets, op.getGroup().has_value());
  Value inner = b.sizeProduct(domain, 1, std::max(1u, rowDims));
  return {b.mul(experts.begin, inner), b.mul(experts.end, inner)};
}

MapEmitter::Values MapEmitter::delinearize(KernelBuilder &b, Value row) {
  Values point(rowDims);
  for (unsigned dim = rowDims; dim-- > 1;) {
    Value size = b.size(domain, dim);
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
  bool isUsed = llvm::any_of(
      llvm::concat<const Access>(ins, outs),
      [](const Access &access) { return access.map.isFunctionOfSymbol(0); });
  if (!op.getOffsets() || !isUsed)
    return {};
  return b.toI64(
      findGroup(b, offsets, row, [](Value offset, Value) { return offset; }));
}

MapEmitter::Values MapEmitter::shifted(KernelBuilder &b, ValueRange point,
                                       int64_t lane) {
  Values result(point);
  if (hasColumns)
    result.back() = b.add(result.back(), b.i64(lane));
  return result;
}

MapEmitter::Values MapEmitter::loadAccess(KernelBuilder &b,
                                          const Access &access,
                                          ValueRange point, Value expert) {
  Type element = b.elementType(access.operand);
  Value offset = elementOffset(b, access.operand, access.map, point, expert);
  if (isVector(access))
    return b.loadVector(
        element, b.elementPointer(b.pointer(access.operand), element, offset),
        width);
  Values values = {b.loadElement(access.operand, offset)};
  bool isBroadcast =
      !hasColumns || movementAlong(access.map, rank - 1) == Movement::None;
  for (int64_t lane : llvm::seq<int64_t>(1, width))
    values.push_back(
        isBroadcast
            ? values.front()
            : b.loadElement(access.operand,
                            elementOffset(b, access.operand, access.map,
                                          shifted(b, point, lane), expert)));
  return values;
}

void MapEmitter::storeAccess(KernelBuilder &b, const Access &access,
                             ValueRange values, ValueRange point,
                             Value expert) {
  Value offset = elementOffset(b, access.operand, access.map, point, expert);
  b.storeVector(values,
                b.elementPointer(b.pointer(access.operand),
                                 b.elementType(access.operand), offset));
}

void MapEmitter::emitPoint(KernelBuilder &b, Values point, Value expert) {
  SmallVector<Values> loaded, results(outs.size());
  for (const Access &access : ins)
    loaded.push_back(loadAccess(b, access, point, expert));
  for (int64_t lane : llvm::seq(width)) {
    Values arguments = llvm::map_to_vector(
        loaded, [&](Values &values) { return values[lane]; });
    for (auto [out, value] :
         llvm::enumerate(b.inlineRegion(op.getBody(), arguments)))
      results[out].push_back(value);
  }
  for (auto [access, values] : llvm::zip(outs, results))
    storeAccess(b, access, values, point, expert);
}

KernelSource MapEmitter::emit() {
  KernelBuilder b(op, width > 1 ? "map_vector" : "map_scalar",
                  {kThreads, 1, 1});
  setGrid(b);
  Value columnBlocks = b.i32(1), columnBlock = b.i32(0), column = b.i64(0),
        columns = b.i64(1);
  if (hasColumns) {
    columns = b.size(domain, rank - 1);
    columnBlocks = b.toI32(b.ceilDiv(columns, width * columnThreads));
    columnBlock = b.rem(b.blockId(), columnBlocks);
    Value thread = b.rem(b.threadId(), b.i32(columnThreads));
    column =
        b.mul(b.toI64(b.add(b.mul(columnBlock, b.i32(columnThreads)), thread)),
              b.i64(width));
  }
  Value rowThreads = b.i32(kThreads / columnThreads);
  Value firstRow = b.add(b.mul(b.div(b.blockId(), columnBlocks), rowThreads),
                         b.div(b.threadId(), b.i32(columnThreads)));
  Value step = b.mul(b.div(b.gridDim(), columnBlocks), rowThreads);
  RowRange rows = rowRange(b);
  b.ifThen(b.lt(column, columns), [&] {
    b.forLoop(b.add(rows.begin, b.toI64(firstRow)), rows.end, b.toI64(step),
              [&](Value row) {
                Values point = delinearize(b, row);
                Value expert = expertOf(b, rowDims > 0 ? point[0] : row);
                if (hasColumns)
                  point.push_back(column);
                emitPoint(b, point, expert);
              });
  });
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitMap(kernel::MapOp op) {
  return MapEmitter(op).emit();
}
