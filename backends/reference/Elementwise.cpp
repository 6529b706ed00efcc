// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elementwise graph ops over broadcast operands, in chunks of the result.

#include "backends/reference/GraphOps.h"

#include "backends/reference/Elements.h"
#include "backends/reference/ScalarProgram.h"
#include "ir/numerics/ArrayMath.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace epifold;
using namespace epifold::reference;

namespace {

constexpr int64_t chunkSize = 4096;

template <typename T>
using Chunk = llvm::MutableArrayRef<T>;
template <typename T>
using Chunks = llvm::ArrayRef<llvm::MutableArrayRef<T>>;

/// An operand read at the result's positions; stride 0 repeats a dimension.
struct Operand {
  ConstElements elements;
  Tensor::Shape strides;
};

/// Reads the operand at the result's flat positions begin ….
template <typename T>
void gather(const Operand &operand, llvm::ArrayRef<int64_t> shape,
            int64_t begin, Chunk<T> chunk) {
  if (shape.empty())
    return load<T>(operand.elements, 0, 1, chunk);
  int64_t inner = shape.back();
  int64_t column = begin % inner, row = begin / inner;
  for (size_t done = 0; done < chunk.size(); ++row, column = 0) {
    int64_t from = column * operand.strides.back();
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 2, rest = row;
         dim >= 0; --dim) {
      from += rest % shape[dim] * operand.strides[dim];
      rest /= shape[dim];
    }
    size_t count = std::min<size_t>(inner - column, chunk.size() - done);
    load<T>(operand.elements, from, operand.strides.back(),
            chunk.slice(done, count));
    done += count;
  }
}

template <typename T, typename Function>
void forEach(Chunks<T> in, Chunk<T> out, Function function) {
  if (in.size() == 1)
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = function(in[0][i], T());
  else
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = function(in[0][i], in[1][i]);
}

template <typename T>
std::span<const T> toSpan(Chunk<T> chunk) {
  return {chunk.data(), chunk.size()};
}

template <typename T, typename Op>
void applyPortable(numerics::UnaryFunction function, Op op, Chunks<T> in,
                   Chunk<T> out) {
  graph::Accuracy accuracy = op.getAccuracy().value_or(
      std::is_same_v<T, double> ? graph::Accuracy::F64 : graph::Accuracy::F32);
  numerics::applyUnary(function, static_cast<numerics::Accuracy>(accuracy),
                       toSpan<T>(in[0]), std::span<T>(out));
}

/// Computes one of the dialect's own ops; false for an op it does not know.
template <typename T>
bool compute(mlir::Operation *op, Chunks<T> in, Chunk<T> out) {
  using numerics::UnaryFunction;
  return llvm::TypeSwitch<mlir::Operation *, bool>(op)
      .Case([&](graph::NegOp) {
        return forEach<T>(in, out, [](T a, T) { return -a; }), true;
      })
      .Case([&](graph::AbsOp) {
        return forEach<T>(in, out, [](T a, T) { return std::fabs(a); }), true;
      })
      .Case([&](graph::ReluOp) {
        return forEach<T>(
                   in, out,
                   [](T a, T) { return a > 0 || std::isnan(a) ? a : T(0); }),
               true;
      })
      .Case([&](graph::SqrtOp) {
        return forEach<T>(in, out, [](T a, T) { return std::sqrt(a); }), true;
      })
      .Case([&](graph::CastOp) {
        return forEach<T>(in, out, [](T a, T) { return a; }), true;
      })
      .Case([&](graph::AddOp) {
        return forEach<T>(in, out, [](T a, T b) { return a + b; }), true;
      })
      .Case([&](graph::SubOp) {
        return forEach<T>(in, out, [](T a, T b) { return a - b; }), true;
      })
      .Case([&](graph::MulOp) {
        return forEach<T>(in, out, [](T a, T b) { return a * b; }), true;
      })
      .Case([&](graph::DivOp) {
        return forEach<T>(in, out, [](T a, T b) { return a / b; }), true;
      })
      .Case([&](graph::MaxOp) {
        return forEach<T>(
                   in, out,
                   [](T a, T b) { return a > b || std::isnan(a) ? a : b; }),
               true;
      })
      .Case([&](graph::MinOp) {
        return forEach<T>(
                   in, out,
                   [](T a, T b) { return a < b || std::isnan(a) ? a : b; }),
               true;
      })
      .Case([&](graph::FmaOp) {
        numerics::fusedMultiplyAdd(toSpan<T>(in[0]), toSpan<T>(in[1]),
                                   toSpan<T>(in[2]), std::span<T>(out));
        return true;
      })
      .Case([&](graph::ExpOp op) {
        return applyPortable<T>(UnaryFunction::Exp, op, in, out), true;
      })
      .Case([&](graph::LogOp op) {
        return applyPortable<T>(UnaryFunction::Log, op, in, out), true;
      })
      .Case([&](graph::ErfOp op) {
        return applyPortable<T>(UnaryFunction::Erf, op, in, out), true;
      })
      .Case([&](graph::TanhOp op) {
        return applyPortable<T>(UnaryFunction::Tanh, op, in, out), true;
      })
      .Case([&](graph::RsqrtOp op) {
        return applyPortable<T>(UnaryFunction::Rsqrt, op, in, out), true;
      })
      .Case([&](graph::SigmoidOp op) {
        return applyPortable<T>(UnaryFunction::Sigmoid, op, in, out), true;
      })
      .Case([&](graph::SiluOp op) {
        return applyPortable<T>(UnaryFunction::Silu, op, in, out), true;
      })
      .Case([&](graph::GeluOp op) {
        bool isErf = op.getApproximate() == graph::GeluKind::Erf;
        return applyPortable<T>(isErf ? UnaryFunction::GeluErf
                                      : UnaryFunction::GeluTanh,
                                op, in, out),
               true;
      })
      .Default(false);
}

/// Computes elements of `to`, `shape` being its shape and those of `operands`
/// broadcast to it.
template <typename T>
void computeAll(mlir::Operation *op, const ScalarProgram *program,
                llvm::ArrayRef<Operand> operands, llvm::ArrayRef<int64_t> shape,
                int64_t count, Elements to, int64_t toBegin, Workers &workers) {
  workers.forEach(count, chunkSize, [&](int64_t begin, int64_t end) {
    size_t size = end - begin;
    std::vector<T> buffer((operands.size() + 1) * size);
    llvm::SmallVector<Chunk<T>, 4> chunks;
    for (size_t i = 0; i <= operands.size(); ++i)
      chunks.push_back(Chunk<T>(buffer).slice(i * size, size));
    for (auto [operand, chunk] : llvm::zip(operands, chunks))
      gather<T>(operand, shape, begin, chunk);
    Chunks<T> in = Chunks<T>(chunks).drop_back();
    if (program) {
      llvm::SmallVector<const void *, 4> pointers;
      for (Chunk<T> chunk : in)
        pointers.push_back(chunk.data());
      void *out = chunks.back().data();
      ScalarProgram::Scratch scratch(*program, size);
      program->run(size, pointers, out, scratch);
    } else {
      compute<T>(op, in, chunks.back());
    }
    store<T>(chunks.back(), to, toBegin + begin);
  });
}

/// Strides with which a tensor of `from` is read at the positions of `to`;
/// nothing when it does not broadcast.
std::optional<Tensor::Shape> broadcastStrides(llvm::ArrayRef<int64_t> from,
                                              llvm::ArrayRef<int64_t> to) {
  if (from.size() > to.size())
    return std::nullopt;
  Tensor::Shape strides(to.size(), 0);
  size_t lead = to.size() - from.size();
  int64_t stride = 1;
  for (size_t dim = from.size(); dim-- > 0; stride *= from[dim]) {
    if (from[dim] != 1 && from[dim] != to[lead + dim])
      return std::nullopt;
    strides[lead + dim] = from[dim] == 1 ? 0 : stride;
  }
  return strides;
}

/// An elementwise op being evaluated: what is the same for every group.
struct Evaluation {
  mlir::Operation *op;
  Frame &frame;
  bool isDouble;
  std::optional<ScalarProgram> program; // for ops of other dialects

  void run(llvm::ArrayRef<Operand> operands, llvm::ArrayRef<int64_t> shape,
           int64_t count, Elements to, int64_t begin) {
    withComputeType(isDouble, [&](auto zero) {
      computeAll<decltype(zero)>(op, program ? &*program : nullptr, operands,
                                 shape, count, to, begin, frame.getWorkers());
    });
  }
};

llvm::Error evaluateDense(Evaluation &evaluation) {
  mlir::Operation *op = evaluation.op;
  Frame &frame = evaluation.frame;
  int64_t rank = 0;
  for (mlir::Value operand : op->getOperands())
    rank = std::max(rank, frame.getTensor(operand).getRank());
  Tensor::Shape shape(rank, 1);
  for (mlir::Value operand : op->getOperands()) {
    const Tensor &tensor = frame.getTensor(operand);
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
      if (int64_t size = tensor.getDim(dim); size != 1)
        shape[rank - tensor.getRank() + dim] = size;
  }
  llvm::SmallVector<Operand, 3> operands;
  for (mlir::Value value : op->getOperands()) {
    const Tensor &tensor = frame.getTensor(value);
    // Only a size that the type states as 1 is repeated: a dynamic one must be
    // what the other operands have, as it must for the kernels.
    auto type = llvm::cast<mlir::ShapedType>(value.getType());
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
      if (type.isDynamicDim(dim) &&
          tensor.getDim(dim) != shape[rank - tensor.getRank() + dim])
        return makeError(op,
                         "dimension " + llvm::Twine(dim) + " of " +
                             tensor.describe() + " must be " +
                             llvm::Twine(shape[rank - tensor.getRank() + dim]) +
                             " as the other operands have it");
    auto strides = broadcastStrides(tensor.getShape(), shape);
    if (!strides)
      return makeError(op, "cannot broadcast " + tensor.describe() +
                               " against its other operands");
    operands.push_back({ConstElements(tensor), *strides});
  }
  Tensor result = Tensor::unwritten(getElementType(op->getResult(0)), shape);
  evaluation.run(operands, shape, result.getNumElements(), Elements(result), 0);
  return frame.define(op->getResult(0), std::move(result));
}

/// A dense operand as one row that every row of expert `group` reads.
std::optional<Operand> broadcastOverRows(const Tensor &tensor, int64_t group,
                                         int64_t groups, int64_t width) {
  llvm::ArrayRef<int64_t> shape = tensor.getShape();
  int64_t first = 0;
  if (shape.size() == 3) {
    if (shape[0] != 1 && shape[0] != groups)
      return std::nullopt;
    first = shape[0] == 1 ? 0 : group;
    shape = shape.drop_front();
  }
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1))
    return std::nullopt;
  int64_t columns = shape.empty() ? 1 : shape.back();
  if (columns != 1 && columns != width)
    return std::nullopt;
  ElementType type = tensor.getElementType();
  return Operand{ConstElements(type, tensor.getBytes() +
                                         first * columns * getByteSize(type)),
                 {0, columns == 1 ? 0 : 1}};
}

llvm::Error evaluateRagged(Evaluation &evaluation) {
  mlir::Operation *op = evaluation.op;
  Frame &frame = evaluation.frame;
  const Ragged *rows =
      nullptr; // any ragged operand: they all have the same offsets
  int64_t width =
      llvm::cast<graph::RaggedType>(op->getResult(0).getType()).getWidth();
  for (mlir::Value value : op->getOperands()) {
    if (!frame.isRagged(value))
      continue;
    const Ragged &ragged = frame.getRagged(value);
    if (rows && rows->offsets != ragged.offsets)
      return makeError(
          op, "combines ragged rows that come from different routings");
    rows = &ragged;
  }
  int64_t total = rows->rows.getDim(0);
  Ragged result{
      Tensor::unwritten(getElementType(op->getResult(0)), {total, width}),
      rows->offsets};
  Elements to(result.rows);
  for (int64_t group = 0; group < rows->getGroups(); ++group) {
    int64_t begin = rows->offsets[group], count = rows->getRows(group);
    if (count == 0)
      continue;
    llvm::SmallVector<Operand, 3> operands;
    for (mlir::Value value : op->getOperands()) {
      if (frame.isRagged(value)) {
        const Tensor &tensor = frame.getRagged(value).rows;
        int64_t columns = tensor.getDim(1),
                size = getByteSize(tensor.getElementType());
        operands.push_back(
            {ConstElements(tensor.getElementType(),
                           tensor.getBytes() + begin * columns * size),
             {columns, columns == 1 ? 0 : 1}});
        continue;
      }
      const Tensor &tensor = frame.getTensor(value);
      auto operand = broadcastOverRows(tensor, group, rows->getGroups(), width);
      if (!operand)
        return makeError(op, "cannot broadcast " + tensor.describe() +
                                 " over ragged rows of width " +
                                 llvm::Twine(width));
      operands.push_back(*operand);
    }
    evaluation.run(operands, {count, width}, count * width, to, begin * width);
  }
  return frame.define(op->getResult(0), std::move(result));
}

} // namespace

llvm::Error
epifold::reference::evaluate(graph::ElementwiseOpInterface elementwise,
                             Frame &frame) {
  mlir::Operation *op = elementwise;
  Evaluation evaluation{op, frame,
                        computesInDouble(getElementType(op->getResult(0))),
                        std::nullopt};
  for (mlir::Value operand : op->getOperands())
    evaluation.isDouble |= computesInDouble(getElementType(operand));
  if (!llvm::isa<graph::GraphDialect>(op->getDialect())) {
    auto program = ScalarProgram::build(elementwise, evaluation.isDouble);
    if (!program)
      return program.takeError();
    evaluation.program = std::move(*program);
  }
  bool isRagged = llvm::isa<graph::RaggedType>(op->getResult(0).getType());
  return isRagged ? evaluateRagged(evaluation) : evaluateDense(evaluation);
}
