// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fuzzes the reader of safetensors files.

#include "SeededMutator.h"
#include "epifold/runtime/Safetensors.h"

#include <string>

using namespace epifold::runtime;

namespace {

std::vector<uint8_t> makeFile(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  std::vector<uint8_t> file(sizeof(length));
  std::memcpy(file.data(), &length, sizeof(length));
  file.insert(file.end(), header.begin(), header.end());
  file.resize(file.size() + dataBytes);
  return file;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file =
      SafetensorsFile::parse(std::as_bytes(std::span(data, size)), "input");
  if (!file)
    return 0;
  double sum = 0;
  for (const std::string &name : file->names())
    if (auto tensor = file->tensor(name))
      for (int64_t i = 0; i < tensor->elements(); ++i)
        sum += elementAsDouble(*tensor, i);
  volatile double kept = sum; // the reads must not be optimised away
  (void)kept;
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned random) {
  static const std::vector<std::vector<uint8_t>> seeds = {
      makeFile(R"({"__metadata__":{"case":"x"},)"
               R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
               R"("b":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}} )",
               9),
      makeFile(R"({"w":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}})",
               0)};
  return epifold::test::mutateFromSeeds(seeds, data, size, maxSize, random);
}
