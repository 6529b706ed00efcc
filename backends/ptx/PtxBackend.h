// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The PTX backend's interface: one kernel op in, one module of PTX per target
// and how to launch it out.

#ifndef EPIFOLD_BACKENDS_PTX_PTXBACKEND_H
#define EPIFOLD_BACKENDS_PTX_PTXBACKEND_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace epifold::ptx {

/// What a launch passes for one kernel parameter; every parameter is 8 bytes.
struct KernelParameter {
  enum class Kind {
    Operand, ///< Device pointer to the first element of operand `operand`.
    Dim,     ///< i64 size of dimension `dim` of operand `operand`; only dynamic
             ///< dimensions become parameters.
    Group,   ///< i64 expert of the launch: the op's `group`.
    Status   ///< Device pointer to the run's status words.
  };
  Kind kind = Kind::Operand;
  unsigned operand = 0;
  unsigned dim = 0;
};

/// One target's text.
struct KernelImage {
  /// `sm_80`, `sm_90a`, …
  std::string target;
  std::string ptx;
};

/// A kernel as the executable stores it: text, parameters and launch shape.
struct EmittedKernel {
  /// Name of the `.entry`.
  std::string entry;
  /// In the order of the kernel's parameters.
  llvm::SmallVector<KernelParameter> parameters;
  /// `() [s0, …] -> (x, y, z)`: the grid over the sizes named by `gridDims`. A
  /// zero means that nothing is to be done.
  mlir::AffineMap grid;
  /// The (operand, dimension) each symbol of `grid` stands for; all of them are
  /// dynamic.
  llvm::SmallVector<std::pair<unsigned, unsigned>> gridDims;
  /// Threads in x, y, z.
  std::array<int64_t, 3> block = {1, 1, 1};
  /// Bytes of dynamic shared memory; above 48 KiB the launch must ask the
  /// driver for them.
  int64_t dynamicSharedBytes = 0;
  llvm::SmallVector<KernelImage> images;
  /// What ptxas said that costs speed (spills, serialised matrix instructions);
  /// empty when all is well or unchecked.
  llvm::SmallVector<std::string> remarks;
};

/// Launches with equal keys share one kernel: the op as text with its operand
/// types, without its `group` value, SSA names and locations.
std::string getKernelKey(mlir::Operation *op);

/// How to emit.
struct EmitOptions {
  /// At least one of `sm_80` (or later), `sm_90a`.
  llvm::SmallVector<std::string> targets;
  /// Assemble every image with ptxas; an error of ptxas fails the emission.
  bool checkWithPtxas = false;
  /// The ptxas to use; empty: the one in PATH or in /usr/local/cuda/bin.
  std::string ptxasPath;
  /// When set, `<name>.<target>.mlir` (once for targets that share it),
  /// `<name>.<target>.ll` and `<name>.<target>.ptx` are written there; a name
  /// is the entry and a hash of the key.
  std::string dumpDirectory;
};

/// Emits one launch op of the kernel dialect. The op stays as it is.
///
/// A launch must give each operand a pointer that is aligned to the largest
/// power of two, up to 16 bytes, that divides the bytes of its innermost rows:
/// then every row starts where a vector access may. Buffers of the runtime and
/// views that start at a row are.
///
/// The op's context must have the dialects of `registerPtxDialects` loaded
/// (`loadAllAvailableDialects`); then calls on different ops of one context may
/// run concurrently. Fails with a diagnostic on `op` when the backend has no
/// emitter for it, when a target is unknown, or when ptxas rejects an image.
mlir::FailureOr<EmittedKernel> emitKernel(mlir::Operation *op,
                                          const EmitOptions &options);

/// Adds every dialect and translation the backend builds with.
void registerPtxDialects(mlir::DialectRegistry &registry);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_PTXBACKEND_H
