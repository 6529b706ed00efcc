// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the chip can do, as a yardstick for what a workload does.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_ROOF_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_ROOF_H

#include "Measure.h"

namespace epifold::tools {

/// Fills in what `options.roof` leaves to be measured: the rate of a product of
/// 8192 x 8192 x 8192 elements of `type`, after as many seconds of the same
/// work as the workload had, and the rate of a launch that copies half a
/// gibibyte. So both are this compiler's own kernels, which cuBLAS may exceed:
/// give its rate with --peak. Errors: those of `measureOnDevice`.
Expected<Roof> measureRoof(DataType type, const MeasureOptions &options,
                           runtime::Device &device);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_ROOF_H
