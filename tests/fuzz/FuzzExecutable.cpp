// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fuzzes the reader of executables, with the hash in its way and without.

#include "ExecutableFormat.h"
#include "LaunchPlan.h"
#include "SeededMutator.h"
#include "TestExecutable.h"
#include "epifold/runtime/Executable.h"

#include <cstdlib>

using namespace epifold::runtime;

namespace {

/// Does with an accepted executable what a session does before it launches.
void use(std::span<const uint8_t> file) {
  auto executable = Executable::load(file);
  if (!executable)
    return;
  const ExecutableDesc &desc = executable->desc();
  DeviceInfo device;
  device.major = 9;
  if (auto support =
          findLaunchSupport(desc, device, /*hasTensorMaps=*/true, ""))
    for (int64_t size : {0, 1, 45, 1 << 30})
      (void)bindLaunchPlan(desc, *support,
                           std::vector<int64_t>(desc.symbols.size(), size));
  // What was read must be writable, and mean the same when read again.
  auto again = Executable::load(serialize(desc));
  if (!again || !(again->desc() == desc))
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  use({data, size});
  use(wrapPlan({data, size}));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned random) {
  static const std::vector<std::vector<uint8_t>> seeds = {
      serializePlan(epifold::test::makeDoubleAdd(1)),
      serialize(epifold::test::makeDoubleAdd(1)),
      serializePlan(epifold::test::makeVariants(1)),
      serialize(epifold::test::makeVariants(1))};
  return epifold::test::mutateFromSeeds(seeds, data, size, maxSize, random);
}
