// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Measures every schedule of a workload's products.

#ifndef EPIFOLD_COMPILER_TOOLS_BENCH_TUNE_H
#define EPIFOLD_COMPILER_TOOLS_BENCH_TUNE_H

#include "Measure.h"
#include "epifold/Tuning.h"

#include <functional>

namespace epifold::tools {

/// The best schedule of each product of `workload` on the GPU that the options
/// name. Each schedule first has to give the results of the default one, to the
/// bit; the default stays unless another is faster by a hundredth. `progress`
/// gets a line for each product and schedule. Errors: no GPU; a product whose
/// rows are not known at compile time; results that differ; the compiler's and
/// the driver's.
Expected<std::vector<TuningEntry>>
tune(const Workload &workload, const MeasureOptions &options,
     const std::function<void(const std::string &)> &progress);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_BENCH_TUNE_H
