// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From a kernel's MLIR to PTX text: dialect conversion, light optimisation,
// NVPTX.

#ifndef EPIFOLD_BACKENDS_PTX_LLVMPIPELINE_H
#define EPIFOLD_BACKENDS_PTX_LLVMPIPELINE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace epifold::ptx {

/// Rewrites a kernel module of llvm.func, arith and scf into the LLVM dialect
/// alone.
llvm::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

/// Text of one target.
struct PtxText {
  std::string llvmIr; ///< Filled when asked for.
  std::string ptx;
};

/// Translates and compiles a module of the LLVM dialect for `target` (`sm_80`,
/// `sm_90a`, …).
///
/// Every f32 and f64 add, mul and fma of the text is rounded to nearest
/// (`.rn`); nothing is contracted, flushed or reassociated. Safe to call from
/// several threads on different modules. The target must be a known one.
llvm::FailureOr<PtxText> compileToPtx(mlir::ModuleOp module,
                                      llvm::StringRef target, bool keepLlvmIr);

/// Whether `target` is a GPU that the backend's PTX version covers: sm_80 to
/// sm_90a.
bool isKnownTarget(llvm::StringRef target);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_LLVMPIPELINE_H
