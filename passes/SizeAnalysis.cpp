// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Propagates symbolic sizes through graph ops and unifies those that must
// agree.

#include "passes/SizeAnalysis.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace epifold;
using namespace epifold::graph;

AffineExpr epifold::productOf(ArrayRef<AffineExpr> sizes,
                              MLIRContext *context) {
  AffineExpr product = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    product = product * size;
  return product;
}

AffineExpr SizeAnalysis::resolve(AffineExpr expr) const {
  // A substitution may name a symbol that was substituted later: repeat until
  // nothing changes.
  for (AffineExpr next = expr.replaceSymbols(substitution); next != expr;
       next = expr.replaceSymbols(substitution))
    expr = next;
  return expr;
}

/// Records that `a` and `b` are equal, or says at `op` that this cannot be
/// shown.
LogicalResult SizeAnalysis::require(Operation *op, AffineExpr a, AffineExpr b) {
  a = simplifyAffineExpr(resolve(a), 0, substitution.size());
  b = simplifyAffineExpr(resolve(b), 0, substitution.size());
  if (a == b)
    return success();
  auto symbolA = dyn_cast<AffineSymbolExpr>(a),
       symbolB = dyn_cast<AffineSymbolExpr>(b);
  // The earlier symbol stays, so that sizes are named after the first argument
  // that has them.
  if (symbolA && symbolB && symbolA.getPosition() < symbolB.getPosition())
    std::swap(symbolA, symbolB), std::swap(a, b);
  if (symbolA && !b.isFunctionOfSymbol(symbolA.getPosition())) {
    substitution[symbolA.getPosition()] = b;
    return success();
  }
  if (symbolB && !a.isFunctionOfSymbol(symbolB.getPosition())) {
    substitution[symbolB.getPosition()] = a;
    return success();
  }
  std::string textA, textB;
  llvm::raw_string_ostream(textA) << a;
  llvm::raw_string_ostream(textB) << b;
  return op->emitOpError("needs sizes ")
         << textA << " and " << textB << " to be equal, which cannot be shown";
}

static LogicalResult emitUndivided(Operation *op, AffineExpr total,
                                   int64_t row) {
  std::string text;
  llvm::raw_string_ostream(text) << total;
  return op->emitOpError("makes rows of ")
         << row << " elements of " << text
         << ", which may leave a rest; let a static size before the reshape "
            "hold the factor";
}

/// Sets sizes; a dimension whose type is static must have that size.
void SizeAnalysis::setFrom(Value value, ArrayRef<AffineExpr> exprs) {
  SmallVector<AffineExpr> result(exprs);
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    for (auto [size, expr] : llvm::zip(type.getShape(), result))
      if (!ShapedType::isDynamic(size)) {
        // A static size of a dynamic value is a demand on the arguments.
        contradiction |=
            failed(require(value.getDefiningOp(), expr, constant(size)));
        expr = constant(size);
      }
  sizes[value] = std::move(result);
}

LogicalResult SizeAnalysis::visitElementwise(Operation *op) {
  Value result = op->getResult(0);
  if (isa<RaggedType>(result.getType())) {
    AffineExpr rows;
    for (Value operand : op->getOperands())
      if (isa<RaggedType>(operand.getType())) {
        if (rows && failed(require(op, rows, getSizes(operand)[0])))
          return failure();
        rows = getSizes(operand)[0];
      }
    setFrom(result,
            {rows, constant(cast<RaggedType>(result.getType()).getWidth())});
    return success();
  }
  int64_t rank = cast<ShapedType>(result.getType()).getRank();
  SmallVector<AffineExpr> merged(rank, constant(1));
  for (Value operand : op->getOperands()) {
    ArrayRef<AffineExpr> operandSizes = getSizes(operand);
    for (auto [i, size] : llvm::enumerate(operandSizes)) {
      AffineExpr &target = merged[rank - operandSizes.size() + i];
      if (size == constant(1))
        continue;
      if (target != constant(1) && failed(require(op, target, size)))
        return failure();
      target = target == constant(1) ? size : target;
    }
  }
  setFrom(result, merged);
  return success();
}

LogicalResult SizeAnalysis::visit(Operation *op) {
  if (isa<ElementwiseOpInterface>(op))
    return visitElementwise(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ConstantOp constantOp) {
        auto shape = cast<ShapedType>(constantOp.getType()).getShape();
        setFrom(constantOp, llvm::map_to_vector(shape, [&](int64_t size) {
                  return constant(size);
                }));
        return success();
      })
      .Case([&](SelectOp select) {
        SmallVector<AffineExpr> result(getSizes(select.getInput()));
        result.erase(result.begin() + select.getDim());
        setFrom(select, result);
        return success();
      })
      .Case([&](SliceOp slice) {
        SmallVector<AffineExpr> result(getSizes(slice.getInput()));
        AffineExpr &size = result[slice.getDim()];
        auto bound = [&](int64_t position) {
          return position < 0 ? size + position : constant(position);
        };
        AffineExpr end = slice.getEnd() ? bound(*slice.getEnd()) : size;
        size = end - bound(slice.getBegin());
        setFrom(slice, result);
        return success();
      })
      .Case([&](ReshapeOp reshape) {
        AffineExpr known = constant(1);
        auto shape = cast<ShapedType>(reshape.getType()).getShape();
        SmallVector<AffineExpr> result = llvm::map_to_vector(
            shape, [&](int64_t size) { return constant(size); });
        for (int64_t size : shape)
          if (!ShapedType::isDynamic(size))
            known = known * size;
        AffineExpr total =
            resolve(productOf(getSizes(reshape.getInput()), context));
        // Nothing checks when a graph runs that a division leaves no rest.
        if (auto row = cast<AffineConstantExpr>(known).getValue();
            row > 0 && llvm::is_contained(shape, ShapedType::kDynamic) &&
            total.getLargestKnownDivisor() % row != 0)
          return emitUndivided(reshape, total, row);
        for (auto [size, expr] : llvm::zip(shape, result))
          if (ShapedType::isDynamic(size))
            expr = known == constant(0) ? constant(0) : total.floorDiv(known);
        setFrom(reshape, result);
        bool isStatic = !llvm::is_contained(shape, ShapedType::kDynamic);
        return isStatic ? require(op, total, known) : success();
      })
      .Case([&](TransposeOp transpose) {
        SmallVector<AffineExpr> result;
        for (int64_t dim : transpose.getPermutation())
          result.push_back(getSizes(transpose.getInput())[dim]);
        setFrom(transpose, result);
        return success();
      })
      .Case([&](StackOp stack) {
        for (Value input : stack.getInputs().drop_front())
          for (auto [a, b] :
               llvm::zip(getSizes(stack.getInputs().front()), getSizes(input)))
            if (failed(require(op, a, b)))
              return failure();
        SmallVector<AffineExpr> result(getSizes(stack.getInputs().front()));
        result.insert(result.begin(), constant(stack.getInputs().size()));
        setFrom(stack, result);
        return success();
      })
      .Case([&](ConcatOp concat) {
        SmallVector<AffineExpr> result(getSizes(concat.getInputs().front()));
        for (Value input : concat.getInputs().drop_front())
          for (auto [i, size] : llvm::enumerate(getSizes(input))) {
            if (int64_t(i) == concat.getDim())
              result[i] = result[i] + size;
            else if (failed(require(op, result[i], size)))
              return failure();
          }
        setFrom(concat, result);
        return success();
      })
      .Case([&](MatmulOp matmul) {
        SmallVector<AffineExpr> result(getSizes(matmul.getLhs()));
        result.back() = getSizes(matmul.getRhs())[0];
        setFrom(matmul, result);
        return require(op, getSizes(matmul.getLhs()).back(),
                       getSizes(matmul.getRhs())[1]);
      })
      .Case([&](ExpertMatmulOp matmul) {
        ArrayRef<AffineExpr> lhs = getSizes(matmul.getLhs()),
                             rhs = getSizes(matmul.getRhs());
        AffineExpr k = lhs.back(), kOfRhs = rhs[2];
        if (isa<RaggedType>(matmul.getLhs().getType()))
          setFrom(matmul, SmallVector<AffineExpr>{lhs[0], rhs[1]});
        else
          setFrom(matmul,
                  SmallVector<AffineExpr>{rhs[0], lhs[lhs.size() - 2], rhs[1]});
        return require(op, k, kOfRhs);
      })
      .Case<CausalConv1dOp, ExpertCausalConv1dOp>([&](auto conv) {
        SmallVector<AffineExpr> result(getSizes(conv.getInput()));
        ArrayRef<AffineExpr> weight = getSizes(conv.getWeight());
        AffineExpr channels = result.back(),
                   channelsOfWeight = weight[weight.size() - 2];
        result.back() = weight[weight.size() - 3];
        if (weight.size() == 4)
          result.insert(result.begin(), weight[0]);
        setFrom(conv, result);
        return require(op, channels, channelsOfWeight);
      })
      .Case([&](EmbeddingOp embedding) {
        SmallVector<AffineExpr> result(getSizes(embedding.getIndices()));
        result.push_back(getSizes(embedding.getTable())[1]);
        setFrom(embedding, result);
        return success();
      })
      .Case<SoftmaxOp, GroupNormOp, LayerNormOp, RmsNormOp>([&](auto row) {
        setFrom(row, SmallVector<AffineExpr>(getSizes(row.getInput())));
        return success();
      })
      .Case([&](ReduceSumOp sum) {
        SmallVector<AffineExpr> result(getSizes(sum.getInput()));
        if (sum.getKeepdim())
          result[sum.getDim()] = constant(1);
        else
          result.erase(result.begin() + sum.getDim());
        setFrom(sum, result);
        return success();
      })
      .Case([&](CrossEntropyOp loss) {
        setFrom(loss, {});
        for (auto [a, b] : llvm::zip(getSizes(loss.getLogits()).drop_back(),
                                     getSizes(loss.getTargets())))
          if (failed(require(op, a, b)))
            return failure();
        return success();
      })
      .Case([&](TopKOp topK) {
        SmallVector<AffineExpr> result(getSizes(topK.getInput()));
        result.back() = constant(topK.getK());
        setFrom(topK.getValues(), result);
        setFrom(topK.getIndices(), result);
        return success();
      })
      .Case([&](RouteOp route) {
        auto type = cast<RoutingType>(route.getRouting().getType());
        ArrayRef<AffineExpr> indices = getSizes(route.getIndices());
        tokens[route.getRouting()] = indices[0];
        AffineExpr topk = indices[1];
        setFrom(route.getCounts(), constant(type.getExperts()));
        return require(op, topk, constant(type.getTopk()));
      })
      .Case<DispatchOp, DispatchSlotOp>([&](auto dispatch) {
        auto routing = cast<RoutingType>(dispatch.getRouting().getType());
        AffineExpr routed = tokens.lookup(dispatch.getRouting());
        AffineExpr given = getSizes(dispatch.getInput())[0];
        int64_t width =
            cast<RaggedType>(dispatch.getResult().getType()).getWidth();
        setFrom(dispatch.getResult(),
                {routed * routing.getTopk(), constant(width)});
        return require(op, given, routed);
      })
      .Case([&](CombineOp combine) {
        AffineExpr width = getSizes(combine.getInputs().front())[1];
        setFrom(combine, {tokens.lookup(combine.getRouting()), width});
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("has no size rule; is it a graph op?");
      });
}

/// Applies all substitutions and numbers the symbols that are left in argument
/// order.
void SizeAnalysis::renumber(func::FuncOp function) {
  SmallVector<AffineExpr> dense(substitution);
  for (AffineExpr &expr : dense)
    expr = {};
  for (BlockArgument argument : function.getArguments())
    for (auto [dim, expr] : llvm::enumerate(getSizes(argument)))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(resolve(expr));
          symbol && !dense[symbol.getPosition()]) {
        dense[symbol.getPosition()] =
            getAffineSymbolExpr(symbols.size(), context);
        symbols.emplace_back(argument.getArgNumber(), dim);
      }
  for (auto [i, expr] : llvm::enumerate(dense))
    if (!expr) // Substituted away: never looked up.
      expr = getAffineSymbolExpr(i, context);
  for (auto &entry : sizes)
    for (AffineExpr &expr : entry.second)
      expr = resolve(expr).replaceSymbols(dense);
}

FailureOr<SizeAnalysis> SizeAnalysis::compute(func::FuncOp function) {
  SizeAnalysis analysis(function.getContext());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function.emitError("argument ")
             << argument.getArgNumber() << " must be a ranked tensor, got "
             << argument.getType();
    SmallVector<AffineExpr> exprs;
    for (int64_t size : type.getShape()) {
      if (!ShapedType::isDynamic(size)) {
        exprs.push_back(analysis.constant(size));
        continue;
      }
      exprs.push_back(getAffineSymbolExpr(analysis.substitution.size(),
                                          function.getContext()));
      analysis.substitution.push_back(exprs.back());
    }
    analysis.sizes[argument] = std::move(exprs);
  }
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(analysis.visit(&op)) || analysis.contradiction)
      return failure();
  analysis.renumber(function);
  return analysis;
}
