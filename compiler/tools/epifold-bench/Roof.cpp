// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Times a large product and a large copy.

#include "Roof.h"

#include "ProductWorkloads.h"

namespace epifold::tools {

Expected<Roof> measureRoof(DataType type, const MeasureOptions &options,
                           runtime::Device &device) {
  Roof roof = options.roof;
  MeasureOptions measuring;
  measuring.repeat = 10;
  measuring.sustained = options.sustained;
  if (!roof.teraflops) {
    constexpr int64_t kSize = 8192;
    GemmProduct product;
    product.m = product.n = product.k = kSize;
    product.type = type;
    Expected<Workload> workload = makeWorkload(product);
    if (!workload)
      return workload.error();
    Expected<Measurement> measured =
        measureOnDevice(*workload, measuring, device);
    if (!measured)
      return measured.error().withContext("measuring the peak");
    roof.teraflops = *workload->flops / median(measured->ms) * 1e-9;
  }
  if (!roof.copyGigabytes) {
    constexpr int64_t kBytes = int64_t(1) << 29;
    Expected<Workload> workload = makeCopyWorkload(kBytes);
    if (!workload)
      return workload.error();
    measuring.sustained = 0;
    Expected<Measurement> measured =
        measureOnDevice(*workload, measuring, device);
    if (!measured)
      return measured.error().withContext("measuring the rate of a copy");
    roof.copyGigabytes = *workload->leastBytes / median(measured->ms) * 1e-6;
  }
  return roof;
}

} // namespace epifold::tools
