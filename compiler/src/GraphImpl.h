// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a public Graph holds, and the context that all of the compiler runs in.

#ifndef EPIFOLD_COMPILER_SRC_GRAPHIMPL_H
#define EPIFOLD_COMPILER_SRC_GRAPHIMPL_H

#include "epifold/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace epifold {

struct Graph::Impl {
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  mlir::func::FuncOp function() const;
};

/// A context with every dialect that graphs, kernels and emission need.
std::shared_ptr<mlir::MLIRContext> makeContext();

/// Collects diagnostics as text while it lives, instead of printing them.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// An error with everything collected, or `fallback` when nothing was.
  Error takeError(ErrorCode code, const std::string &fallback);
  const std::string &text() const { return text_; }

private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// The graph that `module` holds, when it holds exactly one function with
/// named, ranked arguments and results.
Expected<Graph> makeGraph(std::shared_ptr<mlir::MLIRContext> context,
                          mlir::OwningOpRef<mlir::ModuleOp> module);

/// The runtime's type of an MLIR element type, and back.
std::optional<DataType> dataTypeOf(mlir::Type type);
mlir::Type typeOf(DataType type, mlir::MLIRContext *context);

} // namespace epifold

#endif // EPIFOLD_COMPILER_SRC_GRAPHIMPL_H
