// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits `kernel.gather_rows`: rows of a table by index.

#include "backends/ptx/RaggedRows.h"
#include "backends/ptx/rows/RowEmitters.h"
#include "backends/ptx/rows/RowPieces.h"
#include "backends/ptx/rows/StatusReport.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::ptx;

FailureOr<KernelSource> epifold::ptx::emitGatherRows(kernel::GatherRowsOp op) {
  constexpr unsigned table = 0, index = 1, offsets = 2;
  unsigned out = op.getOffsets() ? 3 : 2;
  if (op.getOuts().size() != 1)
    return op.emitOpError("writes one out, got ") << op.getOuts().size();
  bool hasGroup = op.getGroup().has_value();
  RowPieces pieces = RowPieces::get(op, out);
  KernelBuilder b(op, "gather_rows", RowPieces::getBlock(), op.getReport());
  // The rows of one expert are a fraction of the buffer: its blocks walk on
  // instead of standing idle.
  b.setGrid(b.gridSize(out, 0).ceilDiv(pieces.getRowsPerBlock() *
                                       (hasGroup ? 16 : 1)));

  RowRange rows = {b.i64(0), b.size(out, 0)};
  if (op.getOffsets())
    rows = raggedRows(b, offsets, hasGroup);
  Value columns = b.size(out, 1);
  b.forLoop(
      b.add(rows.begin, pieces.getRow(b)), rows.end, pieces.getGridRows(b),
      [&](Value row) {
        // A negative index stays outside: it is divided as a huge number.
        Value source =
            b.div(b.toI64(b.loadElement(index, row)), b.i64(op.getDivisor()));
        Value isInside = isIndexInside(b, source, b.size(table, 0));
        Value sourceStart = b.mul(source, columns), start = b.mul(row, columns);
        pieces.forEach(b, columns, [&](Value column) {
          auto copy = [&] {
            return pieces.load(b, table, b.add(sourceStart, column));
          };
          auto fill = [&] {
            if (op.getReport())
              b.ifThen(b.eq(column, b.i64(0)),
                       [&] { reportStatus(b, StatusKind::IndexOutside, row); });
            return KernelBuilder::Values(pieces.width,
                                         notANumber(b, b.elementType(out)));
          };
          pieces.store(b, b.ifElse(isInside, copy, fill), out,
                       b.add(start, column));
        });
      });
  return b.finish();
}
