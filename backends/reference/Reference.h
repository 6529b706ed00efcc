// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Evaluates functions of the graph and kernel dialects on the CPU, to the bit.

#ifndef EPIFOLD_BACKENDS_REFERENCE_REFERENCE_H
#define EPIFOLD_BACKENDS_REFERENCE_REFERENCE_H

#include "backends/reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace epifold::reference {

/// What the device's status word holds after a run: the first row in error of
/// each kind, −1 for none.
struct Status {
  /// Row (token) of a `top_k` whose input holds a NaN.
  int64_t nanLogitsRow = -1;
  /// Position of an index outside its table, its experts or its classes.
  int64_t indexErrorRow = -1;

  bool isClean() const { return nanLogitsRow < 0 && indexErrorRow < 0; }
};

struct Result {
  /// Name (`graph.result`) and value of each result, in the function's order.
  std::vector<std::pair<std::string, Tensor>> results;
  Status status;
};

struct Options {
  /// Threads to use; 0 takes EPIFOLD_THREADS, or else one per core. The
  /// results do not depend on it.
  unsigned threads = 0;
  /// Called before each op with its number and the number of ops.
  std::function<void(mlir::Operation &, int64_t, int64_t)> progress;
};

/// Evaluates `function`, whose one block holds graph ops or kernel ops.
///
/// `inputs` are found by the arguments' `graph.input` and `graph.param` names;
/// names that no argument carries are ignored. Their element types must be the
/// arguments', and their shapes too after `kernel.layout` (a permutation: the
/// argument's dimension i is dimension `layout[i]` of the named tensor). In a
/// function of kernel ops `kernel.symbols`, an array of [argument, dimension]
/// pairs, says which dimensions the symbols s0, s1, … of its maps are; without
/// it they are the arguments' dynamic dimensions in order. `kernel.sizes`,
/// where an argument has it, gives the sizes it must have as a map over them.
///
/// Ops that no result depends on are not evaluated.
///
/// An error names the tensor or the op, and what was wrong. A row in error (a
/// NaN logit, an index outside) is no error here: `Result::status` reports it.
llvm::Expected<Result> evaluate(mlir::func::FuncOp function,
                                const std::map<std::string, Tensor> &inputs,
                                const Options &options = {});

} // namespace epifold::reference

#endif
