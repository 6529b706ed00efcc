// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An order of a function's launches in which small ones stand together.

#ifndef EPIFOLD_PASSES_LAUNCHSCHEDULE_H
#define EPIFOLD_PASSES_LAUNCHSCHEDULE_H

#include "ir/kernel/KernelDialect.h"

namespace epifold {

/// Levels of the launches of a block: the small launches of level 0, then the
/// others of level 0, then the small ones of level 1, and so on.
///
/// Every launch comes after those whose values it reads, and a launch that goes
/// on writing a buffer after those that read what was there. Among all such
/// orders small launches form few groups: each is as early as it may be, and
/// the groups that can join later ones do.
class LaunchSchedule {
public:
  LaunchSchedule(mlir::Block &block,
                 llvm::function_ref<bool(mlir::Operation *)> isSmall);

  unsigned getLevels() const { return levels; }
  /// The small or the other launches of a level. Small ones are ordered by how
  /// long a chain of them leads there, so that those that need not wait for one
  /// another stand together; all else is in the block's order.
  llvm::SmallVector<mlir::Operation *> getLaunches(unsigned level,
                                                   bool small) const;

private:
  struct Launch {
    mlir::Operation *op = nullptr;
    bool isSmall = false;
    unsigned level = 0;
    unsigned depth = 0; ///< Of a small launch in its level.
    /// Numbers of the launches that must come before.
    llvm::SmallVector<unsigned> before;
  };

  void collectProducers(mlir::Value value,
                        llvm::SmallVectorImpl<unsigned> &producers) const;
  void collectReaders(mlir::Value value, unsigned reader,
                      llvm::SmallVectorImpl<unsigned> &readers) const;
  void levelEarly();
  void joinLaterGroups();
  void measureDepths();

  llvm::SmallVector<Launch> launches; ///< In the block's order.
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  unsigned levels = 0;
};

} // namespace epifold

#endif // EPIFOLD_PASSES_LAUNCHSCHEDULE_H
