// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles graphs to executables, and evaluates them on the CPU.

#ifndef EPIFOLD_COMPILER_H
#define EPIFOLD_COMPILER_H

#include "epifold/Graph.h"
#include "epifold/runtime/Status.h"
#include "epifold/runtime/Tensor.h"

#include <functional>
#include <map>

namespace epifold {

struct CompileOptions {
  /// "none", "all", or names of fusions joined by commas. Any set gives the
  /// same bits.
  std::string fusion = "all";
  /// Targets, each with code for every kernel.
  std::vector<std::string> targets = {"sm_90a", "sm_80"};
  /// Assemble every kernel with ptxas and fail on what it rejects; needs ptxas.
  bool checkWithPtxas = false;
  /// ptxas to use; empty: the one in PATH or in /usr/local/cuda/bin.
  std::string ptxas;
  /// Where to write every stage of the compilation; empty: nowhere.
  std::string dumpDirectory;
  /// Threads that emit kernels; 0: one per core.
  unsigned threads = 0;
};

/// A compiled graph.
struct CompiledGraph {
  std::vector<uint8_t> executable; ///< The content of an `.efx` file.
  size_t kernels = 0;              ///< Distinct kernels in it.
  size_t launches = 0;             ///< Launches of one run.
  /// What ptxas said that costs speed (spills and the like); empty when all is
  /// well or unchecked.
  std::vector<std::string> remarks;
};

/// Compiles `graph`. An error tells which op could not be compiled and why.
Expected<CompiledGraph> compile(const Graph &graph,
                                const CompileOptions &options = {});

/// The graph at a stage, as text: "graph" (after the graph passes), "kernel",
/// or "ptx" of the first target.
Expected<std::string> emitStage(const Graph &graph, const std::string &stage,
                                const CompileOptions &options = {});

/// Which form of the graph the reference evaluates: the graph itself, or the
/// kernels that `fusion` makes of it.
enum class EvaluationLevel { Graph, Kernel };

struct EvaluateOptions {
  EvaluationLevel level = EvaluationLevel::Graph;
  std::string fusion = "all"; ///< At kernel level.
  unsigned threads = 0;       ///< 0: one per core. Results do not depend on it.
};

struct Evaluation {
  std::vector<std::pair<std::string, runtime::HostTensor>>
      results; ///< In the graph's order.
  runtime::StatusWord status;
};

/// Evaluates `graph` on the CPU, to the bits that a modelled chip gives.
/// `inputs` are found by name; others are ignored.
Expected<Evaluation> evaluate(const Graph &graph,
                              const runtime::TensorMap &inputs,
                              const EvaluateOptions &options = {});

/// "epifold X.Y.Z (MLIR …)".
std::string versionString();

} // namespace epifold

#endif // EPIFOLD_COMPILER_H
