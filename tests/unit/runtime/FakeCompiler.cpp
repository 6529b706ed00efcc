// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A compiler library that knows one graph, so that epifold-run is tested alone.
//
// The graph "double" is y = 2 x + 0.5, t = 2 x over in.x[?, 4] with the
// parameter w.m[2, 4] (as makeDoubleAdd); any other text is an error.

#include "TestExecutable.h"
#include "compiler/include/epifold/c/compiler.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

bool known(const char *data, size_t size, epifold_error_sink error,
           void *context) {
  if (std::string_view(data, size) == "double")
    return true;
  constexpr std::string_view kMessage = "graph.mlir:1:1: error: unknown op";
  error(context, kMessage.data(), kMessage.size());
  return false;
}

} // namespace

extern "C" {

int epifold_abi_version() {
  const char *version = std::getenv("FAKE_COMPILER_VERSION");
  return version ? static_cast<int>(std::strtol(version, nullptr, 10))
                 : EPIFOLD_ABI_VERSION;
}

int epifold_compile(const char *data, size_t size, const char *,
                    epifold_bytes_sink out, void *outContext,
                    epifold_error_sink error, void *errorContext) {
  if (!known(data, size, error, errorContext))
    return 1;
  std::vector<uint8_t> bytes =
      epifold::runtime::serialize(epifold::test::makeDoubleAdd(100));
  out(outContext, bytes.data(), bytes.size());
  return 0;
}

int epifold_load_pass_plugin(const char *, epifold_text_sink, void *,
                             epifold_error_sink error, void *errorContext) {
  constexpr std::string_view kMessage = "this compiler loads no plugin";
  error(errorContext, kMessage.data(), kMessage.size());
  return 1;
}

void epifold_fusion_names(epifold_text_sink, void *) {}

int epifold_fusion_remarks(const char *data, size_t size, const char *,
                           epifold_text_sink out, void *outContext,
                           epifold_error_sink error, void *errorContext) {
  if (!known(data, size, error, errorContext))
    return 1;
  out(outContext, "graph.mlir:1:1: remark: [fuse] double is one launch");
  return 0;
}

int epifold_signature(const char *data, size_t size, const char *,
                      epifold_signature_sink out, void *outContext,
                      epifold_error_sink error, void *errorContext) {
  if (!known(data, size, error, errorContext))
    return 1;
  const int64_t rows[] = {-1, 4}, fixed[] = {2, 4};
  const auto f32 = static_cast<uint32_t>(epifold::DataType::F32);
  for (const epifold_signature_entry &entry :
       {epifold_signature_entry{"in.x", 0, f32, 2, rows},
        epifold_signature_entry{"w.m", 1, f32, 2, fixed},
        epifold_signature_entry{"out.t", 2, f32, 2, rows},
        epifold_signature_entry{"out.y", 2, f32, 2, rows}})
    out(outContext, &entry);
  return 0;
}

int epifold_reference_run(const char *data, size_t size,
                          const epifold_tensor *inputs, size_t inputCount,
                          const char *, epifold_tensor_sink out,
                          void *outContext, epifold_run_status *status,
                          epifold_error_sink error, void *errorContext) {
  if (!known(data, size, error, errorContext))
    return 1;
  for (size_t i = 0; i < inputCount; ++i) {
    if (std::strcmp(inputs[i].name, "in.x") != 0)
      continue;
    auto count = static_cast<size_t>(inputs[i].shape[0] * 4);
    const auto *x = static_cast<const float *>(inputs[i].data);
    std::vector<float> t(count), y(count);
    for (size_t k = 0; k < count; ++k) {
      t[k] = 2 * x[k];
      y[k] = t[k] + 0.5f;
      if (std::isnan(x[k])) {
        status->bits |= 1;
        status->first_nan_row =
            std::min(status->first_nan_row, static_cast<int64_t>(k));
      }
    }
    epifold_tensor result = inputs[i];
    result.name = "out.t";
    result.data = t.data();
    out(outContext, &result);
    result.name = "out.y";
    result.data = y.data();
    out(outContext, &result);
  }
  return 0;
}

} // extern "C"
