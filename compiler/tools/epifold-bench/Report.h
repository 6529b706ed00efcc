// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A measurement as a table row or a line of JSON.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_REPORT_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_REPORT_H

#include "Measure.h"

#include <string>

namespace epifold::tools {

/// One JSON object on one line: workload, shape, dtype, copies, fusion, launch,
/// device, device_name, ms (the median), ms_min, tflops, gbs (least_bytes over
/// the time), peak_tflops and copy_gbs (what the chip can do), peak_share and
/// copy_share, launches, bytes, least_bytes, peak_bytes. Rates are of the
/// median. What is unknown or does not apply is null.
std::string jsonLine(const Workload &workload, const MeasureOptions &options,
                     const Measurement &measurement);

/// A line that says what was timed, the table's head, its row, and what shares
/// are of.
std::string tableText(const Workload &workload, const MeasureOptions &options,
                      const Measurement &measurement);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_REPORT_H
