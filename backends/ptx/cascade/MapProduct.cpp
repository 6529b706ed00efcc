// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits an elementwise launch whose blocks multiply the rows that they wrote by
// the few rows of a weight, on mma.sync: the weights give the instruction its
// 16 rows, and the block's rows its 8 columns.

#include "backends/ptx/MapRegion.h"
#include "backends/ptx/cascade/CascadeEmitters.h"
#include "backends/ptx/gemm/GemmEpilogue.h"
#include "backends/ptx/rows/LeafMerge.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

namespace {
constexpr int64_t kThreads = 256;
/// Of one instruction: rows of the weight, rows of the launch, and depth.
constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kStep = 16;
/// Bytes after a line of shared memory, so that neighbouring lines begin in
/// other banks.
constexpr int64_t kPadding = 16, kPieceBytes = 16, kBytes = 2;
/// Pieces that a thread has in flight.
constexpr int64_t kPieces = 4;

class MapProductEmitter {
public:
  MapProductEmitter(kernel::MapOp map, kernel::GemmOp gemm)
      : region(map), problem(gemm),
        cascade(cast<kernel::CascadeOp>(region.getLaunch())),
        merge(dyn_cast<kernel::MergeStatsOp>(cascade.getFirst())),
        b(cascade, "map_product", {kThreads, 1, 1}),
        lineBytes(problem.depth * kBytes + kPadding),
        rowsOfBlock(chooseRows(region)) {
    if (merge)
      leaves = *cascade.findOperand(merge.getIns().front());
  }

  KernelSource emit();

private:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  static int64_t chooseRows(const MapRegion &region);
  Value pointerTo(Value line, Value element);
  Values pointOf(Value row, Value column);
  void locateRows();
  void copyWeights();
  void writeRows();
  Value loadPair(Value line, Value element);
  Values multiplyStep(ValueRange sums, Value rowTile, Value depth);
  void multiply();

  MapRegion region;
  GemmProblem problem;
  kernel::CascadeOp cascade;
  kernel::MergeStatsOp merge; ///< What the cascade may begin with.
  KernelBuilder b;
  int64_t lineBytes, rowsOfBlock;
  unsigned leaves = 0;
  Value memory; ///< Lines of the block's rows, then of the weight.
  /// i64 the block's first row, and the end of the rows that it may have.
  Value firstRow, rowEnd;
  Values statistics;
};
} // namespace

/// As many rows as the instruction takes, but half of them where the launch
/// would not have a block for each multiprocessor.
int64_t MapProductEmitter::chooseRows(const MapRegion &region) {
  constexpr int64_t kProcessors = 132;
  RankedTensorType shape = region.getShape();
  int64_t rows = shape.hasStaticShape()
                     ? shape.getNumElements() / shape.getShape().back()
                     : INT64_MAX;
  return rows <= kProcessors * kMmaColumns ? kMmaColumns / 2 : kMmaColumns;
}

/// Place of an element (i32) of a line (i32).
Value MapProductEmitter::pointerTo(Value line, Value element) {
  return b.elementPointer(
      memory, b.getI8Type(),
      b.add(b.mul(line, b.i32(lineBytes)), b.mul(element, b.i32(kBytes))));
}

MapProductEmitter::Values MapProductEmitter::pointOf(Value row, Value column) {
  unsigned rank = region.getShape().getRank();
  Values point(rank);
  point[rank - 1] = column;
  for (unsigned dim = rank - 1; dim-- > 1;) {
    Value size = b.size(region.getDomain(), dim);
    point[dim] = b.rem(row, size);
    row = b.div(row, size);
  }
  if (rank > 1)
    point[0] = row;
  return point;
}

/// The rows of one sample have one mean.
void MapProductEmitter::locateRows() {
  unsigned domain = region.getDomain(),
           rowDims = region.getShape().getRank() - 1;
  bool hasSamples = merge && b.tensorType(leaves).getDimSize(0) != 1;
  AffineExpr rows = b.gridConstant(1);
  for (unsigned dim : llvm::seq(rowDims))
    if (dim > 0 || !hasSamples)
      rows = rows * b.gridSize(domain, dim);
  AffineExpr blocks = rows.ceilDiv(rowsOfBlock);
  b.setGrid(hasSamples ? blocks * b.gridSize(leaves, 0) : blocks);

  Value samples = merge ? b.size(leaves, 0) : b.i64(1);
  Value rowsOfSample = b.div(b.sizeProduct(domain, 0, rowDims), samples);
  Value blocksOfSample = b.ceilDiv(rowsOfSample, rowsOfBlock);
  Value block = b.toI64(b.blockId());
  Value sample = b.div(block, blocksOfSample);
  Value begin = b.mul(sample, rowsOfSample);
  firstRow =
      b.add(begin, b.mul(b.rem(block, blocksOfSample), b.i64(rowsOfBlock)));
  rowEnd =
      b.min(b.add(begin, rowsOfSample), b.add(firstRow, b.i64(rowsOfBlock)));
  if (!merge)
    return;
  Type element =
      cast<ShapedType>(merge.getOuts().front().getType()).getElementType();
  for (Value value : SampleMerger(b, leaves, kThreads)
                         .merge(sample, merge.getEpsilon().convertToDouble()))
    statistics.push_back(b.round(value, element));
}

void MapProductEmitter::copyWeights() {
  constexpr int64_t kElements = kPieceBytes / kBytes;
  int64_t pieces = problem.depth / kElements;
  b.forLoop(
      b.threadId(), b.i32(problem.columns * pieces), b.i32(kThreads),
      [&](Value number) {
        Value line = b.div(number, b.i32(pieces)),
              element = b.mul(b.rem(number, b.i32(pieces)), b.i32(kElements));
        Value offset = b.toI64(b.mul(number, b.i32(kElements)));
        Value from = b.elementPointer(b.pointer(problem.firstB),
                                      problem.element, offset);
        b.storeVector(b.loadVector(problem.element, from, kElements),
                      pointerTo(b.add(line, b.i32(kMmaColumns)), element));
      });
}

/// A piece that does not exist is computed for the block's first row and column
/// and stored nowhere.
void MapProductEmitter::writeRows() {
  struct Piece {
    Value row, column, exists;
    Values point;
    SmallVector<Values> results;
  };
  auto statisticOf = [&](AffineMap map) {
    return statistics[cast<AffineConstantExpr>(map.getResults().back())
                          .getValue()];
  };
  int64_t ofRow = problem.depth / region.getWidth();
  int64_t count = rowsOfBlock * ofRow;
  b.forLoop(
      b.threadId(), b.i32(count), b.i32(kPieces * kThreads), [&](Value first) {
        SmallVector<Piece> pieces(
            std::min(kPieces, int64_t(llvm::divideCeil(count, kThreads))));
        for (auto [i, piece] : llvm::enumerate(pieces)) {
          Value number = b.add(first, b.i32(int64_t(i) * kThreads));
          piece.row = b.div(number, b.i32(ofRow));
          piece.column =
              b.mul(b.rem(number, b.i32(ofRow)), b.i32(region.getWidth()));
          Value row = b.add(firstRow, b.toI64(piece.row));
          piece.exists = b.lt(row, rowEnd);
          piece.point =
              pointOf(b.select(piece.exists, row, firstRow),
                      b.toI64(b.select(piece.exists, piece.column, b.i32(0))));
          piece.results = region.compute(b, piece.point, Value(), statisticOf);
        }
        for (Piece &piece : pieces)
          b.ifThen(piece.exists, [&] {
            region.store(b, piece.results, piece.point, Value());
            b.storeVector(piece.results.front(),
                          pointerTo(piece.row, piece.column));
          });
      });
}

/// Two neighbouring elements as the instruction takes them.
Value MapProductEmitter::loadPair(Value line, Value element) {
  Value pair = b.load(b.getI32Type(), pointerTo(line, element));
  // The f16 form of the op takes pairs, the bf16 form plain registers.
  if (problem.element.isF16())
    pair =
        LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), pair);
  return pair;
}

/// Sixteen k from `depth` (i32) on. Of the weight lane l holds rows l / 4 and
/// l / 4 + 8 of the tile, of the block's rows number l / 4, and of their k
/// 2 (l mod 4), the next one and the same eight further. What does not exist is
/// multiplied for results that nobody stores.
MapProductEmitter::Values
MapProductEmitter::multiplyStep(ValueRange sums, Value rowTile, Value depth) {
  Value quad = b.div(b.laneId(), b.i32(4));
  Value element = b.add(depth, b.mul(b.rem(b.laneId(), b.i32(4)), b.i32(2)));
  Values weights, rows;
  for (int64_t k : {int64_t(0), kStep / 2})
    for (int64_t half : {int64_t(0), kMmaRows / 2}) {
      Value row = b.min(b.add(rowTile, b.add(quad, b.i32(half))),
                        b.i32(problem.columns - 1));
      weights.push_back(
          loadPair(b.add(row, b.i32(kMmaColumns)), b.add(element, b.i32(k))));
    }
  for (int64_t k : {int64_t(0), kStep / 2})
    rows.push_back(loadPair(quad, b.add(element, b.i32(k))));
  Type f32 = b.getF32Type();
  NVVM::MMATypes type =
      problem.element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value result = NVVM::MmaOp::create(
      b, LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32}),
      weights, rows, sums, ArrayRef<int64_t>{kMmaRows, kMmaColumns, kStep},
      std::nullopt, std::nullopt, std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return llvm::map_to_vector(llvm::seq(4), [&](int64_t i) -> Value {
    return LLVM::ExtractValueOp::create(b, result, i);
  });
}

/// A warp takes sixteen rows of the weight.
void MapProductEmitter::multiply() {
  int64_t rowTiles = llvm::divideCeil(problem.columns, kMmaRows);
  b.ifThen(b.lt(b.warpId(), b.i32(rowTiles)), [&] {
    Value rowTile = b.mul(b.warpId(), b.i32(kMmaRows));
    GemmTile tile = {b.i64(0), b.i64(0), firstRow, rowEnd, b.i64(0)};
    AccumulatorLayout layout;
    Value row = b.mul(b.rem(b.laneId(), b.i32(4)), b.i32(2));
    for (int64_t next : {0, 1})
      layout.rows.push_back(b.toI64(b.add(row, b.i32(next))));
    layout.column = b.toI64(b.add(rowTile, b.div(b.laneId(), b.i32(4))));
    layout.runs = {0, kMmaRows / 2};
    layout.runLength = 1;
    layout.isFull = problem.columns % kMmaRows == 0;
    GemmEpilogue epilogue(b, problem, tile, layout);

    constexpr int64_t kUnrolled = 8;
    int64_t steps = problem.depth / kStep, unrolled = kUnrolled;
    while (steps % unrolled != 0)
      unrolled /= 2;
    Values zeros(4, b.constant(b.getF32Type(), 0));
    Values sums = b.forLoop(
        b.i32(0), b.i32(problem.depth), b.i32(unrolled * kStep), zeros,
        [&](Value depth, ValueRange carried) {
          Values next(carried);
          for (int64_t i : llvm::seq(unrolled))
            next = multiplyStep(next, rowTile, b.add(depth, b.i32(i * kStep)));
          return next;
        });
    epilogue.emit([&](int64_t, int64_t ofRow, int64_t run, int64_t) {
      return sums[2 * run + ofRow];
    });
  });
}

KernelSource MapProductEmitter::emit() {
  memory = b.dynamicShared((kMmaColumns + problem.columns) * lineBytes);
  copyWeights();
  locateRows();
  writeRows();
  b.barrier();
  multiply();
  return b.finish();
}

KernelSource epifold::ptx::emitMapProduct(kernel::MapOp map,
                                          kernel::GemmOp gemm) {
  return MapProductEmitter(map, gemm).emit();
}
