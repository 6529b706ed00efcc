// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.row_reduce` and `kernel.row_stats`: one team's tree over each
// row.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowTeam.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

void epifold::ptx::reduceRow(KernelBuilder &b, kernel::RowReduceOp op,
                             RowTeam &team, unsigned out) {
  Value result =
      team.reduce(sumTree,
                  [&](const RowTeam::Piece &piece) {
                    return llvm::map_to_vector(
                        team.load(piece), [&](Value x) -> TreeValue {
                          return {op.getSquare()
                                      ? arith::MulFOp::create(b, x, x)
                                      : x};
                        });
                  })
          .front();
  if (op.getMean()) {
    Value count =
        arith::SIToFPOp::create(b, team.getComputeType(), team.getColumns());
    result = arith::DivFOp::create(b, result, count);
  }
  b.ifThen(team.isLeader(), [&] {
    b.storeElement(b.round(result, b.elementType(out)), out, team.getRow());
  });
}

FailureOr<KernelSource> epifold::ptx::emitRowReduce(kernel::RowReduceOp op) {
  KernelBuilder b(op, "row_reduce", RowTeam::getBlock());
  RowTeam team(b);
  reduceRow(b, op, team, /*out=*/1);
  return b.finish();
}

FailureOr<KernelSource> epifold::ptx::emitRowStats(kernel::RowStatsOp op) {
  KernelBuilder b(op, "row_stats", RowTeam::getBlock());
  RowTeam team(b);
  TreeValue node =
      team.reduce(statisticsTree, [&](const RowTeam::Piece &piece) {
        return llvm::map_to_vector(
            team.load(piece), [&](Value x) { return singleStatistics(b, x); });
      });
  KernelBuilder::Values result =
      finishStatistics(b, node, op.getEpsilon().convertToDouble());
  b.ifThen(team.isLeader(), [&] {
    for (auto [i, value] : llvm::enumerate(result))
      b.storeElement(b.round(value, b.elementType(1)), 1,
                     b.add(b.mul(team.getRow(), b.i64(2)), b.i64(i)));
  });
  return b.finish();
}
