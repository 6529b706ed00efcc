// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The compiler library, opened only when a graph must be compiled or evaluated.

#ifndef EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_COMPILERLIBRARY_H
#define EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_COMPILERLIBRARY_H

#include "compiler/include/epifold/c/compiler.h"
#include "epifold/runtime/ExecutableBuilder.h"
#include "epifold/runtime/Status.h"
#include "epifold/runtime/Tensor.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace epifold::tools {

/// An argument or result of a graph; a dynamic dimension is -1.
struct SignatureEntry {
  std::string name;
  runtime::TensorKind kind = runtime::TensorKind::Input;
  DataType type = DataType::F32;
  runtime::Shape shape;
};
using Signature = std::vector<SignatureEntry>;

/// Results of an evaluation on the CPU.
struct ReferenceOutcome {
  runtime::TensorMap results;
  runtime::StatusWord status;
};

/// The C interface of the compiler behind values and errors. Graphs are MLIR
/// text or bytecode; options are JSON as the C header says.
class CompilerLibrary {
public:
  /// Uses the compiler in this program when it is linked in; otherwise opens
  /// $EPIFOLD_COMPILER_LIBRARY, or libEpifoldCompiler.so beside the program, in
  /// ../lib, or where the loader finds it. Errors: NotFound with the places
  /// tried; Unsupported when its interface has another version.
  static Expected<CompilerLibrary> open();

  /// Loads a pass plugin for the rest of the process. Errors: Compile.
  Expected<void> loadPassPlugin(const std::string &path) const;

  /// Names that the option "fusion" takes, in the order the fusions run.
  std::vector<std::string> fusionNames() const;

  /// What fused and what did not, a line each. Errors: Compile.
  Expected<std::vector<std::string>>
  fusionRemarks(std::span<const uint8_t> graph,
                const std::string &options) const;

  /// The bytes of an executable. Errors: Compile, with the diagnostics.
  Expected<std::vector<uint8_t>> compile(std::span<const uint8_t> graph,
                                         const std::string &options) const;

  /// Arguments and results. Errors: Compile.
  Expected<Signature> signature(std::span<const uint8_t> graph,
                                const std::string &options) const;

  /// Evaluates the graph on the CPU. Errors: Compile.
  Expected<ReferenceOutcome> evaluate(std::span<const uint8_t> graph,
                                      const runtime::TensorMap &inputs,
                                      const std::string &options) const;

private:
  decltype(&epifold_load_pass_plugin) loadPassPlugin_ = nullptr;
  decltype(&epifold_fusion_names) fusionNames_ = nullptr;
  decltype(&epifold_fusion_remarks) fusionRemarks_ = nullptr;
  decltype(&epifold_compile) compile_ = nullptr;
  decltype(&epifold_signature) signature_ = nullptr;
  decltype(&epifold_reference_run) evaluate_ = nullptr;
};

} // namespace epifold::tools

#endif // EPIFOLD_COMPILER_TOOLS_EPIFOLD_RUN_COMPILERLIBRARY_H
