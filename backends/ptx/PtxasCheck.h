// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Assembles PTX with NVIDIA's ptxas, when there is one, to find errors and slow
// code early.

#ifndef EPIFOLD_BACKENDS_PTX_PTXASCHECK_H
#define EPIFOLD_BACKENDS_PTX_PTXASCHECK_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace epifold::ptx {

/// What ptxas says of one image.
struct PtxasReport {
  /// Empty when the image assembles.
  std::string error;
  /// Lines that cost speed: register spills, serialised matrix instructions
  /// (C75xx).
  llvm::SmallVector<std::string> remarks;
  /// ptxas' own summary: registers, shared memory.
  std::string resources;
};

/// `path` when it names a program, else the ptxas of PATH or of
/// /usr/local/cuda/bin; nothing when there is none.
std::optional<std::string> findPtxas(llvm::StringRef path = "");

/// Assembles `ptx` for `target` and discards the code.
PtxasReport checkWithPtxas(llvm::StringRef ptxas, llvm::StringRef ptx,
                           llvm::StringRef target);

} // namespace epifold::ptx

#endif // EPIFOLD_BACKENDS_PTX_PTXASCHECK_H
