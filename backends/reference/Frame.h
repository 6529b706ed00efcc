// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The values of one evaluation, from definition to last use.

#ifndef EPIFOLD_BACKENDS_REFERENCE_FRAME_H
#define EPIFOLD_BACKENDS_REFERENCE_FRAME_H

#include "backends/reference/Reference.h"
#include "backends/reference/Workers.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <variant>

namespace epifold::reference {

/// Rows of one expert (offsets {0, rows}) or of all experts (experts + 1
/// offsets).
struct Ragged {
  Tensor rows; // [rows, width]
  std::vector<int64_t> offsets;

  int64_t getGroups() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t getWidth() const { return rows.getDim(1); }
  /// Row count of group `group`.
  int64_t getRows(int64_t group) const {
    return offsets[group + 1] - offsets[group];
  }
};

/// Which slots (token · topk + k) each expert gets.
struct Routing {
  int64_t experts = 0;
  int64_t topk = 0;
  int64_t tokens = 0;
  std::vector<int64_t> offsets;   // experts + 1: the rows of each expert
  std::vector<int64_t> slotOfRow; // one for each row
  std::vector<int64_t> rowOfSlot; // −1 where the slot has no expert
};

using Value = std::variant<Tensor, Ragged, std::shared_ptr<const Routing>>;

/// Holds what the ops of one block computed; each value is dropped after its
/// last use, so that memory is reused and outs can be written in place.
class Frame {
public:
  Frame(mlir::Block &block, Workers &workers);

  Workers &getWorkers() { return workers; }

  const Tensor &getTensor(mlir::Value value) const {
    return std::get<Tensor>(values.find(value)->second);
  }
  const Ragged &getRagged(mlir::Value value) const {
    return std::get<Ragged>(values.find(value)->second);
  }
  const Routing &getRouting(mlir::Value value) const {
    return *std::get<std::shared_ptr<const Routing>>(
        values.find(value)->second);
  }
  bool isRagged(mlir::Value value) const {
    return std::holds_alternative<Ragged>(values.find(value)->second);
  }

  /// Moves a tensor out when `op` is its last user, so that it can be written
  /// in place; else shares it.
  Tensor takeTensor(mlir::Value value, mlir::Operation *op);

  /// Gives `target` its value. Fails when the value's shape or element type
  /// contradicts the target's type.
  llvm::Error define(mlir::Value target, Value value);

  /// Drops the values that `op` used last.
  void release(mlir::Operation *op);

  /// Whether some result depends on `op`. What compiles a graph drops the other
  /// ops, and with them what they would report.
  bool isNeeded(mlir::Operation *op) const { return needed.contains(op); }
  int64_t countNeeded() const { return needed.size(); }

  /// Record a row in error; the first one counts. Not for use by several
  /// threads at once.
  void reportNanLogits(int64_t row) { keepFirst(status.nanLogitsRow, row); }
  void reportIndexError(int64_t row) { keepFirst(status.indexErrorRow, row); }
  /// The same for what the frame of a region recorded.
  void report(const Status &inner) {
    if (inner.nanLogitsRow >= 0)
      reportNanLogits(inner.nanLogitsRow);
    if (inner.indexErrorRow >= 0)
      reportIndexError(inner.indexErrorRow);
  }
  const Status &getStatus() const { return status; }

  /// Values of the symbols s0, s1, … of a kernel function's maps.
  llvm::SmallVector<int64_t> symbols;

private:
  static void keepFirst(int64_t &kept, int64_t row) {
    if (kept < 0 || row < kept)
      kept = row;
  }

  Workers &workers;
  Status status;
  llvm::DenseSet<mlir::Operation *> needed;
  llvm::DenseMap<mlir::Value, Value> values;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> lastUses;
};

/// An error that names the op and its location.
llvm::Error makeError(mlir::Operation *op, const llvm::Twine &message);

/// The element type of a value of one of the dialects.
ElementType getElementType(mlir::Value value);

} // namespace epifold::reference

#endif
