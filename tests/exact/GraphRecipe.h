// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A graph as plain data that can be changed and printed, with the values its
// arguments get.

#ifndef EPIFOLD_TESTS_EXACT_GRAPHRECIPE_H
#define EPIFOLD_TESTS_EXACT_GRAPHRECIPE_H

#include "tests/exact/RandomTensors.h"

#include <algorithm>
#include <string>
#include <vector>

namespace epifold::exact {

/// A dimension: its size when the graph runs and, where the type does not state
/// it, a name that equal sizes share ("T", "T-1").
struct Dim {
  int64_t size = 1;
  std::string symbol; ///< Empty: static.

  bool isDynamic() const { return !symbol.empty(); }
  bool operator==(const Dim &) const = default;
};

/// The type of a value of a graph.
struct ValueType {
  enum class Kind { Tensor, Ragged, Routing };
  Kind kind = Kind::Tensor;
  DataType element = DataType::F32;
  std::vector<Dim> shape; ///< Of ragged rows [rows, width] with rows unknown.
  int64_t experts = 0;    ///< Of a routing, and of all experts' ragged rows.
  int64_t topk = 0;       ///< Of a routing.
  int routing = -1;       ///< Of ragged rows: the routing they belong to,
  int64_t expert = -1;    ///< and the expert, −1 for all of them.

  bool isTensor() const { return kind == Kind::Tensor; }
  bool isRagged() const { return kind == Kind::Ragged; }
  size_t rank() const { return shape.size(); }
  const Dim &back() const { return shape.back(); }
  /// A reshape's result may have one dynamic dimension.
  bool canBeReshaped() const {
    return std::ranges::count_if(shape, &Dim::isDynamic) <= 1;
  }
  ValueType withElement(DataType type) const;
  ValueType withShape(std::vector<Dim> sizes) const;
  /// As MLIR spells it.
  std::string text() const;
};

/// What an argument holds beside what its RandomSpec says.
enum class Flavour {
  Plain,
  Special, ///< A few NaNs, infinities, zeros of either sign and subnormals.
  Ties,    ///< Multiples of one half: many are equal.
};

/// A graph: values are numbered; each is an argument or the result of a node.
struct GraphRecipe {
  struct Argument {
    int value;
    std::string name;
    bool isParameter;
    RandomSpec spec;
    Flavour flavour = Flavour::Plain;
    int64_t intBegin = 0; ///< Added to integers.
  };
  struct Node {
    std::string op; ///< "graph.add".
    std::vector<int> operands;
    std::string attributes; ///< "dim = 1 : i64", without braces.
    std::vector<int> results;
  };

  std::vector<ValueType> values;
  std::vector<Argument> arguments;
  std::vector<Node> nodes;
  std::vector<int> results;

  /// In the generic form, which every version of the graph dialect reads.
  std::string text() const;
  /// Values for all arguments. Errors: no memory.
  Expected<runtime::TensorMap> inputs() const;
  /// Drops nodes and arguments that no result depends on.
  void prune();
};

} // namespace epifold::exact

#endif // EPIFOLD_TESTS_EXACT_GRAPHRECIPE_H
