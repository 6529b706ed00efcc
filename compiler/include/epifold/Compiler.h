// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles graphs to executables, and evaluates them on the CPU.

#ifndef EPIFOLD_COMPILER_H
#define EPIFOLD_COMPILER_H

#include "epifold/Graph.h"
#include "epifold/Tuning.h"
#include "epifold/runtime/Status.h"
#include "epifold/runtime/Tensor.h"

#include <functional>
#include <map>
#include <optional>

namespace epifold {

/// What a fusion did to an op of the graph, or why it did nothing.
struct FusionRemark {
  enum class Kind { Fused, Missed };
  Kind kind;
  std::string fusion;  ///< "fuse-glue-into-epilogue".
  std::string place;   ///< "moe.mlir:12:8"; empty for a graph built in C++.
  std::string op;      ///< "graph.gelu".
  std::string message; ///< What follows the op's name in a sentence.
};

/// "moe.mlir:12:8: remark: [fuse-glue-into-epilogue] graph.gelu …".
std::string toString(const FusionRemark &remark);

/// Whether `kinds`, which is "all", "fused" or "missed", includes `remark`.
bool isOfKind(const FusionRemark &remark, std::string_view kinds);

/// Called during a compilation, on its thread, once per fused op and once per
/// refusal that stands in the end.
using FusionRemarkHandler = std::function<void(const FusionRemark &)>;

struct CompileOptions {
  /// "none", "all", or names of `fusionNames` joined by commas; '-' before a
  /// name leaves that one out. Any set gives the same bits.
  std::string fusion = "all";
  /// Told what fused and what did not; may be empty.
  FusionRemarkHandler onFusionRemark;
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
  /// Measured schedules for products; entries of other products and targets
  /// are of no effect, one that does not fit its product is an error. The bits
  /// are the same.
  Tuning tuning;
};

/// A compiled graph.
struct CompiledGraph {
  std::vector<uint8_t> executable; ///< The content of an `.efx` file.
  size_t kernels = 0;  ///< Distinct ones in it, each variant for itself.
  size_t launches = 0; ///< Launches of one run.
  /// What ptxas said that costs speed (spills and the like); empty when all is
  /// well or unchecked.
  std::vector<std::string> remarks;
};

/// Names that `CompileOptions::fusion` takes, in the order they run: the
/// built-in fusions and those of the plugins loaded so far.
std::vector<std::string> fusionNames();

/// Loads an MLIR pass plugin for the rest of the process and returns the names
/// of the fusions that it adds; "all" includes them. To load a file again
/// changes nothing. Errors: a file that is no plugin, or one of another MLIR; a
/// fusion whose name is taken; a program that is linked statically.
Expected<std::vector<std::string>> loadPassPlugin(const std::string &path);

/// Compiles `graph`. An error tells which op could not be compiled and why.
Expected<CompiledGraph> compile(const Graph &graph,
                                const CompileOptions &options = {});

/// A product of a graph on a target, and how it is cut into tiles.
struct ProductReport {
  /// Type, sizes and form: what names it in a tuning file.
  std::string product;
  std::string target;
  /// Rows of a launch, where they are known at compile time.
  std::optional<int64_t> rows;
  /// Its launches, as numbers of the executable's launches.
  std::vector<size_t> launches;
  struct Schedule {
    std::string schedule;
    /// It is for launches of at most so many rows, or of any number.
    std::optional<int64_t> mostRows;
    bool isTuned = false;
  };
  /// Those in use, bounds of rows ascending.
  std::vector<Schedule> schedules;
  /// All that there are to choose from.
  std::vector<std::string> candidates;
};

/// The products of `graph` as `compile` would emit them.
Expected<std::vector<ProductReport>>
listProducts(const Graph &graph, const CompileOptions &options = {});

/// The graph at a stage, as text: "graph" (after the graph passes), "kernel",
/// "schedules" of its products, or "ptx" of the first target.
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
