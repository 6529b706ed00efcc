// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs a step that was compiled ahead of time: needs the runtime library and,
// to run, an NVIDIA driver; no compiler and no CUDA toolkit.

#include "epifold/runtime/Device.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Safetensors.h"
#include "epifold/runtime/Session.h"

#include <cstdio>
#include <string>

using namespace epifold;
using namespace epifold::runtime;

namespace {

/// Every tensor of a file; the session picks the names it knows.
Expected<TensorMap> readTensors(const std::string &path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.error();
  TensorMap tensors;
  for (const std::string &name : file->names()) {
    auto tensor = file->tensor(name);
    if (!tensor)
      return tensor.error();
    tensors.emplace(name, *tensor);
  }
  return tensors;
}

void printInterface(const Executable &executable) {
  for (const TensorDesc &tensor : executable.desc().tensors) {
    const char *kind = tensor.kind == TensorKind::Input    ? "input"
                       : tensor.kind == TensorKind::Result ? "result"
                                                           : "parameter";
    std::printf("%-9s %s\n", kind, tensor.name.c_str());
  }
}

/// Loads once, binds the weights once, then runs a step; a server would call
/// `run` for every batch, whatever its token count.
Expected<void> runStep(const Executable &executable,
                       const std::string &tensorsPath,
                       const std::string &resultsPath) {
  auto tensors = readTensors(tensorsPath);
  if (!tensors)
    return tensors.error();

  auto device = Device::open(0);
  if (!device)
    return device.error();
  auto session = Session::create(*device, executable);
  if (!session)
    return session.error();
  if (auto bound = session->bindParameters(*tensors); !bound)
    return bound.error();

  auto outcome = session->run(*tensors);
  if (!outcome)
    return outcome.error();
  if (!outcome->report.status.ok())
    std::fprintf(stderr, "%s\n", describe(outcome->report.status).c_str());
  std::printf("%d launches, %.3f ms on %s\n", outcome->report.launches,
              outcome->report.deviceMs, device->info().name.c_str());
  return writeSafetensors(resultsPath, outcome->results);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s STEP.efx TENSORS RESULTS\n", argv[0]);
    return 2;
  }
  auto executable = Executable::open(argv[1]);
  if (!executable) {
    std::fprintf(stderr, "%s\n", executable.error().message().c_str());
    return 1;
  }
  printInterface(*executable);
  if (auto done = runStep(*executable, argv[2], argv[3]); !done) {
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
    return done.error().code() == ErrorCode::NoDevice ? 3 : 1;
  }
  return 0;
}
