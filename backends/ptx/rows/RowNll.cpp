// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.row_nll`: the negative log-likelihood of each row's target;
// in a cascade their sum, too.

#include "backends/ptx/persistent/GridBarrier.h"
#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowTeam.h"
#include "backends/ptx/rows/StatusReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

/// Operands: logits, targets, losses.
static constexpr unsigned kLogits = 0, kTargets = 1, kLosses = 2;

static void emitLoss(KernelBuilder &b, kernel::RowNllOp op, RowTeam &team) {
  Type type = team.getComputeType();
  Value maximum = team.maximum();
  Value sum = team.reduce(sumTree,
                          [&](const RowTeam::Piece &piece) {
                            return llvm::map_to_vector(
                                team.load(piece), [&](Value x) -> TreeValue {
                                  Value below =
                                      arith::SubFOp::create(b, x, maximum);
                                  return {b.math(kernel::MathFunction::Exp,
                                                 op.getAccuracy(), below)};
                                });
                          })
                  .front();
  Value logarithm = b.math(kernel::MathFunction::Log, op.getAccuracy(), sum);
  Value normaliser = arith::AddFOp::create(b, logarithm, maximum);
  b.ifThen(team.isLeader(), [&] {
    Value target = b.toI64(b.loadElement(kTargets, team.getRow()));
    Value isInside = isIndexInside(b, target, team.getColumns());
    auto likelihood = [&]() -> KernelBuilder::Values {
      Value offset = b.add(b.mul(team.getRow(), team.getColumns()), target);
      return {arith::SubFOp::create(b, normaliser,
                                    b.extend(b.loadElement(kLogits, offset)))};
    };
    auto outside = [&]() -> KernelBuilder::Values {
      reportStatus(b, StatusKind::IndexOutside, team.getRow());
      return {notANumber(b, type)};
    };
    Value result = b.ifElse(isInside, likelihood, outside).front();
    b.storeElement(b.round(result, b.elementType(kLosses)), kLosses,
                   team.getRow());
  });
}

FailureOr<KernelSource> epifold::ptx::emitRowNll(kernel::RowNllOp op) {
  // The operands of a cascade begin as the op's do.
  auto cascade = dyn_cast<kernel::CascadeOp>(op->getParentOp());
  KernelBuilder b(cascade ? cascade : op.getOperation(), "row_nll",
                  RowTeam::getBlock(), /*usesStatus=*/true);
  RowTeam team(b);
  if (!cascade) {
    emitLoss(b, op, team);
    return b.finish();
  }
  // One block at least: without a row there is still a sum.
  b.setGrid(b.gridSize(kLogits, 0).floorDiv(team.getRowsPerBlock()) + 1);
  b.ifThen(b.lt(team.getFirstRow(), team.getRows()),
           [&] { emitLoss(b, op, team); });
  emitForLastBlock(b, [&] {
    RowTeam ofLosses(b, kLosses);
    reduceRow(b, cast<kernel::RowReduceOp>(cascade.getSecond()), ofLosses,
              kLosses + 1);
  });
  return b.finish();
}
