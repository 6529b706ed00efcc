// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that makes neighbouring small launches one.

#include "mlir/IR/IRMapping.h"
#include "passes/FusionRemarks.h"
#include "passes/KernelFusion.h"
#include "passes/LaunchSchedule.h"
#include "passes/MemoryPlan.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace epifold {
#define GEN_PASS_DEF_FUSESMALLLAUNCHESPASS
#include "passes/Passes.h.inc"
} // namespace epifold

using namespace mlir;
using namespace epifold;

static constexpr llvm::StringLiteral fusionName = "fuse-small-launches";

/// What a dimension that is known at run time alone is taken for.
static constexpr int64_t kNominalSize = 4096;

static double countBytes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<AffineExpr> sizes = findSizes(tensor);
  double bytes = getElementBytes(type);
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size)) {
      bytes *= double(size);
      continue;
    }
    AffineExpr expr = sizes.empty() ? AffineExpr() : sizes[i];
    if (expr) {
      DenseMap<AffineExpr, AffineExpr> nominal;
      expr.walk([&](AffineExpr part) {
        if (isa<AffineSymbolExpr>(part))
          nominal[part] =
              getAffineConstantExpr(kNominalSize, part.getContext());
      });
      expr = expr.replace(nominal);
    }
    auto constant = dyn_cast_if_present<AffineConstantExpr>(expr);
    bytes *= double(constant ? constant.getValue() : kNominalSize);
  }
  return bytes;
}

/// Bytes that a launch reads and writes; of a gather's table only the rows it
/// takes.
static double countBytes(DestinationStyleOpInterface launch) {
  auto gather = dyn_cast<kernel::GatherRowsOp>(launch.getOperation());
  llvm::SmallSetVector<Value, 8> operands(launch->operand_begin(),
                                          launch->operand_end());
  double bytes = 0;
  for (Value operand : operands)
    bytes += countBytes(gather && operand == gather.getSrc()
                            ? gather.getOuts().front()
                            : operand);
  return bytes;
}

namespace {

struct FuseSmallLaunches
    : epifold::impl::FuseSmallLaunchesPassBase<FuseSmallLaunches> {
  using FuseSmallLaunchesPassBase::FuseSmallLaunchesPassBase;

  void runOnOperation() override;

private:
  bool isCandidate(Operation *op) const;
  std::optional<llvm::StringRef> findObstacle(Operation *op) const;
  SmallVector<SmallVector<Operation *>> findGroups(Block &block) const;
};

} // namespace

/// All but products: of them a router's, which has few columns.
bool FuseSmallLaunches::isCandidate(Operation *op) const {
  if (auto cascade = dyn_cast<kernel::CascadeOp>(op))
    op = cascade.getFirst();
  auto gemm = dyn_cast<kernel::GemmOp>(op);
  return !gemm ||
         (!gemm.isRagged() && !gemm.isConvolution() && gemm.getGroups() == 1 &&
          gemm.getResultColumns() <= mostColumns);
}

/// Why a launch stays alone.
std::optional<llvm::StringRef>
FuseSmallLaunches::findObstacle(Operation *op) const {
  auto launch = cast<DestinationStyleOpInterface>(op);
  if (isa<kernel::PersistentOp, kernel::CascadeOp>(op))
    return "it holds several launches already";
  if (isa<kernel::RouteOp>(op))
    return "it is several launches already";
  if (llvm::any_of(launch.getDpsInits(), [](Value out) {
        return out.getDefiningOp<kernel::ViewOp>();
      }))
    return "it writes a part of a buffer";
  if (countBytes(launch) > double(mostBytes))
    return "it moves so much memory that it wants all threads of the device";
  return std::nullopt;
}

/// What `value` is a view of.
static Value getSource(Value value) {
  while (auto view = value.getDefiningOp<kernel::ViewOp>())
    value = view.getInput();
  return value;
}

/// Whether what a launch of the group wrote is needed outside although a later
/// one of the group goes on writing there.
static bool isWrittenOver(ArrayRef<Operation *> group) {
  return llvm::any_of(group, [&](Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) {
      bool goesOn = false, isNeeded = false;
      for (OpOperand &use : result.getUses()) {
        bool isInside = llvm::is_contained(group, use.getOwner());
        auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
        goesOn |= isInside && user.isDpsInit(&use);
        isNeeded |= !isInside;
      }
      return goesOn && isNeeded;
    });
  });
}

/// Whether each launch of the group waits for the one before it.
static bool isChain(ArrayRef<Operation *> group) {
  return llvm::all_of(
      llvm::zip(group.drop_back(), group.drop_front()), [](auto pair) {
        auto [before, after] = pair;
        return llvm::any_of(after->getOperands(), [&](Value operand) {
          return getSource(operand).getDefiningOp() == before;
        });
      });
}

/// Makes `group`, launches in order, one launch at the builder's place.
static kernel::PersistentOp join(OpBuilder &builder,
                                 ArrayRef<Operation *> group) {
  llvm::SmallSetVector<Value, 16> ins, outs;
  llvm::SmallDenseSet<Value> inside;
  SmallVector<Location> locations;
  auto isInside = [&](Value value) {
    return inside.contains(getSource(value));
  };
  for (Operation *op : group) {
    locations.push_back(op->getLoc());
    auto launch = cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands())
      if (!isInside(operand.get()))
        (launch.isDpsInit(&operand) ? outs : ins).insert(operand.get());
    inside.insert_range(op->getResults());
  }

  Location location = builder.getFusedLoc(locations);
  for (Operation *op : group)
    reportFused(fusionName, op,
                "is one of " + Twine(group.size()) + " launches in one");
  auto joined = kernel::PersistentOp::create(
      builder, location, TypeRange(ValueRange(outs.getArrayRef())),
      ins.getArrayRef(), outs.getArrayRef());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&joined.getBody());
  IRMapping mapping;
  for (Value operand : joined->getOperands()) {
    Value argument = block->addArgument(operand.getType(), location);
    // A value that is read and written over has an argument for either; the
    // launches that read it come first.
    if (!mapping.contains(operand))
      mapping.map(operand, argument);
  }
  std::function<Value(Value)> materialize = [&](Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    auto view = value.getDefiningOp<kernel::ViewOp>();
    materialize(view.getInput());
    builder.clone(*view, mapping);
    return mapping.lookup(value);
  };
  SmallVector<Value> written(block->getArguments().drop_front(ins.size()));
  llvm::SmallDenseMap<Value, unsigned>
      outOf; // Of a result: the out it replaces.
  for (Operation *op : group) {
    auto launch = cast<DestinationStyleOpInterface>(op);
    for (Value operand : op->getOperands())
      materialize(operand);
    Operation *copy = builder.clone(*op, mapping);
    for (OpOperand &init : launch.getDpsInitsMutable()) {
      auto found = outOf.find(init.get());
      unsigned out =
          found != outOf.end()
              ? found->second
              : unsigned(llvm::find(outs, init.get()) - outs.begin());
      unsigned number = launch.getTiedOpResult(&init).getResultNumber();
      copy->setOperand(init.getOperandNumber(), written[out]);
      written[out] = copy->getResult(number);
      outOf[op->getResult(number)] = out;
    }
  }
  kernel::YieldOp::create(builder, location, written);
  for (auto [result, out] : outOf)
    result.replaceUsesWithIf(joined->getResult(out), [&](OpOperand &use) {
      return !llvm::is_contained(group, use.getOwner());
    });
  return joined;
}

/// The launches of `block` in their new order, each with those that it is to be
/// one with.
SmallVector<SmallVector<Operation *>>
FuseSmallLaunches::findGroups(Block &block) const {
  LaunchSchedule schedule(block, [&](Operation *op) {
    return isCandidate(op) && !findObstacle(op);
  });
  SmallVector<SmallVector<Operation *>> groups;
  for (unsigned level : llvm::seq(schedule.getLevels())) {
    SmallVector<Operation *> small =
        schedule.getLaunches(level, /*small=*/true);
    for (ArrayRef<Operation *> rest = small; !rest.empty();) {
      ArrayRef<Operation *> group = rest.take_front(
          std::min<size_t>(rest.size(), std::max<int64_t>(mostLaunches, 1)));
      rest = rest.drop_front(group.size());
      if (!isWrittenOver(group) && (groupChains || !isChain(group))) {
        groups.emplace_back(group);
        continue;
      }
      for (Operation *op : group)
        groups.push_back({op});
    }
    for (Operation *op : schedule.getLaunches(level, /*small=*/false))
      groups.push_back({op});
  }
  for (ArrayRef<Operation *> group : groups)
    if (group.size() == 1 && isCandidate(group.front()))
      reportMissed(fusionName, group.front(),
                   findObstacle(group.front())
                       .value_or("no small launch that need not wait for it "
                                 "can stand beside it"));
  return groups;
}

void FuseSmallLaunches::runOnOperation() {
  Block &block = getOperation().getBody().front();
  SmallVector<SmallVector<Operation *>> groups = findGroups(block);
  llvm::SmallDenseSet<Operation *> joined; // What is to be part of another.
  for (ArrayRef<Operation *> group : groups)
    if (group.size() > 1)
      joined.insert_range(group);
  if (joined.empty())
    return;

  // Buffers, constants and views go where they are first needed.
  OpBuilder builder = OpBuilder::atBlockTerminator(&block);
  llvm::SmallDenseSet<Operation *> placed;
  std::function<void(Operation *)> place = [&](Operation *op) {
    if (!op || !placed.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      place(operand.getDefiningOp());
    op->moveBefore(block.getTerminator());
  };
  for (ArrayRef<Operation *> group : groups) {
    if (!joined.contains(group.front())) {
      llvm::for_each(group, place);
      continue;
    }
    for (Operation *op : group)
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(group, getSource(operand).getDefiningOp()))
          place(operand.getDefiningOp());
    placed.insert(join(builder, group));
    ++joinedGroups;
    joinedLaunches += group.size();
    placed.insert_range(group);
  }
  for (Value result : block.getTerminator()->getOperands())
    place(result.getDefiningOp());
  placed.insert(block.getTerminator());
  // What is left are the joined launches, and views that they alone read.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (joined.contains(&op) || !placed.contains(&op))
      op.erase();
}
