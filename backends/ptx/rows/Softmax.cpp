// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.softmax`: largest element, exponential sum, quotients, by one
// team a row.

#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowTeam.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

FailureOr<KernelSource> epifold::ptx::emitSoftmax(kernel::SoftmaxOp op) {
  KernelBuilder b(op, "softmax", RowTeam::getBlock());
  RowTeam team(b);
  Value maximum = team.maximum();
  // Computed twice rather than kept: the same instructions, so the same bits.
  auto exponentials = [&](const RowTeam::Piece &piece) {
    return llvm::map_to_vector(team.load(piece), [&](Value x) {
      return b.math(kernel::MathFunction::Exp, op.getAccuracy(),
                    arith::SubFOp::create(b, x, maximum));
    });
  };
  Value sum = team.reduce(sumTree,
                          [&](const RowTeam::Piece &piece) {
                            return llvm::map_to_vector(
                                exponentials(piece),
                                [](Value e) { return TreeValue{e}; });
                          })
                  .front();
  team.forEachPiece([&](const RowTeam::Piece &piece) {
    KernelBuilder::Values quotients =
        llvm::map_to_vector(exponentials(piece), [&](Value e) -> Value {
          return arith::DivFOp::create(b, e, sum);
        });
    team.store(quotients, piece, /*operand=*/1);
  });
  return b.finish();
}
