// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the evaluations of launches share: operands, outs and ragged rows.

#ifndef EPIFOLD_BACKENDS_REFERENCE_KERNELSUPPORT_H
#define EPIFOLD_BACKENDS_REFERENCE_KERNELSUPPORT_H

#include "backends/reference/Frame.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace epifold::reference {

/// The tensors of a range of operands.
std::vector<Tensor> getTensors(mlir::ValueRange values, Frame &frame);

/// The outs of a launch, to be written: in place where the launch is their last
/// user.
std::vector<Tensor> takeOuts(mlir::DestinationStyleOpInterface op,
                             Frame &frame);

/// Gives the results of a launch the outs it wrote.
llvm::Error defineOuts(mlir::DestinationStyleOpInterface op,
                       std::vector<Tensor> outs, Frame &frame);

/// Rows that one expert owns.
struct RowGroup {
  int64_t expert, begin, end;
};

/// The rows a launch covers: all `rows` (as expert 0) without `offsets`, else
/// those of expert `group` or of every expert. Fails when the offsets leave the
/// rows.
llvm::Expected<std::vector<RowGroup>> getRowGroups(mlir::Operation *op,
                                                   mlir::Value offsets,
                                                   std::optional<int64_t> group,
                                                   int64_t rows, Frame &frame);

/// Fails with `message` unless `holds`.
llvm::Error require(mlir::Operation *op, bool holds,
                    const llvm::Twine &message);

} // namespace epifold::reference

#endif
