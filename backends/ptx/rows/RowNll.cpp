// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.row_nll`: the negative log-likelihood of each row's target.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowTeam.h"
#include "backends/ptx/rows/StatusReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

FailureOr<KernelSource> epifold::ptx::emitRowNll(kernel::RowNllOp op) {
  KernelBuilder b(op, "row_nll", RowTeam::getBlock(), /*usesStatus=*/true);
  RowTeam team(b);
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
    Value target = b.toI64(b.loadElement(1, team.getRow()));
    Value isInside = isIndexInside(b, target, team.getColumns());
    auto likelihood = [&]() -> KernelBuilder::Values {
      Value offset = b.add(b.mul(team.getRow(), team.getColumns()), target);
      return {arith::SubFOp::create(b, normaliser,
                                    b.extend(b.loadElement(0, offset)))};
    };
    auto outside = [&]() -> KernelBuilder::Values {
      reportStatus(b, StatusKind::IndexOutside, team.getRow());
      return {notANumber(b, type)};
    };
    Value result = b.ifElse(isInside, likelihood, outside).front();
    b.storeElement(b.round(result, b.elementType(2)), 2, team.getRow());
  });
  return b.finish();
}
