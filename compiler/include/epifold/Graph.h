// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A graph of the graph dialect: parsed, built, printed.

#ifndef EPIFOLD_GRAPH_H
#define EPIFOLD_GRAPH_H

#include "epifold/runtime/DataType.h"
#include "epifold/runtime/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace epifold {

/// Marks a dimension whose size is known at run time only.
inline constexpr int64_t kDynamic = -1;

/// A named argument or result of a graph.
struct TensorSignature {
  enum class Kind { Input, Parameter, Result };
  std::string name;
  Kind kind = Kind::Input;
  DataType type = DataType::F32;
  std::vector<int64_t> shape; ///< kDynamic where the size is dynamic.
};

/// How code for a GPU computes transcendentals of f32 (those of f64 are always
/// portable). The CPU's evaluation is always portable.
enum class MathMode {
  /// The same bits on every device.
  Portable,
  /// By a GPU's approximations: any fusion set gives the same bits, but other
  /// kinds of devices give others.
  Fast
};

/// The mode that is called "portable" or "fast"; an error names both.
Expected<MathMode> parseMathMode(std::string_view name);

/// A verified graph. Moving it is cheap; it is not copied.
class Graph {
public:
  /// Parses MLIR text or bytecode of one function of graph ops. `name` is the
  /// file name that messages show. An error holds every message of the parser
  /// and the verifiers, with their places in the text.
  static Expected<Graph> parse(std::string_view source,
                               const std::string &name = "graph");

  /// The graph as text, in the form that `parse` reads.
  std::string toText() const;
  /// The graph as MLIR bytecode, in the form that `parse` reads.
  std::vector<uint8_t> toBytecode() const;

  /// Arguments, then results, in order.
  std::vector<TensorSignature> signature() const;

  /// What the function's attribute `graph.math` says; portable without it.
  MathMode mathMode() const;
  void setMathMode(MathMode mode);

  struct Impl;
  explicit Graph(std::unique_ptr<Impl> impl);
  Graph(Graph &&) noexcept;
  Graph &operator=(Graph &&) noexcept;
  ~Graph();
  Impl &impl() const { return *impl_; }

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace epifold

#endif // EPIFOLD_GRAPH_H
