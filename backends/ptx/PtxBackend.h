// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The PTX backend's interface: one kernel op in; out come its variants, each a
// launch shape with a module of PTX per target.

#ifndef EPIFOLD_BACKENDS_PTX_PTXBACKEND_H
#define EPIFOLD_BACKENDS_PTX_PTXBACKEND_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace epifold::ptx {

/// What a launch passes for one kernel parameter: 8 bytes, or a tensor map.
struct KernelParameter {
  enum class Kind {
    Operand, ///< Device pointer to the first element of operand `operand`.
    Dim,     ///< i64 size of dimension `dim` of operand `operand`; only dynamic
             ///< dimensions become parameters.
    Group,   ///< i64 expert of the launch: the op's `group`.
    Status,  ///< Device pointer to the run's status words.
    TensorMap, ///< Tensor map number `map`: 128 bytes by value, 64-byte
               ///< aligned.
    Symbol     ///< i64 symbol number `dim` of the op's function.
  };
  Kind kind = Kind::Operand;
  unsigned operand = 0;
  unsigned dim = 0;
  unsigned map = 0;
};

/// How the unit for tensor copies (TMA) sees an operand: as a tensor in boxes,
/// which it copies between global and shared memory.
///
/// The launch encodes it from the operand's address and element type. A row of
/// a box, `box[0]` elements, takes at most 128 bytes; in shared memory rows lie
/// in the 128-byte swizzle. Elements out of bounds are read as zeros and not
/// written.
struct TensorMap {
  unsigned operand = 0;
  /// Elements of each dimension, innermost first, over the symbols of
  /// `gridDims`.
  llvm::SmallVector<mlir::AffineExpr> sizes;
  /// Bytes from one index to the next, of every dimension but the innermost
  /// (whose elements are adjacent), over the same symbols; multiples of 16.
  llvm::SmallVector<mlir::AffineExpr> strides;
  /// Elements of a box in each dimension.
  llvm::SmallVector<int64_t> box;
};

/// One target's text.
struct KernelImage {
  /// `sm_80`, `sm_90a`, …
  std::string target;
  std::string ptx;
};

/// A variant of a kernel: what one launch needs, and the targets and sizes that
/// it is for.
struct EmittedKernel {
  /// Name of the `.entry`.
  std::string entry;
  /// In the order of the kernel's parameters.
  llvm::SmallVector<KernelParameter> parameters;
  /// `() [s0, …] -> (x, y, z)`: the grid over the sizes named by `gridDims`. A
  /// zero means that nothing is to be done.
  mlir::AffineMap grid;
  /// The (operand, dimension) that each symbol of `grid`, of tensor maps and of
  /// `limitedSize` stands for; all of them are dynamic. The operand `kFunction`
  /// has the function's symbols for dimensions.
  llvm::SmallVector<std::pair<unsigned, unsigned>> gridDims;
  static constexpr unsigned kFunction = ~0u;
  /// Threads in x, y, z.
  std::array<int64_t, 3> block = {1, 1, 1};
  /// Bytes of dynamic shared memory; above 48 KiB the launch must ask the
  /// driver for them.
  int64_t dynamicSharedBytes = 0;
  llvm::SmallVector<TensorMap> tensorMaps;
  /// The variant is for runs in which this size, over the symbols of
  /// `gridDims`, is at most `sizeLimit`; null: for any run.
  mlir::AffineExpr limitedSize;
  int64_t sizeLimit = 0;
  /// The kernel itself waits for the end of the launch before it, so it may be
  /// started while that one still runs.
  bool overlapsPrevious = false;
  /// Of the targets that share this launch.
  /// The blocks wait for one another: all of them must be on the device at
  /// once. The grid is one-dimensional, and a launch of fewer blocks does the
  /// same.
  bool isResident = false;
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
  /// is the entry, a hash of the key, and the variant's number where a target
  /// has several.
  std::string dumpDirectory;
};

/// Emits one launch op of the kernel dialect. The op stays as it is.
///
/// Targets that can do the same share variants; those of the more capable
/// targets come first, and within them limits of sizes ascend to a variant
/// without one. So the first variant that has an image for a device and is for
/// a run's sizes is the one to launch, and there is one for any sizes.
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
mlir::FailureOr<std::vector<EmittedKernel>>
emitKernel(mlir::Operation *op, const EmitOptions &options);

/// Adds every dialect and translation the backend builds with.
void registerPtxDialects(mlir::DialectRegistry &registry);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_PTXBACKEND_H
