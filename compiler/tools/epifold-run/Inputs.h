// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds a graph's arguments in the files that the user named.

#ifndef EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_INPUTS_H
#define EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_INPUTS_H

#include "CompilerLibrary.h"
#include "epifold/runtime/Executable.h"
#include "epifold/runtime/Safetensors.h"

namespace epifold::tools {

/// Arguments and results of an executable.
Signature signatureOf(const runtime::Executable &executable);

/// Each argument from the first file that holds it, converted to the graph's
/// type when `cast` allows. Other tensors in the files are ignored. Errors name
/// the tensor that is missing, or whose type or shape does not fit.
Expected<runtime::TensorMap>
gatherArguments(const Signature &signature,
                const std::vector<runtime::SafetensorsFile> &files, bool cast);

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_INPUTS_H
