// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Evaluates graphs through the reference backend.

#include "epifold/Compiler.h"

#include "backends/reference/Reference.h"
#include "compiler/src/Lowering.h"

#include <cstring>

namespace epifold {

static std::optional<reference::ElementType> elementTypeOf(DataType type) {
  using reference::ElementType;
  switch (type) {
  case DataType::F64:
    return ElementType::F64;
  case DataType::F32:
    return ElementType::F32;
  case DataType::BF16:
    return ElementType::BF16;
  case DataType::F16:
    return ElementType::F16;
  case DataType::I64:
    return ElementType::I64;
  case DataType::I32:
    return ElementType::I32;
  case DataType::I8:
    return ElementType::I8;
  case DataType::I1:
    return ElementType::I1;
  default:
    return std::nullopt; // The graph dialect has no such tensors.
  }
}

static DataType dataTypeOf(reference::ElementType type) {
  using reference::ElementType;
  switch (type) {
  case ElementType::F64:
    return DataType::F64;
  case ElementType::F32:
    return DataType::F32;
  case ElementType::BF16:
    return DataType::BF16;
  case ElementType::F16:
    return DataType::F16;
  case ElementType::I64:
    return DataType::I64;
  case ElementType::I32:
    return DataType::I32;
  case ElementType::I8:
    return DataType::I8;
  case ElementType::I1:
    return DataType::I1;
  }
  return DataType::F32;
}

Expected<Evaluation> evaluate(const Graph &graph,
                              const runtime::TensorMap &inputs,
                              const EvaluateOptions &options) {
  // The lowered module must outlive the evaluation of its function.
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  mlir::func::FuncOp function = graph.impl().function();
  if (options.level == EvaluationLevel::Kernel) {
    Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
        lowerToKernels(graph, options.fusion);
    if (!module)
      return module.error();
    lowered = std::move(*module);
    function = *lowered->getOps<mlir::func::FuncOp>().begin();
  }

  std::map<std::string, reference::Tensor> tensors;
  for (const TensorSignature &entry : graph.signature()) {
    auto given = inputs.find(entry.name);
    if (entry.kind == TensorSignature::Kind::Result || given == inputs.end())
      continue; // A missing argument is the evaluator's to report.
    const runtime::HostTensor &tensor = given->second;
    std::optional<reference::ElementType> type = elementTypeOf(tensor.type());
    if (!type)
      return Error(ErrorCode::InvalidArgument,
                   "'" + entry.name + "' is " +
                       std::string(name(tensor.type())) +
                       ", which graphs do not hold");
    tensors[entry.name] =
        reference::Tensor::copyOf(*type, tensor.shape(), tensor.data());
  }
  reference::Options referenceOptions;
  referenceOptions.threads = options.threads;
  DiagnosticCollector diagnostics(graph.impl().context.get());
  llvm::Expected<reference::Result> result =
      reference::evaluate(function, tensors, referenceOptions);
  if (!result)
    return Error(ErrorCode::InvalidArgument,
                 llvm::toString(result.takeError()));

  Evaluation evaluation;
  for (auto &[name, tensor] : result->results) {
    runtime::Shape shape(tensor.getShape().begin(), tensor.getShape().end());
    Expected<runtime::HostTensor> copy = runtime::HostTensor::allocate(
        dataTypeOf(tensor.getElementType()), shape);
    if (!copy)
      return copy.error();
    std::memcpy(copy->mutableData(), tensor.getBytes(), copy->bytes());
    evaluation.results.emplace_back(name, std::move(*copy));
  }
  if (result->status.nanLogitsRow >= 0) {
    evaluation.status.bits |= runtime::kStatusNanLogits;
    evaluation.status.firstNanRow = result->status.nanLogitsRow;
  }
  if (result->status.indexErrorRow >= 0) {
    evaluation.status.bits |= runtime::kStatusIndexOutOfRange;
    evaluation.status.firstIndexRow = result->status.indexErrorRow;
  }
  return evaluation;
}

} // namespace epifold
