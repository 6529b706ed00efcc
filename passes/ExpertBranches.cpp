// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Seeds, growth and retirement of expert families.

#include "passes/ExpertBranches.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/FusionRemarks.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::graph;

void ExpertBranches::addFamily(ArrayRef<Value> lanes, Value folded,
                               bool isSeed) {
  for (auto [lane, value] : llvm::enumerate(lanes))
    laneOf[value] = {families.size(), lane};
  families.push_back({SmallVector<Value>(lanes), folded, isSeed});
}

//===--- Seeds
//---------------------------------------------------------------------------------------------------===//

namespace {
/// The parts of one value along one dimension, or of one dispatch.
struct PartsKey {
  Value source, routing;
  int64_t dim = -1;
  bool keepsDim = false, slotValues = false;
  auto tie() const {
    return std::make_tuple(source.getAsOpaquePointer(),
                           routing.getAsOpaquePointer(), dim, keepsDim,
                           slotValues);
  }
  bool operator<(const PartsKey &other) const { return tie() < other.tie(); }
};

/// What part of what `op` takes, and which one; no key when it takes none.
std::optional<std::pair<PartsKey, int64_t>> partOf(Operation *op) {
  if (auto select = dyn_cast<SelectOp>(op))
    return std::make_pair(
        PartsKey{select.getInput(), {}, select.getDim(), false, false},
        select.getIndex());
  if (auto slice = dyn_cast<SliceOp>(op)) {
    int64_t size =
        cast<ShapedType>(slice.getInput().getType()).getDimSize(slice.getDim());
    if (ShapedType::isDynamic(size) || size < 2)
      return std::nullopt;
    auto [begin, end] = resolveSlice(slice.getBegin(), slice.getEnd(), size);
    if (end != begin + 1)
      return std::nullopt;
    return std::make_pair(
        PartsKey{slice.getInput(), {}, slice.getDim(), true, false}, begin);
  }
  if (auto dispatch = dyn_cast<DispatchOp>(op);
      dispatch && dispatch.getExpert())
    return std::make_pair(
        PartsKey{dispatch.getInput(), dispatch.getRouting(), -1, false, false},
        *dispatch.getExpert());
  if (auto dispatch = dyn_cast<DispatchSlotOp>(op);
      dispatch && dispatch.getExpert())
    return std::make_pair(
        PartsKey{dispatch.getInput(), dispatch.getRouting(), -1, false, true},
        *dispatch.getExpert());
  return std::nullopt;
}

int64_t countParts(const PartsKey &key) {
  if (key.routing)
    return cast<RoutingType>(key.routing.getType()).getExperts();
  return cast<ShapedType>(key.source.getType()).getDimSize(key.dim);
}

/// The whole of which `key` names the parts, with the parts' dimension first.
Value buildWhole(OpBuilder &builder, Location loc, const PartsKey &key,
                 Type partType) {
  int64_t parts = countParts(key);
  ShapedType type = stackType(partType, parts);
  if (key.routing)
    return key.slotValues
               ? DispatchSlotOp::create(builder, loc, type, key.source,
                                        key.routing, IntegerAttr())
                     .getResult()
               : DispatchOp::create(builder, loc, type, key.source, key.routing,
                                    IntegerAttr())
                     .getResult();
  Value whole = key.source;
  auto sourceType = cast<RankedTensorType>(whole.getType());
  if (key.dim != 0) {
    SmallVector<int64_t> permutation{key.dim};
    for (int64_t dim = 0; dim < sourceType.getRank(); ++dim)
      if (dim != key.dim)
        permutation.push_back(dim);
    SmallVector<int64_t> shape = llvm::map_to_vector(
        permutation, [&](int64_t dim) { return sourceType.getDimSize(dim); });
    whole = TransposeOp::create(builder, loc, sourceType.clone(shape), whole,
                                permutation);
  }
  if (key.keepsDim &&
      llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
    return {};
  return key.keepsDim ? ReshapeOp::create(builder, loc, type, whole).getResult()
                      : whole;
}
} // namespace

void ExpertBranches::findSeeds() {
  std::map<PartsKey, size_t> order;
  SmallVector<std::pair<PartsKey, SmallVector<Value>>> found;
  for (Operation &op : block) {
    auto part = partOf(&op);
    if (!part || countParts(part->first) < 2)
      continue;
    auto [entry, isNew] = order.try_emplace(part->first, found.size());
    if (isNew)
      found.emplace_back(part->first,
                         SmallVector<Value>(countParts(part->first)));
    Value &lane = found[entry->second].second[part->second];
    if (lane) // The same part taken twice: one value serves both.
      op.getResult(0).replaceAllUsesWith(lane);
    else
      lane = op.getResult(0);
  }
  for (auto &[key, lanes] : found) {
    if (const auto *gap = llvm::find(lanes, Value()); gap != lanes.end()) {
      // One part alone is an ordinary read, not the branch of an expert.
      SmallVector<Value> taken = llvm::filter_to_vector(
          lanes, [](Value lane) { return static_cast<bool>(lane); });
      if (taken.size() > 1)
        reportMissed(foldExpertsName, taken.front().getDefiningOp(),
                     "does not fold: of " + Twine(lanes.size()) +
                         " experts, expert " + Twine(gap - lanes.begin()) +
                         " has no branch");
      continue;
    }
    builder.setInsertionPoint(lanes.front().getDefiningOp());
    if (Value whole = buildWhole(builder, lanes.front().getLoc(), key,
                                 lanes.front().getType()))
      addFamily(lanes, whole, /*isSeed=*/true);
  }
}

//===--- Growth
//--------------------------------------------------------------------------------------------------===//

/// Remembers why `op` did not fold; the first reason of a round is the one that
/// led to the others. Returns false.
bool ExpertBranches::refuse(Operation *op, const Twine &reason) {
  refusals.try_emplace(op, reason.str());
  return false;
}

/// How `other` differs from what would be `first` for another expert, or
/// nothing when it does not. `counterpart` gives that expert's value for one of
/// `first`'s operands.
static std::optional<std::string>
findDifference(Operation *first, Operation *other,
               function_ref<Value(Value)> counterpart) {
  if (other->getNumOperands() != first->getNumOperands())
    return "takes another number of operands";
  if (other->getAttrDictionary() != first->getAttrDictionary())
    return "has other attributes";
  if (other->getResultTypes() != first->getResultTypes())
    return "has another type";
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip(first->getOperands(), other->getOperands())))
    if (counterpart(std::get<0>(pair)) != std::get<1>(pair))
      return "takes another operand " + std::to_string(i);
  return std::nullopt;
}

/// The op that does for each expert what `first` does for expert 0; empty, and
/// refused, when some expert has none.
SmallVector<Operation *> ExpertBranches::matchLanes(Operation *first,
                                                    size_t experts) {
  SmallVector<Operation *> ops{first};
  // Look for the counterpart among the users of an operand that differs by
  // expert.
  unsigned pivot = 0;
  while (!laneOf.contains(first->getOperand(pivot)))
    ++pivot;
  for (size_t lane = 1; lane < experts; ++lane) {
    Value start = families[laneOf[first->getOperand(pivot)].first].lanes[lane];
    auto counterpart = [&](Value ofFirst) {
      auto family = laneOf.find(ofFirst);
      return family == laneOf.end()
                 ? ofFirst
                 : families[family->second.first].lanes[lane];
    };
    Operation *match = nullptr;
    std::string why = "has none";
    for (OpOperand &use : start.getUses()) {
      Operation *op = use.getOwner();
      if (use.getOperandNumber() != pivot ||
          op->getName() != first->getName() || finished.contains(op))
        continue;
      std::optional<std::string> difference =
          findDifference(first, op, counterpart);
      if (!difference) {
        match = op;
        break;
      }
      why = "has " + describe(op) + ", which " + *difference;
    }
    if (!match) {
      refuse(first, "expert " + Twine(lane) + " " + why);
      return {};
    }
    ops.push_back(match);
  }
  return ops;
}

/// ((lane 0 + lane 1) + lane 2) + … over all experts → a sum in ascending
/// order. Only where each partial sum is already of the compute type: a rounded
/// one would round once a step.
bool ExpertBranches::foldSumChain(Operation *first, const Family &family) {
  Value lane = family.lanes.front();
  auto type = dyn_cast<RankedTensorType>(lane.getType());
  if (!isa<AddOp>(first) || !type ||
      !llvm::is_contained(first->getOperands(), family.lanes[1]))
    return false;
  if (type.getElementType() != getComputeType(type))
    return refuse(first, "it rounds each partial sum, where a sum over "
                         "all experts rounds once");
  Value sum = lane;
  Operation *add = first;
  for (size_t e = 1; e < family.lanes.size(); ++e) {
    Value lhs = add->getOperand(0), rhs = add->getOperand(1);
    bool continues = (lhs == sum && rhs == family.lanes[e]) ||
                     (rhs == sum && lhs == family.lanes[e]);
    if (!isa<AddOp>(add) || !continues || add->getResult(0).getType() != type)
      return refuse(first, "the sum does not take expert " + Twine(e) +
                               " where its turn is");
    sum = add->getResult(0);
    if (e + 1 == family.lanes.size())
      break;
    if (!sum.hasOneUse())
      return refuse(first, "the sum up to expert " + Twine(e) +
                               " is needed elsewhere");
    add = *sum.getUsers().begin();
  }
  reportFused(foldExpertsName, first,
              "and the sums after it, over " + Twine(family.lanes.size()) +
                  " experts, become one graph.reduce_sum");
  builder.setInsertionPoint(add);
  Value folded =
      ReduceSumOp::create(builder, add->getLoc(), type, family.folded, 0,
                          /*keepdim=*/false, SumOrder::Ascending);
  sum.replaceAllUsesWith(folded);
  return true;
}

/// Ops that take all experts' values at once take the folded value instead.
bool ExpertBranches::endsBranches(Operation *op, const Family &family) {
  builder.setInsertionPoint(op);
  if (auto stack = dyn_cast<StackOp>(op)) {
    if (!llvm::equal(stack.getInputs(), family.lanes) ||
        stack.getType() != family.folded.getType())
      return false;
    stack.getResult().replaceAllUsesWith(family.folded);
    return true;
  }
  if (auto combine = dyn_cast<CombineOp>(op)) {
    if (!llvm::equal(combine.getInputs(), family.lanes))
      return false;
    Value folded = CombineOp::create(builder, op->getLoc(), combine.getType(),
                                     combine.getRouting(), family.folded);
    combine.getResult().replaceAllUsesWith(folded);
    return true;
  }
  return foldSumChain(op, family);
}

bool ExpertBranches::growFrom(Operation *first) {
  // Every operand is shared or lane 0 of a family of one size.
  size_t experts = 0;
  SmallVector<Value> operands;
  SmallVector<bool> stacked;
  for (Value operand : first->getOperands()) {
    auto entry = laneOf.find(operand);
    stacked.push_back(entry != laneOf.end());
    if (!stacked.back()) {
      operands.push_back(operand);
      continue;
    }
    const Family &family = families[entry->second.first];
    if (entry->second.second != 0)
      return refuse(first, "it takes values of expert 0 and of expert " +
                               Twine(entry->second.second));
    if (experts && experts != family.lanes.size())
      return refuse(first, "it takes values of one of " + Twine(experts) +
                               " experts and of one of " +
                               Twine(family.lanes.size()));
    experts = family.lanes.size();
    operands.push_back(family.folded);
  }
  auto foldable = dyn_cast<ExpertFoldableOpInterface>(first);
  if (!foldable)
    return refuse(first, "there is no such op over all experts");
  if (laneOf.contains(first->getResult(0)))
    return false;
  SmallVector<Operation *> ops = matchLanes(first, experts);
  if (ops.empty())
    return false;
  builder.setInsertionPoint(first);
  std::string reason;
  Value folded =
      foldable.buildFolded(builder, operands, stacked, experts, reason);
  if (!folded)
    return refuse(first, reason);
  reportFused(foldExpertsName, first,
              "of " + Twine(experts) + " experts becomes one op");
  SmallVector<Value> lanes = llvm::map_to_vector(
      ops, [](Operation *op) -> Value { return op->getResult(0); });
  finished.insert(ops.begin(), ops.end());
  addFamily(lanes, folded, /*isSeed=*/false);
  return true;
}

bool ExpertBranches::grow() {
  bool changed = false;
  refusals.clear();
  // Families are added while this runs; an op whose operands are not all known
  // yet is tried again in the next round.
  for (size_t i = 0; i < families.size(); ++i) {
    SetVector<Operation *> users;
    for (Operation *user : families[i].lanes.front().getUsers())
      users.insert(user);
    for (Operation *user : users) {
      if (finished.contains(user) || user->getNumResults() != 1)
        continue;
      if (Family family = families[i]; endsBranches(user, family)) {
        finished.insert(user);
        changed = true;
      } else if (growFrom(user)) {
        changed = true;
      }
    }
  }
  return changed;
}

//===--- Retirement
//----------------------------------------------------------------------------------------------===//

/// Erases ops of which nothing reads the results, but for those that `keep`
/// holds for.
static void eraseDeadOps(Block &block, function_ref<bool(Operation *)> keep) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op) && !keep(&op))
      op.erase();
}

/// Removes the branches. A value of one expert that something else still reads
/// becomes a part of the folded value; ragged rows have no such part, so their
/// branch stays beside the folded one.
void ExpertBranches::retire() {
  // A folded value that no end of the branches reads may still get parts here.
  DenseSet<Value> kept;
  for (const Family &family : families) {
    kept.insert(family.folded);
    kept.insert(family.lanes.begin(), family.lanes.end());
  }
  eraseDeadOps(block, [&](Operation *op) {
    return op->getNumResults() == 1 && kept.contains(op->getResult(0));
  });
  for (Family &family : llvm::reverse(families)) {
    for (auto [expert, lane] : llvm::enumerate(family.lanes)) {
      if (family.isSeed && !lane.use_empty())
        continue;
      if (!lane.use_empty()) {
        if (!isa<RankedTensorType>(lane.getType()))
          continue;
        builder.setInsertionPointAfter(lane.getDefiningOp());
        Value part = SelectOp::create(builder, lane.getLoc(), lane.getType(),
                                      family.folded, 0, expert);
        lane.replaceAllUsesWith(part);
      }
      lane.getDefiningOp()->erase();
    }
  }
}

int64_t ExpertBranches::fold() {
  int64_t before = block.getOperations().size();
  findSeeds();
  while (grow()) {
  }
  for (auto &[op, reason] : refusals)
    reportMissed(foldExpertsName, op, "does not fold: " + reason);
  retire();
  // Folded ops stand where expert 0's stood; some of their operands come later.
  sortTopologically(&block);
  eraseDeadOps(block, [](Operation *) { return false; });
  return before - int64_t(block.getOperations().size());
}
