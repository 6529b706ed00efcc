// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Levels the launches of a block by what they read and write.

#include "passes/LaunchSchedule.h"

using namespace mlir;
using namespace epifold;

LaunchSchedule::LaunchSchedule(Block &block,
                               llvm::function_ref<bool(Operation *)> isSmall) {
  for (Operation &op : block)
    if (isa<DestinationStyleOpInterface>(op)) {
      numbers[&op] = launches.size();
      Launch &launch = launches.emplace_back();
      launch.op = &op;
      launch.isSmall = isSmall(&op);
    }
  for (auto [number, launch] : llvm::enumerate(launches)) {
    for (Value operand : launch.op->getOperands())
      collectProducers(operand, launch.before);
    for (Value out : cast<DestinationStyleOpInterface>(launch.op).getDpsInits())
      if (!out.getDefiningOp<kernel::EmptyOp>())
        collectReaders(out, number, launch.before);
  }
  levelEarly();
  joinLaterGroups();
  measureDepths();
}

/// Appends the launch that made `value`, or what it is a view of.
void LaunchSchedule::collectProducers(
    Value value, SmallVectorImpl<unsigned> &producers) const {
  while (auto view = value.getDefiningOp<kernel::ViewOp>())
    value = view.getInput();
  if (Operation *op = value.getDefiningOp())
    if (auto found = numbers.find(op); found != numbers.end())
      producers.push_back(found->second);
}

/// Appends the launches before `reader` that read `value` or a view of it.
void LaunchSchedule::collectReaders(Value value, unsigned reader,
                                    SmallVectorImpl<unsigned> &readers) const {
  for (Operation *user : value.getUsers()) {
    if (auto view = dyn_cast<kernel::ViewOp>(user))
      collectReaders(view.getResult(), reader, readers);
    else if (auto found = numbers.find(user);
             found != numbers.end() && found->second < reader)
      readers.push_back(found->second);
  }
}

void LaunchSchedule::levelEarly() {
  for (Launch &launch : launches) {
    for (unsigned number : launch.before) {
      const Launch &producer = launches[number];
      launch.level = std::max(
          launch.level, producer.level + (launch.isSmall && !producer.isSmall));
    }
    levels = std::max(levels, launch.level + 1);
  }
}

/// Moves the small launches of a level to later ones when that leaves none of
/// them.
void LaunchSchedule::joinLaterGroups() {
  SmallVector<unsigned> last(launches.size(), levels - 1);
  for (size_t number = launches.size(); number-- > 0;) {
    const Launch &launch = launches[number];
    unsigned latest = launch.isSmall ? last[number] : launch.level;
    for (unsigned producer : launch.before)
      last[producer] = std::min(last[producer], latest);
  }
  for (unsigned level = 0; level < levels; ++level) {
    auto isHere = [&](unsigned number) {
      return launches[number].isSmall && launches[number].level == level;
    };
    SmallVector<unsigned> group;
    llvm::copy_if(llvm::seq<unsigned>(0, launches.size()),
                  std::back_inserter(group), isHere);
    // One that nothing waits for joins the next group that there is.
    unsigned next = level + 1;
    while (next < levels && getLaunches(next, /*small=*/true).empty())
      ++next;
    if (llvm::any_of(group, [&](unsigned n) { return last[n] < next; }) ||
        next == levels)
      continue;
    for (unsigned number : group)
      launches[number].level = next;
  }
}

void LaunchSchedule::measureDepths() {
  for (Launch &launch : launches)
    for (unsigned number : launch.before)
      if (const Launch &producer = launches[number];
          launch.isSmall && producer.isSmall && producer.level == launch.level)
        launch.depth = std::max(launch.depth, producer.depth + 1);
}

SmallVector<Operation *> LaunchSchedule::getLaunches(unsigned level,
                                                     bool small) const {
  SmallVector<const Launch *> found;
  for (const Launch &launch : launches)
    if (launch.level == level && launch.isSmall == small)
      found.push_back(&launch);
  // They lie in the block's order, which decides among equals.
  llvm::sort(found, [](const Launch *a, const Launch *b) {
    return std::pair(a->depth, a) < std::pair(b->depth, b);
  });
  return llvm::map_to_vector(found,
                             [](const Launch *launch) { return launch->op; });
}
